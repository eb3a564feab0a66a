package bundle

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/report"
)

// Check reads a bundle or .tlog-proof file and makes every check that the
// given trust allows. Every byte string has an answer.
func Check(data []byte, o Options) *report.Report {
	var b *Bundle
	var err error
	if isTlogProof(data) {
		b, err = ParseTlogProof(data)
	} else {
		b, err = Parse(data)
	}
	if err != nil {
		return unreadable("bundle", data, err, RequiredOfBundle(), o)
	}
	return Verify(b, o)
}

// unreadable is the report on bytes in which nothing was found to check.
func unreadable(command string, data []byte, err error, required []string, o Options) *report.Report {
	r := &report.Report{Command: command}
	c := refuted(err)
	if c.Code == report.CodeInputEmpty || c.Code == report.CodeVersionUnknown {
		c.Answer = report.NotChecked
	}
	if other := otherCommand(command, data); other != "" {
		c.Note = other
	}
	c.Name = CheckForm
	r.Add(c)
	for _, name := range required {
		if name != CheckForm {
			add(r, name, waits(CheckForm))
		}
	}
	for _, e := range o.Expect {
		add(r, expectName(e), waits(CheckForm))
	}
	require(r, append(required, o.Require...), o)
	return r
}

func add(r *report.Report, name string, c report.Check) {
	c.Name = name
	r.Add(c)
}

func expectName(e Expectation) string { return "expect " + e.Key }

// require marks what must be verified. A check that was asked for and has no
// place in this report is there all the same, not made.
func require(r *report.Report, names []string, o Options) {
	for _, e := range o.Expect {
		names = append(names, expectName(e))
	}
	for _, name := range names {
		if !r.Require(name) {
			c := waits("a " + r.Command + " with this check")
			c.Required = true
			add(r, name, c)
		}
	}
}

// Verify makes every check of a bundle that the given trust allows
// (spec/bundle.md#verifying). The result does not depend on anything but the
// arguments.
func Verify(b *Bundle, o Options) *report.Report {
	j := &judge{bundle: b}
	j.follow(b.Proof.Checkpoint, o)
	o = j.o
	j.readEnvelope(b.Envelope, b.leaf)
	j.readHead()
	j.compareHeads()
	j.readRegistry()
	r := &report.Report{Command: "bundle"}
	add(r, CheckForm, j.form)
	add(r, CheckSchema, j.schema)
	add(r, CheckSignature, j.signature())
	add(r, CheckIdentity, j.identity())
	add(r, CheckInclusion, j.inclusion())
	add(r, CheckCheckpoint, j.checkpoint)
	add(r, CheckPolicy, j.policy())
	add(r, CheckKeyListedAt, j.listedAt())
	add(r, CheckKeyNotDisowned, j.notDisowned())
	add(r, CheckRegistryComplete, j.registryComplete())
	names := append(RequiredOfBundle(), o.Require...)
	if len(o.Successions) > 0 {
		add(r, CheckSuccession, j.followed())
		names = append(names, CheckSuccession)
	}
	if b.Disclosures != nil {
		add(r, CheckDisclosures, j.disclosures())
	} else if slices.Contains(o.Require, CheckDisclosures) {
		add(r, CheckDisclosures, unchecked(report.CodeNothingDisclosed, "at least one disclosure", "none"))
	}
	j.facts(r)
	for _, e := range o.Expect {
		add(r, expectName(e), j.expect(e))
	}
	r.Ignored = j.ignored
	if o.Engines != nil && o.Engines.HasAsOf {
		names = append(names, CheckKeyNotDisowned, CheckRegistryComplete)
	}
	require(r, names, o)
	return r
}

// readHead parses the checkpoint, and opens it with the keys that the policy
// lists for its origin.
func (j *judge) readHead() {
	note, err := checkpoint.ParseNote(j.bundle.Proof.Checkpoint)
	if err == nil {
		var head checkpoint.Checkpoint
		if head, err = checkpoint.ParseBody(note.Text); err == nil {
			j.head = &head
		}
	}
	if err != nil {
		j.checkpoint = refuted(err)
		return
	}
	j.opened, j.checkpoint = OpenHead(j.bundle.Proof.Checkpoint, j.head.Origin, j.o.Policy)
	if j.opened != nil && j.opened.Unknown > 0 {
		j.ignored = append(j.ignored, fmt.Sprintf("%d signature lines of the checkpoint, by keys that the policy does not list", j.opened.Unknown))
	}
}

// compareHeads holds the checkpoint of the caller's chain against the bundle's:
// two roots for one size, both signed by the log, are a fork, and nothing that
// this log signed says anything then (spec/log.md). It needs no registry, so
// it is done whatever the chain itself is good for.
func (j *judge) compareHeads() {
	if j.o.Registry == nil || j.opened == nil {
		return
	}
	other := j.o.Registry.Checkpoint
	note, err := checkpoint.ParseNote(other)
	if err != nil {
		return // readRegistry says so, where the chain is used
	}
	head, err := checkpoint.ParseBody(note.Text)
	if err != nil || head.Origin != j.head.Origin || head.Size != j.head.Size || head.Root == j.head.Root {
		return
	}
	if _, c := OpenHead(other, head.Origin, j.o.Policy); c.Answer != report.Verified {
		return
	}
	j.opened, j.forked = nil, true
	j.checkpoint = refuted(&report.Error{
		Code:     report.CodeLogForked,
		Expected: fmt.Sprintf("one root of size %d: %s in the bundle", head.Size, j.head.Root),
		Actual:   fmt.Sprintf("another, signed too: %s with the caller's registry chain", head.Root),
	})
}

