// Package proposal is a registry statement on its way to its signatures: a file
// that goes from one registrar's machine to the next (docs/keys.md).
//
// A file carries the statement, the signatures that it has, and the registry
// that it follows, proven by the log. Nothing in it is believed: Open holds it
// against the trust of whoever has it, and what it would change is worked out
// from there. So each registrar sees what the registrars before him could not
// have bent.
package proposal

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/report"
)

// MediaType is the first member of a proposal.
const MediaType = "application/vnd.obstat.proposal.v1+json"

// MaxFile is the most bytes of a proposal: its registry chain is most of it.
const MaxFile = bundle.MaxBundle + 1<<20

// Proposal is the file. It is not verified.
type Proposal struct {
	Type    string           // the payload type
	Payload []byte           // the statement
	Sigs    []dsse.Signature // ascending by By; none at first
	Chain   *bundle.Chain    // the registry that the statement follows; nil for a genesis
}

// Parse reads a file strictly. Errors name the place in it.
func Parse(doc []byte) (*Proposal, error) {
	if len(doc) > MaxFile {
		return nil, refuse("", fmt.Sprintf("at most %d bytes", MaxFile), strconv.Itoa(len(doc)))
	}
	v, err := jcs.Parse(doc)
	if err != nil {
		return nil, err
	}
	o, ok := v.(jcs.Object)
	if !ok {
		return nil, refuse("", "a JSON object", "something else")
	}
	names := []string{"mediaType", "payloadType", "payload", "signatures", "registry"}
	for _, m := range o {
		if !slices.Contains(names, m.Name) {
			return nil, refuse("/"+m.Name, fmt.Sprintf("one of %q", names), strconv.Quote(m.Name))
		}
	}
	if got, _ := o.Get("mediaType"); got != jcs.String(MediaType) {
		return nil, refuse("/mediaType", MediaType, "something else")
	}
	p := &Proposal{}
	typ, ok := o.Get("payloadType")
	name, isText := typ.(jcs.String)
	if !ok || !isText {
		return nil, refuse("/payloadType", "a string", "something else")
	}
	p.Type = string(name)
	if p.Payload, err = base64Of(o, "payload"); err != nil {
		return nil, err
	}
	if err := p.parseSignatures(o); err != nil {
		return nil, err
	}
	if chain, ok := o.Get("registry"); ok {
		doc, err := jcs.Append(nil, chain)
		if err != nil {
			return nil, err
		}
		if p.Chain, err = bundle.ParseChain(doc); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p *Proposal) parseSignatures(o jcs.Object) error {
	v, _ := o.Get("signatures")
	list, ok := v.(jcs.Array)
	if !ok || len(list) > dsse.MaxSignatures {
		return refuse("/signatures", fmt.Sprintf("an array of at most %d", dsse.MaxSignatures), "something else")
	}
	for i, item := range list {
		at := fmt.Sprintf("/signatures/%d", i)
		s, ok := item.(jcs.Object)
		if !ok || len(s) != 2 {
			return refuse(at, "an object of keyid and sig", "something else")
		}
		id, _ := s.Get("keyid")
		text, _ := id.(jcs.String)
		by, err := hex.DecodeString(string(text))
		if err != nil || len(by) != len(dsse.KeyID{}) || hex.EncodeToString(by) != string(text) {
			return refuse(at+"/keyid", "a key ID, 64 lowercase hex digits", "something else")
		}
		sig, err := base64Of(s, "sig")
		if err != nil || len(sig) != ed25519.SignatureSize {
			return refuse(at+"/sig", "64 bytes in base64", "something else")
		}
		p.Sigs = append(p.Sigs, dsse.Signature{By: dsse.KeyID(by), Sig: [64]byte(sig)})
		if i > 0 && bytes.Compare(p.Sigs[i-1].By[:], by) >= 0 {
			return refuse(at, "signatures ascending by keyid, each once", "another order")
		}
	}
	return nil
}

func base64Of(o jcs.Object, name string) ([]byte, error) {
	v, _ := o.Get(name)
	s, ok := v.(jcs.String)
	b, err := base64.StdEncoding.Strict().DecodeString(string(s))
	if !ok || err != nil || base64.StdEncoding.EncodeToString(b) != string(s) {
		return nil, refuse("/"+name, "padded base64", "something else")
	}
	return b, nil
}

func refuse(where, expected, actual string) error {
	return &report.Error{Code: report.CodeProposalMalformed, Where: where, Expected: expected, Actual: actual}
}

// Bytes returns the file. Parse reads it back.
func (p *Proposal) Bytes() []byte {
	b := fmt.Appendf(nil, "{\"mediaType\":%q,\n\"payloadType\":%q,\n\"payload\":%q,\n\"signatures\":[", MediaType, p.Type, base64.StdEncoding.EncodeToString(p.Payload))
	for i, s := range p.Sigs {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "\n{\"keyid\":%q,\"sig\":%q}", s.By, base64.StdEncoding.EncodeToString(s.Sig[:]))
	}
	b = append(b, ']')
	if p.Chain != nil {
		b = p.Chain.Append(append(b, ",\n\"registry\":"...))
	}
	return append(b, "}\n"...)
}

// add puts a signature into its place, once.
func (p *Proposal) add(s dsse.Signature) error {
	at, there := slices.BinarySearchFunc(p.Sigs, s, func(a, b dsse.Signature) int { return bytes.Compare(a.By[:], b.By[:]) })
	if there {
		return nil
	}
	if len(p.Sigs) == dsse.MaxSignatures {
		return refuse("/signatures", fmt.Sprintf("at most %d", dsse.MaxSignatures), "one more")
	}
	p.Sigs = slices.Insert(p.Sigs, at, s)
	return nil
}

// Merge takes the signatures of another copy of the same proposal.
func (p *Proposal) Merge(other *Proposal) error {
	if p.Type != other.Type || !bytes.Equal(p.Payload, other.Payload) {
		return &report.Error{Code: report.CodeProposalOther, Expected: "copies of one proposal", Actual: "two statements"}
	}
	for _, s := range other.Sigs {
		if err := p.add(s); err != nil {
			return err
		}
	}
	return nil
}

// sign makes one signature.
func sign(payloadType string, payload []byte, key crypto.Signer) (dsse.Signature, error) {
	env, err := dsse.SignMany(payloadType, payload, key)
	if err != nil {
		return dsse.Signature{}, err
	}
	return env.Sigs[0], nil
}
