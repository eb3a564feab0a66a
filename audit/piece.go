package audit

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// piece is one entry bundle on its way through the audit. read and verify
// depend on nothing but their arguments and change nothing but the piece.
type piece struct {
	index uint64 // of the bundle
	first uint64 // leaf
	width int

	err        error    // of reading, that says nothing about the log
	hashes     []byte   // leaf hashes; nil where the bundle could not be read
	leaves     []leaf   // as far as they are envelopes
	statements []digest // of every leaf; zero where it is no envelope
	found      findings
	tally      tally

	closed           bool   // no entry is looked into
	skip             bool   // signatures were checked by an earlier audit
	bytes            uint64 // of the files that were read
	checked, skipped uint64 // signatures
}

// leaf is one envelope of known type.
type leaf struct {
	index uint64
	env   *dsse.Envelope
	kind  leafKind

	// of a receipt
	frame     receipt.Frame
	decoded   *receipt.Decoded // nil where its version is not known
	principal string           // empty where nobody vouches for the signer here
	role      trust.Role
}

type leafKind uint8

const (
	receiptLeaf  leafKind = iota + 1
	registryLeaf          // a registry statement of any version
)

func newPiece(index, size uint64) *piece {
	return &piece{
		index: index, first: index * merkle.TileWidth, width: merkle.TileWidthAt(0, index, size),
		found: findings{}, tally: tally{},
	}
}

func at(index uint64) string { return "leaf " + strconv.FormatUint(index, 10) }

// read reads the bundle, hashes every entry, holds the hashes against the
// level-0 tile, and reads every entry as an envelope of its schema.
func (p *piece) read(fsys fs.FS) {
	path := merkle.EntriesPath(p.index, p.width)
	entries, err := p.entries(fsys)
	if errors.Is(err, fs.ErrNotExist) {
		p.found.add(CheckEntries, path, missing(path))
		return
	}
	var malformed *report.Error
	if errors.As(err, &malformed) {
		p.found.add(CheckEntries, path, refuted(err))
		return
	}
	if err != nil {
		p.err = err
		return
	}
	p.hashes = merkle.AppendLeafTile(make([]byte, 0, p.width*merkle.HashSize), entries)
	for _, e := range entries {
		p.bytes += uint64(len(e)) + 2
	}
	p.bytes += uint64(len(p.hashes))
	t := merkle.Tile{Index: p.index, Width: p.width}
	c, ok, err := holdTile(fsys, t, p.hashes)
	if err != nil {
		p.err = err
		return
	}
	if !ok {
		p.found.add(CheckEntries, t.Path(), c)
	}
	if p.closed {
		return
	}
	p.statements = make([]digest, len(entries))
	for i, entry := range entries {
		p.readLeaf(i, entry)
	}
}

// entries reads the bundle at its width, or the beginning of the full one.
func (p *piece) entries(fsys fs.FS) ([][]byte, error) {
	b, err := readFile(fsys, merkle.EntriesPath(p.index, p.width), maxBundleFile)
	if errors.Is(err, fs.ErrNotExist) && p.width < merkle.TileWidth {
		if b, err = readFile(fsys, merkle.EntriesPath(p.index, merkle.TileWidth), maxBundleFile); err != nil {
			return nil, err
		}
		all, err := merkle.ParseBundle(b, merkle.TileWidth)
		if err != nil {
			return nil, err
		}
		return all[:p.width], nil
	}
	if err != nil {
		return nil, err
	}
	return merkle.ParseBundle(b, p.width)
}

// readLeaf reads one entry as an envelope, and its payload by the schema of its
// type.
func (p *piece) readLeaf(i int, entry []byte) {
	index := p.first + uint64(i)
	env, err := dsse.ParseLeaf(entry)
	if err != nil {
		p.found.add(CheckForm, at(index), refuted(err))
		p.tally["unreadable"]++
		return
	}
	p.statements[i] = dagcbor.Sum(env.Payload).Digest()
	switch {
	case env.Type == dsse.ReceiptType, otherVersion(env.Type, dsse.ReceiptType):
		p.readReceipt(index, env)
	case trust.IsRegistryType(env.Type),
		otherVersion(env.Type, dsse.RegistryType), otherVersion(env.Type, dsse.FreezeType), otherVersion(env.Type, dsse.SuccessorType):
		p.leaves = append(p.leaves, leaf{index: index, env: env, kind: registryLeaf})
		p.tally["registry"]++
	default:
		p.found.add(CheckForm, at(index), refuted(&report.Error{
			Code: report.CodePayloadType, Expected: dsse.ReceiptType + " or " + dsse.RegistryType, Actual: strconv.Quote(env.Type),
		}))
		p.tally["unreadable"]++
	}
}

// otherVersion reports whether typ is ours but for the number in ".vN+".
func otherVersion(typ, ours string) bool {
	head, tail, _ := strings.Cut(ours, ".v1+")
	rest, ok := strings.CutPrefix(typ, head+".v")
	number, ok2 := strings.CutSuffix(rest, "+"+tail)
	n, err := strconv.ParseUint(number, 10, 32)
	return ok && ok2 && err == nil && n > 1 && strconv.FormatUint(n, 10) == number
}

