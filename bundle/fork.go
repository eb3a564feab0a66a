package bundle

import (
	"encoding/base64"
	"fmt"
	"strconv"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// ForkMediaType is that of the evidence that a log signed two histories, a
// *.fork.json file (spec/bundle.md#fork).
const ForkMediaType = "application/vnd.obstat.fork.v1+json"

// Fork is two checkpoints of one log that cannot both be. They have one size
// and two roots; or the second is of a larger tree, which by Proof has Root at
// the size of the first, and the first has another.
type Fork struct {
	Checkpoints [2][]byte // signed notes, verbatim; the smaller tree first
	Grown       bool      // the sizes differ, and so Root and Proof count
	Root        merkle.Hash
	Proof       []merkle.Hash // that Root at the first size is a prefix of the second checkpoint
}

// ParseFork reads the JSON form as strictly as Parse reads a bundle. It checks
// no signature and no proof.
func ParseFork(doc []byte) (*Fork, error) {
	o, err := open(doc, ForkMediaType)
	if err != nil {
		return nil, err
	}
	if err := members(o, "", []string{"mediaType", "checkpoints"}, "root", "proof"); err != nil {
		return nil, err
	}
	v, _ := o.Get("checkpoints")
	list, ok := v.(jcs.Array)
	if !ok {
		return nil, refuse(report.CodeProofBundleType, "/checkpoints", "an array", kind(v))
	}
	if len(list) != 2 {
		return nil, refuse(report.CodeProofBundleValue, "/checkpoints", "two checkpoints", strconv.Itoa(len(list)))
	}
	f := &Fork{}
	var sizes [2]uint64
	for i, item := range list {
		path := fmt.Sprintf("/checkpoints/%d", i)
		s, ok := item.(jcs.String)
		if !ok {
			return nil, refuse(report.CodeProofBundleType, path, "a string", kind(item))
		}
		f.Checkpoints[i] = []byte(s)
		c, err := readHead(f.Checkpoints[i])
		if err != nil {
			return nil, under(path, err)
		}
		sizes[i] = c.Size
	}
	if sizes[0] > sizes[1] {
		return nil, refuse(report.CodeProofBundleValue, "/checkpoints", "the smaller tree first", fmt.Sprintf("sizes %d and %d", sizes[0], sizes[1]))
	}
	f.Grown = sizes[0] < sizes[1]
	return f, f.readProof(o)
}

// readProof reads the two members that stand exactly where the sizes differ.
func (f *Fork) readProof(o jcs.Object) error {
	for _, name := range []string{"root", "proof"} {
		_, has := o.Get(name)
		switch {
		case f.Grown && !has:
			return refuse(report.CodeProofBundleMissing, "/"+name, "a value, since the sizes differ", "nothing")
		case !f.Grown && has:
			return refuse(report.CodeProofBundleUnknown, "/"+name, "no such member, since the sizes are one", strconv.Quote(name))
		}
	}
	if !f.Grown {
		return nil
	}
	root, _ := o.Get("root")
	var err error
	if f.Root, err = hash(root, "/root"); err != nil {
		return err
	}
	proof, _ := o.Get("proof")
	f.Proof, err = hashes(proof, "/proof")
	return err
}

// Append appends the JSON form to dst.
func (f *Fork) Append(dst []byte) []byte {
	dst = append(dst, `{"mediaType":"`+ForkMediaType+`","checkpoints":[`...)
	dst = appendString(dst, f.Checkpoints[0])
	dst = append(dst, ',')
	dst = appendString(dst, f.Checkpoints[1])
	dst = append(dst, ']')
	if f.Grown {
		dst = append(dst, `,"root":"`...)
		dst = append(dst, f.Root.String()...)
		dst = append(dst, `","proof":[`...)
		dst = appendHashes(dst, f.Proof)
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// readHead reads what a signed checkpoint says, and no signature.
func readHead(note []byte) (checkpoint.Checkpoint, error) {
	n, err := checkpoint.ParseNote(note)
	if err != nil {
		return checkpoint.Checkpoint{}, err
	}
	return checkpoint.ParseBody(n.Text)
}

// hashes reads an array of hashes as long as a proof may be.
func hashes(v jcs.Value, path string) ([]merkle.Hash, error) {
	list, ok := v.(jcs.Array)
	if !ok {
		return nil, refuse(report.CodeProofBundleType, path, "an array", kind(v))
	}
	if len(list) > merkle.MaxProof {
		return nil, refuse(report.CodeProofBundleValue, path, fmt.Sprintf("at most %d hashes", merkle.MaxProof), strconv.Itoa(len(list)))
	}
	var out []merkle.Hash
	for i, item := range list {
		h, err := hash(item, fmt.Sprintf("%s/%d", path, i))
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	return out, nil
}

func hash(v jcs.Value, path string) (merkle.Hash, error) {
	s, _ := v.(jcs.String)
	h, err := base64.StdEncoding.Strict().DecodeString(string(s))
	if err != nil || len(h) != merkle.HashSize || base64.StdEncoding.EncodeToString(h) != string(s) {
		return merkle.Hash{}, refuse(report.CodeProofBundleValue, path, "32 bytes in padded base64", "something else")
	}
	return merkle.Hash(h), nil
}
