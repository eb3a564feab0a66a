package checkpoint

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

const (
	proofHeader = "c2sp.org/tlog-proof@v1"
	extraPrefix = "extra "
	indexPrefix = "index "
)

// Proof is a C2SP tlog-proof (.tlog-proof), parsed and not verified: the
// checkpoint is to be opened, and the leaf hash and Hashes are to lead to its
// root (merkle.VerifyInclusion, which holds the number of hashes as well).
type Proof struct {
	Extra      []byte // authenticated by nothing; nil where there is no extra line
	HasExtra   bool   // an extra line of no bytes is not the same as none
	Index      uint64 // of the leaf, below 2^63-1
	Hashes     []merkle.Hash
	Checkpoint []byte // the signed note, verbatim
}

// ParseProof reads a tlog-proof of any length; Bytes returns the same bytes
// again. The checkpoint is not looked into beyond its last newline; Extra and
// Checkpoint do not alias b. The error is TLOG-PROOF-MALFORMED.
func ParseProof(b []byte) (*Proof, error) {
	rest := b
	next := func() (string, bool) {
		line, after, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			return string(line), false
		}
		rest = after
		return string(line), true
	}
	line, ok := next()
	if !ok || line != proofHeader {
		return nil, badProof("line 1", proofHeader, quote(line))
	}
	p := &Proof{}
	line, ok = next()
	if extra64, has := strings.CutPrefix(line, extraPrefix); ok && has {
		extra, err := strict64.DecodeString(extra64)
		if err != nil {
			return nil, badProof("extra", "base64", quote(extra64))
		}
		p.Extra, p.HasExtra = extra, true
		line, ok = next()
	}
	index, has := strings.CutPrefix(line, indexPrefix)
	if !ok || !has {
		return nil, badProof("index", "a line that begins with \"index \"", quote(line))
	}
	if p.Index, ok = parseDecimal(index); !ok || p.Index == merkle.MaxSize {
		return nil, badProof("index", "a decimal below 2^63-1 without leading zeros", quote(index))
	}
	for {
		line, ok = next()
		if !ok {
			return nil, badProof("hashes", "an empty line and a checkpoint behind them", quote(line))
		}
		if line == "" {
			break
		}
		if len(p.Hashes) == merkle.MaxProof {
			return nil, badProof("hashes", "at most "+strconv.Itoa(merkle.MaxProof), "more")
		}
		h, ok := parseHash(line)
		if !ok {
			return nil, badProof("hash "+strconv.Itoa(len(p.Hashes)+1), "the base64 of 32 bytes", quote(line))
		}
		p.Hashes = append(p.Hashes, h)
	}
	if !bytes.HasSuffix(rest, []byte("\n")) {
		return nil, badProof("checkpoint", "a signed note, which ends in a newline", quote(string(rest)))
	}
	p.Checkpoint = bytes.Clone(rest)
	if !bytes.Equal(p.Bytes(), b) {
		return nil, badProof("proof", "the one spelling of its content", "another")
	}
	return p, nil
}

// Bytes returns the proof as a .tlog-proof file.
func (p *Proof) Bytes() []byte {
	size := len(proofHeader) + base64.StdEncoding.EncodedLen(len(p.Extra)) + 48*(len(p.Hashes)+1) + len(p.Checkpoint)
	b := append(make([]byte, 0, size), proofHeader+"\n"...)
	if p.HasExtra {
		b = append(b, extraPrefix...)
		b = base64.StdEncoding.AppendEncode(b, p.Extra)
		b = append(b, '\n')
	}
	b = append(b, indexPrefix...)
	b = strconv.AppendUint(b, p.Index, 10)
	b = append(b, '\n')
	for _, h := range p.Hashes {
		b = base64.StdEncoding.AppendEncode(b, h[:])
		b = append(b, '\n')
	}
	b = append(b, '\n')
	return append(b, p.Checkpoint...)
}

func badProof(where, expected, actual string) error {
	return malformed(report.CodeTlogProofMalformed, where, expected, actual)
}