func (p *piece) readReceipt(index uint64, env *dsse.Envelope) {
	var frame receipt.Frame
	var d *receipt.Decoded
	var err error
	if env.Type == dsse.ReceiptType {
		if d, err = receipt.Decode(env.Payload); err == nil {
			frame = d.Frame()
			p.count(d)
		}
	} else if frame, err = receipt.DecodeFrame(env.Payload); err == nil {
		p.tally["of another version"]++
		p.found.add(CheckSchema, at(index), unchecked(report.CodeVersionUnknown, dsse.ReceiptType, env.Type))
	}
	if err != nil {
		p.found.add(CheckSchema, at(index), refuted(err))
		p.tally["unreadable"]++
		return
	}
	switch by := dsse.KeyID(frame.Call.By); {
	case len(env.Sigs) != 1:
		p.found.add(CheckForm, at(index), refuted(&report.Error{Code: report.CodeDSSESigCount, Expected: "exactly 1 signature", Actual: strconv.Itoa(len(env.Sigs))}))
		return
	case env.Sigs[0].By != by:
		p.found.add(CheckForm, at(index), refuted(&report.Error{Code: report.CodeSignerMismatch, Expected: by.String(), Actual: env.Sigs[0].By.String()}))
		return
	}
	p.leaves = append(p.leaves, leaf{index: index, env: env, kind: receiptLeaf, frame: frame, decoded: d})
}

// count says what a receipt says, in the words that a total is made of.
func (p *piece) count(d *receipt.Decoded) {
	word := string(d.Frame().Kind)
	switch r := d.Statement.Receipt.(type) {
	case receipt.Judgment:
		word += " " + r.Ruling.Verdict().Arm().String()
	case receipt.Outcome:
		word += " " + r.Disposition.Word()
	case receipt.Decision:
		word += " " + string(r.Answer)
	}
	p.tally[word]++
}

// keys is what signatures are held against: the registry as folded so far, or
// the caller's plain keys.
type keys struct {
	registry *trust.Registry
	plain    *trust.Engines
	why      report.Check // why there are none
}

func (k keys) known() bool { return k.registry != nil || k.plain != nil }

// find returns what is known of a key, and its principal if it may sign the
// leaf at index.
func (k keys) find(id dsse.KeyID, index uint64) (pub ed25519.PublicKey, role trust.Role, principal string, ok bool) {
	if k.plain != nil {
		line, ok := k.plain.Key(id)
		if ok && line.Covers(index) {
			principal = line.Principal
		}
		return line.Public, line.Role, principal, ok
	}
	key, ok := k.registry.Key(id)
	if _, listed := k.registry.ListedAt(id, index); listed {
		principal = key.Name
	}
	return key.Public, key.Role, principal, ok
}

// verify checks the signature and the signer of every receipt of the piece.
func (p *piece) verify(k keys) {
	for i := range p.leaves {
		l := &p.leaves[i]
		if l.kind != receiptLeaf {
			continue
		}
		if !k.known() {
			p.found.add(CheckSignatures, at(l.index), k.why)
			p.found.add(CheckKeys, at(l.index), k.why)
			continue
		}
		p.verifyLeaf(l, k)
	}
}

func (p *piece) verifyLeaf(l *leaf, k keys) {
	id := l.env.Sigs[0].By
	pub, role, principal, ok := k.find(id, l.index)
	if !ok {
		c := unchecked(report.CodeKeyUnknown, "a key that the caller's trust lists", id.String())
		if k.registry != nil { // every registry leaf before this one is folded
			c.Answer = report.Refuted
			c.Code = report.CodeKeyNotListed
		}
		p.found.add(CheckKeys, at(l.index), c)
		p.found.add(CheckSignatures, at(l.index), waits(CheckKeys))
		return
	}
	if p.skip {
		p.skipped++
	} else {
		p.checked++
		lookup := func(want dsse.KeyID) (ed25519.PublicKey, bool) { return pub, want == id }
		if _, err := dsse.Verify(l.env, lookup); err != nil {
			p.found.add(CheckSignatures, at(l.index), refuted(err))
		}
	}
	if want := receipt.RoleFor(l.frame.Kind); role != want {
		p.found.add(CheckKeys, at(l.index), refuted(&report.Error{
			Code: report.CodeKeyRole, Expected: fmt.Sprintf("a key of the role %s, which signs %s", want, l.frame.Kind), Actual: string(role),
		}))
		return
	}
	switch {
	case principal != "":
		l.principal, l.role = principal, role
	case k.plain != nil:
		p.found.add(CheckKeys, at(l.index), unchecked(report.CodeKeyOutOfRange, "an index that the key line covers", at(l.index)))
	default:
		p.found.add(CheckKeys, at(l.index), refuted(&report.Error{Code: report.CodeKeyNotListed, Expected: "a key listed at " + at(l.index), Actual: "one that was added later, retired or revoked"}))
	}
}
