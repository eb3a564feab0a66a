package bundle

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// Inspect shows any artifact of this module for a person: a bundle, a
// .tlog-proof, an envelope as JSON or leaf, a registry chain, a checkpoint or a
// trust file. It checks no more than it takes to read it, and says so.
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
	case data[0] == 0xa3:
		env, err := dsse.ParseLeaf(data)
		if err != nil {
			return err
		}
		return showEnvelope(r, "leaf", env.JSON())
	case bytes.HasPrefix(data, []byte("obstat trust ")):
		return showEngines(r, data)
	case bytes.HasPrefix(data, []byte("old ")):
		return showGrowth(r, data)
	case bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")):
		return showJSON(r, data)
	}
	if note, err := checkpoint.ParseNote(data); err == nil {
		r.Says = "a signed note"
		return showNote(r, "", note)
	}
	if p, err := trust.ParsePolicy(data); err == nil {
		r.Says = "a tlog-policy"
		for _, l := range p.Logs() {
			r.AddFact("log", strings.TrimSpace(l.Key.String()+" "+l.URL))
		}
		for _, w := range p.Witnesses() {
			r.AddFact("witness", strings.TrimSpace(w.Name+" "+w.Key.String()+" "+w.URL))
		}
		r.AddFact("quorum", p.Evaluate(&checkpoint.Opened{}).Rule)
		return nil
	}
	return &report.Error{Code: report.CodeInputUnknown, Expected: "a bundle, .tlog-proof, envelope, leaf, registry chain, checkpoint, evidence of a fork or trust file", Actual: fmt.Sprintf("%d other bytes", len(data))}
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
		return showEnvelope(r, "envelope", data)
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
	if err := showEnvelope(r, "envelope", b.Envelope); err != nil {
		return err
	}
	for _, d := range b.Disclosures {
		item := d.Item()
		r.AddFact("discloses", fmt.Sprintf("%s %s = %s, commitment %s", item.Field, item.Name, item.Value, d.Commitment()))
	}
	return showLeaves(r, b.Registry)
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

func showEnvelope(r *report.Report, what string, doc []byte) error {
	loose, err := dsse.ParseJSON(doc)
	if err != nil {
		return err
	}
	r.AddFact("type", loose.Type)
	r.AddFact("signatures", strconv.Itoa(len(loose.Sigs)))
	r.AddFact("statement", dagcbor.Sum(loose.Payload).String())
	r.Says = what + " of type " + loose.Type
	if d, err := receipt.Decode(loose.Payload); err == nil && loose.Type == dsse.ReceiptType {
		r.Says = describe(d).says
		r.AddFact("receipt", d.ReceiptCID.String())
	} else if s, err := trust.DecodeStatement(loose.Payload); err == nil && loose.Type == dsse.RegistryType {
		r.Says = fmt.Sprintf("a registry statement of %s, version %d", s.Log, s.Version)
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
