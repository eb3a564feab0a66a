package bundle

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// Inspect shows any artifact of this module for a person: a bundle, a
// .tlog-proof, an envelope as JSON or leaf, a registry chain, a checkpoint, a
// tile, a disclosure, a vocabulary or a trust file. It checks no more than it
// takes to read it, and says so.
func Inspect(data []byte) *report.Report {
	r := &report.Report{Command: "inspect", ShowOnly: true}
	if err := inspect(r, data); err != nil {
		c := refuted(err)
		if c.Code == report.CodeInputEmpty || c.Code == report.CodeVersionUnknown {
			c.Answer = report.NotChecked
		}
		// Asked for and not shown: the answer counts after all.
		r.ShowOnly, c.Required = false, true
		add(r, CheckForm, c)
	}
	return r
}

func inspect(r *report.Report, data []byte) error {
	switch {
	case len(data) == 0:
		return empty()
	case len(data) > MaxBundle:
		return tooLarge(len(data), MaxBundle)
	case isTlogProof(data):
		b, err := ParseTlogProof(data)
		if err != nil {
			return err
		}
		return showBundle(r, "a .tlog-proof", b)
	case !utf8.Valid(data):
		return showBytes(r, data)
	case bytes.HasPrefix(data, []byte("obstat trust ")):
		return showEngines(r, data)
	case bytes.HasPrefix(data, []byte("old ")):
		return showGrowth(r, data)
	case bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")):
		return showJSON(r, data)
	}
	note, noteErr := checkpoint.ParseNote(data)
	if noteErr == nil {
		r.Says = "a signed note"
		return showNote(r, "", note)
	}
	p, policyErr := trust.ParsePolicy(data)
	switch {
	case policyErr == nil:
		showPolicy(r, p)
		return nil
	case bytes.Contains(data, []byte("\n\n\u2014 ")): // begins as the signatures of a note do
		return noteErr
	case likePolicy(data):
		return policyErr
	}
	return unknownInput(data)
}

// likePolicy reports whether a line begins as those of a tlog-policy do, and as
// those of nothing else that is shown.
func likePolicy(data []byte) bool {
	for line := range bytes.Lines(data) {
		word, _, more := bytes.Cut(bytes.ReplaceAll(line, []byte("\t"), []byte(" ")), []byte(" "))
		switch string(word) {
		case "log", "witness", "group", "quorum":
			if more {
				return true
			}
		}
	}
	return false
}

func showPolicy(r *report.Report, p *trust.Policy) {
	r.Says = "a tlog-policy"
	for _, l := range p.Logs() {
		r.AddFact("log", strings.TrimSpace(l.Key.String()+" "+l.URL))
	}
	for _, w := range p.Witnesses() {
		r.AddFact("witness", strings.TrimSpace(w.Name+" "+w.Key.String()+" "+w.URL))
	}
	r.AddFact("quorum", p.Evaluate(&checkpoint.Opened{}).Rule)
}

func showJSON(r *report.Report, data []byte) error {
	v, err := jcs.Parse(data)
	if err != nil {
		return err
	}
	o, _ := v.(jcs.Object)
	mediaType, _ := o.Get("mediaType")
	switch mediaType {
	case nil:
		if _, has := o.Get("salt"); has {
			return showDisclosure(r, data)
		}
		return showEnvelope(r, data)
	case jcs.String(ChainMediaType):
		c, err := ParseChain(data)
		if err != nil {
			return err
		}
		r.Says = fmt.Sprintf("a registry chain of %d leaves", len(c.Leaves))
		return showChain(r, c)
	case jcs.String(ForkMediaType):
		f, err := ParseFork(data)
		if err != nil {
			return err
		}
		return showFork(r, f)
	case jcs.String(SuccessionMediaType):
		s, err := ParseSuccession(data)
		if err != nil {
			return err
		}
		return showSuccession(r, s)
	}
	if said, _ := mediaType.(jcs.String); otherVersion(string(said), ChainMediaType) || otherVersion(string(said), ForkMediaType) ||
		otherVersion(string(said), SuccessionMediaType) {
		return refuse(report.CodeVersionUnknown, "/mediaType", "version 1", strconv.Quote(string(said)))
	}
	b, err := Parse(data)
	if err != nil {
		return err
	}
	return showBundle(r, "a bundle", b)
}

func showBundle(r *report.Report, what string, b *Bundle) error {
	r.AddFact("artifact", what)
	r.AddFact("level", b.Level.String()+" (a hint)")
	r.AddFact("index", strconv.FormatUint(b.Proof.Index, 10))
	r.AddFact("proof", strconv.Itoa(len(b.Proof.Hashes))+" hashes")
	if note, err := checkpoint.ParseNote(b.Proof.Checkpoint); err == nil {
		if err := showNote(r, "checkpoint ", note); err != nil {
			return err
		}
	} else {
		return err
	}
	if err := showEnvelope(r, b.Envelope); err != nil {
		return err
	}
	for _, d := range b.Disclosures {
		r.AddFact("discloses", disclosed(d))
	}
	return showLeaves(r, b.Registry)
}

func disclosed(d preview.Disclosure) string {
	item := d.Item()
	return fmt.Sprintf("%s %s = %s, commitment %s", item.Field, item.Name, item.Value, d.Commitment())
}

func showDisclosure(r *report.Report, data []byte) error {
	d, err := preview.ParseDisclosure(data)
	if err != nil {
		return err
	}
	r.Says = "a disclosure, of whatever receipt has its commitment"
	salt := d.Salt()
	r.AddFact("discloses", disclosed(d))
	r.AddFact("salt", "0x"+hex.EncodeToString(salt[:]))
	return nil
}

