package receipt_test

import (
	"bytes"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"pgregory.net/rapid"

	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
)

// What another CBOR library reads into plain structs, written from
// spec/receipt.md and not from this package.
type (
	plainStatement struct {
		Call struct {
			By      []byte     `cbor:"by"`
			Run     *string    `cbor:"run"`
			Seq     *uint64    `cbor:"seq"`
			Prev    *cbor.Tag  `cbor:"prev"`
			Settles *cbor.Tag  `cbor:"settles"`
			Seen    *plainSeen `cbor:"seen"`
			Expires *int64     `cbor:"expires"`
			At      int64      `cbor:"at"`
		} `cbor:"call"`
		Receipt map[string]cbor.RawMessage `cbor:"receipt"`
	}
	plainSeen struct {
		Origin string `cbor:"origin"`
		Size   uint64 `cbor:"size"`
		Root   []byte `cbor:"root"`
	}
	plainJudgment struct {
		Request struct {
			Verb    string  `cbor:"verb"`
			Digest  []byte  `cbor:"digest"`
			Task    *string `cbor:"task"`
			Attempt *uint64 `cbor:"attempt"`
			Inputs  []struct {
				Name  string `cbor:"name"`
				Value any    `cbor:"value"`
			} `cbor:"inputs"`
			Changes []struct {
				Path   any     `cbor:"path"`
				Before *[]byte `cbor:"before"`
				After  *[]byte `cbor:"after"`
			} `cbor:"changes"`
			Slots []struct {
				Name   string `cbor:"name"`
				Value  any    `cbor:"value"`
				Source string `cbor:"source"`
			} `cbor:"slots"`
			Effects []struct {
				On     string `cbor:"on"`
				Target any    `cbor:"target"`
			} `cbor:"effects"`
			Context map[string]any `cbor:"context"`
		} `cbor:"request"`
		Class   string `cbor:"class"`
		Verdict map[string]struct {
			By      []string `cbor:"by"`
			Reasons []string `cbor:"reasons"`
		} `cbor:"verdict"`
		Origin map[string]struct {
			Intent    string `cbor:"intent"`
			Rendering string `cbor:"rendering"`
		} `cbor:"origin"`
		Reads *[]struct {
			Key  any    `cbor:"key"`
			Seen []byte `cbor:"seen"`
		} `cbor:"reads"`
		Inverse map[string]struct {
			Delta []byte `cbor:"delta"`
			Code  string `cbor:"code"`
		} `cbor:"inverse"`
		Recovery *struct {
			Class string `cbor:"class"`
			Code  string `cbor:"code"`
			Hint  string `cbor:"hint"`
		} `cbor:"recovery"`
	}
)

// TestOracleReads: another library reads every statement as this package does,
// field by field for calls and judgments.
func TestOracleReads(t *testing.T) {
	mode, err := cbor.DecOptions{ExtraReturnErrors: cbor.ExtraDecErrorUnknownField, DupMapKey: cbor.DupMapKeyEnforcedAPF}.DecMode()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range receipttest.Examples() {
		checkOracle(t, mode, e.Decoded)
	}
	rapid.Check(t, func(t *rapid.T) {
		d, err := receipttest.Statement(t).Build()
		if err != nil {
			t.Fatal(err)
		}
		checkOracle(t, mode, d)
	})
}

func checkOracle(t fataler, mode cbor.DecMode, d *receipt.Decoded) {
	var p plainStatement
	if err := mode.Unmarshal(d.Payload(), &p); err != nil {
		t.Fatalf("oracle: %v", err)
	}
	c := d.Statement.Call
	run, seq, expires := string(c.Run), c.Seq, c.Expires
	same := bytes.Equal(p.Call.By, c.By[:]) && p.Call.At == c.At &&
		sameOptional(p.Call.Run, run, run != "") && sameOptional(p.Call.Seq, seq, run != "") &&
		sameOptional(p.Call.Expires, expires, expires != 0) &&
		sameLink(p.Call.Prev, c.Prev) && sameLink(p.Call.Settles, c.Settles)
	if s := p.Call.Seen; s == nil {
		same = same && c.Seen.IsZero()
	} else {
		same = same && s.Origin == string(c.Seen.Origin) && s.Size == c.Seen.Size && bytes.Equal(s.Root, c.Seen.Root[:])
	}
	if !same {
		t.Fatalf("oracle reads the call as %+v, not %+v", p.Call, c)
	}
	body, ok := p.Receipt[string(d.Statement.Receipt.Kind())]
	if !ok || len(p.Receipt) != 1 {
		t.Fatalf("oracle reads another kind: %v", p.Receipt)
	}
	if j, ok := d.Statement.Receipt.(receipt.Judgment); ok {
		var q plainJudgment
		if err := mode.Unmarshal(body, &q); err != nil {
			t.Fatalf("oracle: %v", err)
		}
		checkPlainJudgment(t, q, j)
	}
}

