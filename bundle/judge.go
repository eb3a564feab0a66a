package bundle

import (
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// judge holds one artifact on its way through the checks. What a check needs
// and does not find (a nil pointer) says which earlier check did not hold.
type judge struct {
	o      Options
	bundle *Bundle // nil for an envelope alone

	// of the envelope
	env     *dsse.Envelope // bound to the signer that the payload names
	leaf    []byte         // its canonical leaf
	frame   *receipt.Frame
	decoded *receipt.Decoded
	content content

	// of the log
	head      *checkpoint.Checkpoint // parsed, not verified
	opened    *checkpoint.Opened     // verified under the policy
	quorum    *trust.Quorum
	registry  *trust.Registry
	chain     report.Check // of the registry chain; verified where registry is set
	chainHead report.Check // of the checkpoint in which that chain stands
	forked    bool         // the log signed two roots for one size

	succession report.Check // of the caller's successions
	ended      *Followed    // where the log itself ended; nil where nobody says so

	form, schema, checkpoint report.Check
	disclosed                []report.Fact
	ignored                  []string
}

// readEnvelope reads DSSE JSON down to the receipt. carried is the canonical
// leaf that came instead of JSON, or nil.
func (j *judge) readEnvelope(doc, carried []byte) {
	j.schema = waits(CheckForm)
	loose, err := dsse.ParseJSON(doc)
	if err != nil {
		j.form = refuted(err)
		return
	}
	later := otherVersion(loose.Type, dsse.ReceiptType)
	if loose.Type != dsse.ReceiptType && !later {
		j.form = refuted(&report.Error{Code: report.CodePayloadType, Expected: dsse.ReceiptType, Actual: strconv.Quote(loose.Type)})
		return
	}
	if err := dagcbor.Check(loose.Payload); err != nil {
		j.form = refuted(err)
		return
	}
	j.form = verified("")
	frame, err := receipt.DecodeFrame(loose.Payload)
	if err != nil {
		j.schema = refuted(err)
		return
	}
	j.frame = &frame
	j.bind(loose, carried)
	j.ignoredMembers(doc, keyOf(frame.Call.By))
	if later {
		j.schema = unchecked(report.CodeVersionUnknown, dsse.ReceiptType, loose.Type)
		j.content.says = fmt.Sprintf("%s, in a version of the receipt that this program does not know", frame.Kind)
		j.content.frame(frame)
		return
	}
	if j.decoded, err = receipt.Decode(loose.Payload); err != nil {
		j.schema = refuted(err)
		j.content.frame(frame)
		return
	}
	j.schema = verified("")
	j.content = describe(j.decoded)
}

// bind turns the envelope into its one canonical leaf, under the signer that
// the payload names.
func (j *judge) bind(loose *dsse.Loose, carried []byte) {
	env, err := loose.BindOne(keyOf(j.frame.Call.By))
	if err != nil {
		j.form = refuted(err)
		return
	}
	leaf, err := env.Leaf()
	if err != nil {
		j.form = refuted(err)
		return
	}
	if !sameLeaf(carried, leaf) {
		j.form = refuted(&report.Error{Code: report.CodeSignerMismatch, Expected: "a signature bound to " + env.Sigs[0].By.String() + ", which the payload names", Actual: "one bound to another key"})
		return
	}
	j.env, j.leaf = env, leaf
}

// ignoredMembers says what the envelope carries that no check uses: DSSE has
// members that it does not name ignored, and keyid be a hint.
func (j *judge) ignoredMembers(doc []byte, by dsse.KeyID) {
	v, err := jcs.Parse(doc)
	if err != nil { // what DSSE ignores may be JSON that jcs refuses
		j.ignored = append(j.ignored, "members of the envelope that DSSE does not name")
		return
	}
	o, _ := v.(jcs.Object)
	for _, m := range o {
		switch m.Name {
		case "payload", "payloadType", "signatures":
		default:
			j.ignored = append(j.ignored, "envelope member "+strconv.Quote(m.Name)+": nothing inside an artifact is trusted")
		}
	}
	sigs, _ := o.Get("signatures")
	list, _ := sigs.(jcs.Array)
	for _, item := range list {
		sig, _ := item.(jcs.Object)
		for _, m := range sig {
			switch m.Name {
			case "sig":
			case "keyid":
				if id, ok := m.Value.(jcs.String); ok && id != "" && string(id) != hex.EncodeToString(by[:]) {
					j.ignored = append(j.ignored, "keyid "+strconv.Quote(string(id))+", which is not the signer's")
				}
			default:
				j.ignored = append(j.ignored, "signature member "+strconv.Quote(m.Name)+": nothing inside an artifact is trusted")
			}
		}
	}
}

func (j *judge) identity() report.Check {
	if j.frame == nil {
		return waits(CheckSchema)
	}
	return verified("")
}

// signature verifies under the key that the caller's trust has for the signer.
func (j *judge) signature() report.Check {
	if j.env == nil {
		if j.form.Answer != report.Verified {
			return waits(CheckForm)
		}
		return waits(CheckSchema)
	}
	k, c := j.signer()
	if c.Answer != report.Verified {
		return c
	}
	if _, err := dsse.Verify(j.env, k.lookup); err != nil {
		return refuted(err)
	}
	return verified("")
}

// envelopeFacts are those of an envelope wherever it stands.
func (j *judge) envelopeFacts(r *report.Report) {
	if j.frame == nil {
		return
	}
	if r.Says == "" {
		r.Says = string(j.frame.Kind) + " that is not of the schema"
	}
	v := j.content.values
	r.AddFact("kind", v["kind"])
	by := keyOf(j.frame.Call.By)
	if k, c := j.signer(); c.Answer == report.Verified {
		v["principal"] = k.name
		r.AddFact("principal", fmt.Sprintf("%s (%s, key %s)", k.name, k.role, by))
	} else {
		r.AddFact("signer", by.String()+", not known here")
	}
	if v["run"] != "" {
		r.AddFact("run", v["run"]+", place "+v["seq"])
	}
	r.AddFact("receipt", v["receipt"])
	r.AddFact("statement", v["statement"])
	r.AddFact("request", v["request"])
}