func showChain(r *report.Report, c *Chain) error {
	note, err := checkpoint.ParseNote(c.Checkpoint)
	if err != nil {
		return err
	}
	if err := showNote(r, "checkpoint ", note); err != nil {
		return err
	}
	return showLeaves(r, c.Leaves)
}

func showFork(r *report.Report, f *Fork) error {
	r.Says = "evidence that a log signed two histories"
	for i, which := range []string{"first ", "second "} {
		note, err := checkpoint.ParseNote(f.Checkpoints[i])
		if err != nil {
			return err
		}
		if err := showNote(r, which, note); err != nil {
			return err
		}
	}
	if f.Grown {
		r.AddFact("root", f.Root.String()+", of the second at the size of the first")
		r.AddFact("proof", strconv.Itoa(len(f.Proof))+" hashes")
	}
	return nil
}

func showSuccession(r *report.Report, s *Succession) error {
	r.Says = "evidence that one log goes on as another"
	for _, half := range []struct {
		name  string
		chain *Chain
	}{{"predecessor ", s.Predecessor}, {"successor ", s.Successor}} {
		note, err := checkpoint.ParseNote(half.chain.Checkpoint)
		if err != nil {
			return err
		}
		if err := showNote(r, half.name, note); err != nil {
			return err
		}
		r.AddFact(half.name+"registry", strconv.Itoa(len(half.chain.Leaves))+" leaves")
	}
	if s.Freeze == nil {
		return nil
	}
	loose, err := dsse.ParseJSON(s.Freeze)
	if err != nil {
		return err
	}
	return showBlock(r, "/freeze", loose.Payload)
}

func showGrowth(r *report.Report, data []byte) error {
	a, err := checkpoint.ParseAddCheckpoint(data)
	if err != nil {
		return err
	}
	r.Says = fmt.Sprintf("a checkpoint with the proof that it extends a tree of %d", a.Old)
	r.AddFact("proof", strconv.Itoa(len(a.Proof))+" hashes")
	note, err := checkpoint.ParseNote(a.Checkpoint)
	if err != nil {
		return err
	}
	return showNote(r, "checkpoint ", note)
}

func showLeaves(r *report.Report, leaves []RegistryLeaf) error {
	for i, l := range leaves {
		loose, err := dsse.ParseJSON(l.Envelope)
		if err != nil {
			return err
		}
		r.AddFact("registry", fmt.Sprintf("leaf %d, %d signatures, statement %s", l.Index, len(loose.Sigs), dagcbor.Sum(loose.Payload)))
		if err := showBlock(r, "registry/"+strconv.Itoa(i), loose.Payload); err != nil {
			return err
		}
	}
	return nil
}

func showNote(r *report.Report, prefix string, n *checkpoint.Note) error {
	if c, err := checkpoint.ParseBody(n.Text); err == nil {
		if prefix == "" {
			r.Says = "a checkpoint of " + c.Origin
		}
		r.AddFact(prefix+"origin", c.Origin)
		r.AddFact(prefix+"size", strconv.FormatUint(c.Size, 10))
		r.AddFact(prefix+"root", c.Root.String())
	} else {
		r.AddFact(prefix+"text", n.Text)
	}
	for _, s := range n.Sigs {
		r.AddFact(prefix+"line", fmt.Sprintf("%s, key ID %08x, %d bytes", s.Name, s.ID, len(s.Sig)))
	}
	return nil
}

func showEngines(r *report.Report, data []byte) error {
	e, err := trust.ParseEngines(data)
	if err != nil {
		return err
	}
	r.Says = "an engine trust file for " + e.Origin
	for line := range strings.Lines(string(e.Bytes())) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		r.AddFact(name, value)
	}
	return nil
}

func showEnvelope(r *report.Report, doc []byte) error {
	loose, err := dsse.ParseJSON(doc)
	if err != nil {
		return err
	}
	r.AddFact("type", loose.Type)
	r.AddFact("signatures", strconv.Itoa(len(loose.Sigs)))
	r.AddFact("statement", dagcbor.Sum(loose.Payload).String())
	var receiptCID string
	if r.Says, receiptCID = saysOf(loose.Type, loose.Payload); receiptCID != "" {
		r.AddFact("receipt", receiptCID)
	}
	return showBlock(r, "", loose.Payload)
}

// showBlock adds one fact for every scalar of a block, under its path.
func showBlock(r *report.Report, path string, block []byte) error {
	n, err := dagcbor.Parse(block)
	if err != nil {
		return err
	}
	showNode(r, path, n)
	return nil
}

func showNode(r *report.Report, path string, n dagcbor.Node) {
	switch n.Kind() {
	case dagcbor.KindMap:
		if n.Len() == 0 {
			r.AddFact(path, "{}")
		}
		for key, value := range n.Entries() {
			showNode(r, path+"/"+key, value)
		}
	case dagcbor.KindList:
		if n.Len() == 0 {
			r.AddFact(path, "[]")
		}
		for i, item := range n.Items() {
			showNode(r, path+"/"+strconv.Itoa(i), item)
		}
	case dagcbor.KindInt:
		r.AddFact(path, strconv.FormatInt(n.Int(), 10))
	case dagcbor.KindBytes:
		r.AddFact(path, "0x"+hex.EncodeToString(n.Bytes()))
	case dagcbor.KindText:
		r.AddFact(path, strconv.Quote(n.Text()))
	case dagcbor.KindBool:
		r.AddFact(path, strconv.FormatBool(n.Bool()))
	case dagcbor.KindLink:
		if cid, err := dagcbor.CIDFromBytes(n.Link()); err == nil {
			r.AddFact(path, cid.String())
		} else {
			r.AddFact(path, "link 0x"+hex.EncodeToString(n.Link()))
		}
	}
}