func sameOptional[T comparable](p *T, v T, present bool) bool {
	return (p != nil) == present && (p == nil || *p == v)
}

func sameLink(p *cbor.Tag, c receipt.CID) bool {
	if p == nil {
		return c.IsZero()
	}
	content, ok := p.Content.([]byte)
	return ok && p.Number == 42 && bytes.Equal(content, append([]byte{0}, c[:]...))
}

func sameValue(p any, v receipt.Value) bool {
	if clear, ok := v.ClearForm(); ok {
		return p == clear
	}
	c, _ := v.Commitment()
	b, ok := p.([]byte)
	return ok && bytes.Equal(b, c[:])
}

func checkPlainJudgment(t fataler, p plainJudgment, j receipt.Judgment) {
	q := j.Request
	same := p.Request.Verb == string(q.Verb) && bytes.Equal(p.Request.Digest, q.Digest[:]) &&
		sameOptional(p.Request.Task, string(q.Task), q.Task != "") && sameOptional(p.Request.Attempt, q.Attempt, q.Attempt != 0) &&
		p.Class == string(j.Class) && len(p.Verdict) == 1 && len(p.Origin) == 1 && len(p.Inverse) == 1 &&
		len(p.Request.Inputs) == len(q.Inputs) && len(p.Request.Changes) == len(q.Changes) &&
		len(p.Request.Slots) == len(q.Slots) && len(p.Request.Effects) == len(q.Effects) &&
		(p.Reads == nil) == (j.Reads == nil) && (p.Reads == nil || len(*p.Reads) == len(j.Reads))
	if !same {
		t.Fatalf("oracle reads %+v, not %+v", p, j)
	}
	for i, x := range q.Inputs {
		same = same && p.Request.Inputs[i].Name == string(x.Name) && sameValue(p.Request.Inputs[i].Value, x.Value)
	}
	for i, x := range q.Changes {
		before, after := p.Request.Changes[i].Before, p.Request.Changes[i].After
		same = same && sameValue(p.Request.Changes[i].Path, x.Path)
		switch e := x.Edit.(type) {
		case receipt.Create:
			same = same && before == nil && bytes.Equal(*after, e.After[:])
		case receipt.Replace:
			same = same && bytes.Equal(*before, e.Before[:]) && bytes.Equal(*after, e.After[:])
		case receipt.Delete:
			same = same && after == nil && bytes.Equal(*before, e.Before[:])
		}
	}
	for i, x := range q.Slots {
		s := p.Request.Slots[i]
		same = same && s.Name == string(x.Name) && sameValue(s.Value, x.Value) && s.Source == string(x.Source)
	}
	for i, x := range q.Effects {
		same = same && p.Request.Effects[i].On == string(x.On) && sameValue(p.Request.Effects[i].Target, x.Target)
	}
	for i, x := range j.Reads {
		same = same && sameValue((*p.Reads)[i].Key, x.Key) && bytes.Equal((*p.Reads)[i].Seen, x.Seen[:])
	}
	v := j.Ruling.Verdict()
	arm := p.Verdict[v.Arm().String()]
	same = same && equalTexts(arm.By, v.By()) && equalTexts(arm.Reasons, v.Reasons())
	if j.Origin.IsMixed() {
		o, ok := p.Origin["mixed"]
		same = same && ok && o.Intent == j.Origin.Intent().String() && o.Rendering == j.Origin.Rendering().String()
	} else {
		_, ok := p.Origin[j.Origin.Intent().String()]
		same = same && ok
	}
	inverse, ok := p.Inverse[j.Inverse.Word()]
	same = same && ok
	switch i := j.Inverse.(type) {
	case receipt.Escrowed:
		same = same && bytes.Equal(inverse.Delta, i.Delta[:])
	case receipt.NoInverse:
		same = same && inverse.Code == string(i.Code)
	}
	r, refuses := j.Ruling.Recovery()
	same = same && refuses == (p.Recovery != nil)
	if same && refuses {
		same = p.Recovery.Class == string(r.Class) && p.Recovery.Code == string(r.Code) && p.Recovery.Hint == string(r.Hint)
	}
	if !same {
		t.Fatalf("oracle reads %+v, not %+v", p, j)
	}
}

func equalTexts(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
