package bundle

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// Head is the checkpoint that an artifact carries, and the proof that its tree
// extends an older one where it carries that too.
type Head struct {
	Checkpoint []byte                    // the signed note, not looked into
	Growth     *checkpoint.AddCheckpoint // nil where the artifact says nothing of it
}

// ParseHead takes the checkpoint out of any artifact that has one: a
// checkpoint, an add-checkpoint body, a bundle, a registry chain or a
// .tlog-proof. Errors are those of its parser, and INPUT-EMPTY.
func ParseHead(data []byte) (Head, error) {
	switch {
	case len(data) == 0:
		return Head{}, empty()
	case len(data) > MaxBundle:
		return Head{}, tooLarge(len(data), MaxBundle)
	case isTlogProof(data):
		p, err := checkpoint.ParseProof(data)
		if err != nil {
			return Head{}, err
		}
		return Head{Checkpoint: p.Checkpoint}, nil
	case strings.HasPrefix(string(data), "old "):
		a, err := checkpoint.ParseAddCheckpoint(data)
		if err != nil {
			return Head{}, err
		}
		return Head{Checkpoint: a.Checkpoint, Growth: a}, nil
	case bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")):
		return headOfJSON(data)
	}
	if _, err := checkpoint.ParseNote(data); err != nil {
		return Head{}, err
	}
	return Head{Checkpoint: data}, nil
}

func headOfJSON(data []byte) (Head, error) {
	c, err := ParseChain(data)
	if err == nil {
		return Head{Checkpoint: c.Checkpoint}, nil
	}
	if report.CodeOf(err) != report.CodeProofBundleMediaType {
		return Head{}, err
	}
	b, err := Parse(data)
	if err != nil {
		return Head{}, err
	}
	return Head{Checkpoint: b.Proof.Checkpoint}, nil
}

// IsFork reports whether bytes that nobody has looked at say that they are
// evidence of a fork, of any version.
func IsFork(data []byte) bool {
	if len(data) > MaxBundle {
		return false
	}
	v, err := jcs.Parse(data)
	if err != nil {
		return false
	}
	o, _ := v.(jcs.Object)
	said, _ := o.Get("mediaType")
	s, _ := said.(jcs.String)
	return string(s) == ForkMediaType || otherVersion(string(s), ForkMediaType)
}

// OpenHead opens a signed checkpoint of origin under the policy: some line is by
// a log key of that name, and every line of a known key holds. It returns nil
// where the check, whose name the caller gives, is not verified.
func OpenHead(note []byte, origin string, p *trust.Policy) (*checkpoint.Opened, report.Check) {
	if p == nil {
		return nil, unchecked(report.CodePolicyNotGiven, "a tlog-policy file that lists "+origin, "none")
	}
	if !p.KnowsLog(origin) {
		return nil, unchecked(report.CodeLogUnknown, "a log line for "+strconv.Quote(origin)+" in the policy", "none")
	}
	opened, err := checkpoint.Open(note, p.Keys(origin))
	if err != nil {
		return nil, refuted(err)
	}
	if _, ok := p.SignedByLog(opened); !ok {
		return nil, refuted(&report.Error{Code: report.CodeLogUnsigned, Expected: "a line by the key of " + origin, Actual: "none"})
	}
	return opened, verified("")
}
