package audit

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// CheckResume holds the log against the state that the caller gave: its first
// leaves are those of which an earlier audit checked the signatures.
const CheckResume = "resume"

// Resume says how far an audit came: every signature of the first Size leaves
// held under these trust files (spec/report.md#resuming). Nobody signs it, so it
// is as good as the place where the caller keeps it: whoever can write there can
// have signatures skipped, and nothing else.
type Resume struct {
	Origin string
	Size   uint64      // leaves, of whole entry bundles
	Root   merkle.Hash // of the tree of them
	Trust  [32]byte    // SHA-256 of the engine trust file as Engines.Bytes spells it
}

const resumeHeader = "obstat audit state v1"

// MaxResume is the most bytes of a state.
const MaxResume = 1024

// ParseResume reads what Bytes wrote, and no other spelling of it. The error is
// RESUME-MALFORMED.
func ParseResume(b []byte) (*Resume, error) {
	bad := func(expected string) error {
		return &report.Error{Code: report.CodeResumeMalformed, Expected: expected, Actual: fmt.Sprintf("%d other bytes", len(b)),
			Fix: "without the state everything is checked again"}
	}
	lines := strings.Split(string(b), "\n")
	if len(b) > MaxResume || len(lines) != 6 || lines[0] != resumeHeader {
		return nil, bad(strconv.Quote(resumeHeader) + " and four lines behind it")
	}
	var values [4]string
	for i, name := range []string{"origin", "size", "root", "trust"} {
		value, ok := strings.CutPrefix(lines[i+1], name+" ")
		if !ok {
			return nil, bad("a line " + name)
		}
		values[i] = value
	}
	r := &Resume{Origin: values[0]}
	size, err1 := strconv.ParseUint(values[1], 10, 63)
	root, err2 := base64.StdEncoding.DecodeString(values[2])
	digest, err3 := hex.DecodeString(values[3])
	if err1 != nil || err2 != nil || err3 != nil || len(root) != merkle.HashSize || len(digest) != sha256.Size {
		return nil, bad("a size, a root and a digest")
	}
	r.Size, r.Root, r.Trust = size, merkle.Hash(root), [32]byte(digest)
	if r.Size%merkle.TileWidth != 0 || r.Size == 0 || string(r.Bytes()) != string(b) {
		return nil, bad("the one spelling of a state")
	}
	return r, nil
}

// Bytes returns the state as a file.
func (r *Resume) Bytes() []byte {
	return fmt.Appendf(nil, "%s\norigin %s\nsize %d\nroot %s\ntrust %x\n", resumeHeader, r.Origin, r.Size, r.Root, r.Trust)
}

// trustOf is what signatures are held against, as far as the caller says it.
func trustOf(e *trust.Engines) [32]byte {
	if e == nil {
		return [32]byte{}
	}
	return sha256.Sum256(e.Bytes())
}

// resuming is the state of an audit that goes on from an earlier one and lets a
// later one go on from it.
type resuming struct {
	from  *Resume // nil: from the beginning
	check report.Check
	keep  func(Resume) error
}

// beginResume takes the caller's state, if it is of this log.
func (a *auditor) beginResume() {
	a.resume = resuming{from: a.o.Resume, keep: a.o.Keep}
	if a.o.HashesOnly {
		a.resume.keep = nil // no signature is checked
	}
	from := a.resume.from
	if from == nil {
		return
	}
	other := func(expected, actual string) {
		a.resume.from, a.resume.check = nil, unchecked(report.CodeResumeOther, expected, actual)
		a.resume.check.Note = "every signature was checked, whatever the state says"
	}
	switch {
	case from.Origin != a.head.Origin:
		other("a state of "+strconv.Quote(a.head.Origin), strconv.Quote(from.Origin))
	case from.Trust != trustOf(a.o.Engines):
		other("a state under this engine trust file", "one under another")
	case from.Size > a.head.Size:
		other(fmt.Sprintf("a state of at most %d leaves", a.head.Size), strconv.FormatUint(from.Size, 10))
	}
}

// skips reports whether the signatures of a piece were checked before.
func (r *resuming) skips(p *piece) bool { return r.from != nil && p.first < r.from.Size }

// passed is called when the tree has size leaves: at the end of the state it
// holds the one against the other, and elsewhere it hands out how far the audit
// came, as long as everything that signatures rest on was verified.
func (a *auditor) passed(size uint64) error {
	if size%merkle.TileWidth != 0 || size == 0 || a.edge.lost {
		return nil
	}
	ends := a.resume.from != nil && size == a.resume.from.Size
	if !ends && a.resume.keep == nil {
		return nil
	}
	root, err := a.edge.root(size)
	if err != nil {
		return err
	}
	if ends {
		a.resume.check = verified(fmt.Sprintf("the first %d leaves are those that were audited before", size))
		if root != a.resume.from.Root {
			a.resume.check = refuted(&report.Error{
				Code: report.CodeRootMismatch, Expected: fmt.Sprintf("the root %s at size %d, as it was audited before", a.resume.from.Root, size), Actual: root.String(),
				Fix: "without the state everything is checked again",
			})
		}
	}
	if a.resume.keep == nil || a.resume.check.Answer == report.Refuted || !a.heldSoFar() {
		return nil
	}
	return a.resume.keep(Resume{Origin: a.head.Origin, Size: size, Root: root, Trust: trustOf(a.o.Engines)})
}

// heldSoFar reports whether every signature so far was checked and holds.
func (a *auditor) heldSoFar() bool {
	for _, name := range []string{CheckEntries, CheckForm, CheckSchema, CheckRegistry, CheckSignatures, CheckKeys} {
		if a.found[name] != nil {
			return false
		}
	}
	return a.opened != nil && a.keys().known()
}

// concludeResume adds the check, if the caller gave a state.
func (a *auditor) concludeResume(r *report.Report, interrupted bool) {
	if a.o.Resume == nil {
		return
	}
	c := a.resume.check
	switch {
	case c.Code != "":
	case interrupted:
		c = stopped()
	default:
		c = waits(CheckEntries)
	}
	add(r, CheckResume, c)
	r.Require(CheckResume)
}