func (j *judge) inclusion() report.Check {
	switch {
	case j.leaf == nil:
		return waits(CheckForm)
	case j.head == nil:
		return waits(CheckCheckpoint)
	}
	p := j.bundle.Proof
	if err := merkle.VerifyInclusion(p.Index, j.head.Size, merkle.LeafHash(j.leaf), p.Hashes, j.head.Root); err != nil {
		return refuted(err)
	}
	return verified("")
}

func (j *judge) policy() report.Check {
	if j.opened == nil {
		if j.o.Policy == nil {
			return j.checkpoint
		}
		return waits(CheckCheckpoint)
	}
	q := j.o.Policy.Evaluate(j.opened)
	j.quorum = &q
	switch {
	case q.None:
		return verified(`the policy asks for no cosignature ("quorum none"): this is the log's word alone`)
	case q.Met:
		return verified("cosigned by " + strings.Join(q.Cosigned, " "))
	}
	got := "no cosignature of the " + strconv.Itoa(q.Witnesses) + " known witnesses"
	if len(q.Cosigned) > 0 {
		got = "cosignatures of " + strings.Join(q.Cosigned, " ")
	}
	return unchecked(report.CodeQuorumUnmet, "quorum "+q.Rule, got)
}

// level is what the cosignatures under the caller's policy make of the
// checkpoint; empty where none was opened.
func (j *judge) level() string {
	switch {
	case j.quorum == nil:
		return ""
	case j.quorum.Met && !j.quorum.None:
		return Witnessed.String()
	}
	return Promise.String()
}

// disclosures holds each disclosure against the commitments in the receipt:
// any 32 bytes in it, since only a commitment can be one.
func (j *judge) disclosures() report.Check {
	if j.decoded == nil {
		return waits(CheckSchema)
	}
	type place struct {
		field preview.Field
		name  string
	}
	seen := map[place]bool{}
	places := placesIn(j.decoded.Payload())
	for i, d := range j.bundle.Disclosures {
		c := d.Commitment()
		item := d.Item()
		at := places[c]
		if len(at) == 0 {
			return refuted(&report.Error{
				Code: report.CodeDisclosureUnplaced, Where: fmt.Sprintf("/disclosures/%d", i),
				Expected: fmt.Sprintf("commitment %s to %s %s in the receipt", c, item.Field, item.Name), Actual: "none",
			})
		}
		p := place{item.Field, item.Name}
		if seen[p] {
			return refuted(&report.Error{
				Code: report.CodeDisclosureTwice, Where: fmt.Sprintf("/disclosures/%d", i),
				Expected: "each field and name once", Actual: fmt.Sprintf("%s %s a second time", item.Field, item.Name),
			})
		}
		seen[p] = true
		j.disclosed = append(j.disclosed, report.Fact{
			Name:  "discloses",
			Value: fmt.Sprintf("%s %s = %s at %s", item.Field, item.Name, item.Value.String(), strings.Join(at, ", ")),
		})
	}
	return verified("")
}

func (j *judge) expect(e Expectation) report.Check {
	if !slices.Contains(ExpectKeys(), e.Key) {
		return unchecked(report.CodeExpectationUnmet, fmt.Sprintf("one of %q", ExpectKeys()), strconv.Quote(e.Key))
	}
	if j.frame == nil {
		return waits(CheckSchema)
	}
	got, ok := j.content.values[e.Key]
	switch {
	case ok && got == e.Value:
		return verified("")
	case ok:
		return refuted(&report.Error{Code: report.CodeExpectationUnmet, Expected: e.Key + " " + strconv.Quote(e.Value), Actual: strconv.Quote(got)})
	case j.decoded == nil:
		return waits(CheckSchema)
	case slices.Contains([]string{"principal", "level", "log", "index"}, e.Key):
		return unchecked(report.CodeExpectationUnmet, e.Key+" "+strconv.Quote(e.Value), "not known")
	}
	return refuted(&report.Error{Code: report.CodeExpectationUnmet, Expected: e.Key + " " + strconv.Quote(e.Value), Actual: "a receipt that has none"})
}

// facts fills in what the receipt says and where it stands.
func (j *judge) facts(r *report.Report) {
	r.Says = j.content.says
	v := j.content.values
	if v == nil {
		v = map[string]string{}
		j.content.values = v
	}
	if j.head != nil {
		v["log"] = j.head.Origin
		v["index"] = strconv.FormatUint(j.bundle.Proof.Index, 10)
	}
	if level := j.level(); level != "" {
		v["level"] = level
	}
	j.envelopeFacts(r)
	if j.head == nil {
		return
	}
	r.AddFact("log", j.head.Origin)
	r.AddFact("leaf", fmt.Sprintf("%d of a tree of %d", j.bundle.Proof.Index, j.head.Size))
	r.AddFact("checkpoint", j.level())
	if j.registry != nil {
		r.AddFact("registry", fmt.Sprintf("version %d, statement %s", j.registry.Version(), j.registry.Head()))
	}
	r.Facts = append(r.Facts, j.disclosed...)
}

// sameLeaf reports whether the leaf that an artifact carries is the canonical
// one of what it carries.
func sameLeaf(carried, canonical []byte) bool {
	return carried == nil || bytes.Equal(carried, canonical)
}

// keyOf converts the signer that a statement names.
func keyOf(by [32]byte) dsse.KeyID { return dsse.KeyID(by) }
