package index

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/verdict"
)

func principalOf(id dsse.KeyID) string {
	switch receipt.KeyID(id) {
	case receipttest.EngineKey():
		return "engine"
	case receipttest.ApproverKey():
		return "approver"
	}
	return ""
}

// Every example of receipttest gives what its own type says.
func TestEntryOfExamples(t *testing.T) {
	kinds := map[string]bool{}
	for i, ex := range receipttest.Examples() {
		d := ex.Decoded
		got, err := EntryOf(uint64(i), leafOf(t, dsse.ReceiptType, d.Payload()), dagcbor.CID{}, principalOf)
		if err != nil {
			t.Fatal(err)
		}
		s := d.Statement
		want := Entry{Leaf: uint64(i), Statement: d.CID, Receipt: d.ReceiptCID, Kind: string(s.Receipt.Kind()),
			Principal: principalOf(dsse.KeyID(s.Call.By)), Run: string(s.Call.Run), Seq: s.Call.Seq}
		switch r := s.Receipt.(type) {
		case receipt.Judgment:
			want.Verdict = r.Ruling.Verdict().Arm().String()
		case receipt.Outcome:
			want.Disposition = r.Disposition.Word()
		}
		want.Codes = got.Codes
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v", ex.Name, got, want)
		}
		have := map[string]bool{}
		for _, c := range got.Codes {
			have[c] = true
		}
		codes := codesOf(s.Receipt)
		for _, c := range codes {
			if !have[c] {
				t.Errorf("%s: code %s is not found", ex.Name, c)
			}
			delete(have, c)
		}
		if len(have) > 0 {
			t.Errorf("%s: codes %v too many", ex.Name, have)
		}
		kinds[want.Kind] = true
	}
	if len(kinds) != len(receipt.Kinds()) {
		t.Errorf("only %v", kinds)
	}
}

// codesOf lists the codes of a receipt by its types.
func codesOf(r receipt.Receipt) (out []string) {
	add := func(c receipt.Code) {
		if c != "" {
			out = append(out, string(c))
		}
	}
	switch r := r.(type) {
	case receipt.Judgment:
		out = append(out, r.Ruling.Verdict().Reasons()...)
		rec, _ := r.Ruling.Recovery()
		add(rec.Code)
		if none, ok := r.Inverse.(receipt.NoInverse); ok {
			add(none.Code)
		}
	case receipt.Outcome:
		rec, _ := receipt.RecoveryOf(r.Disposition)
		add(rec.Code)
		switch d := r.Disposition.(type) {
		case receipt.Refused:
			add(d.Code)
		case receipt.Cancelled:
			add(d.Code)
		case receipt.Withheld:
			add(d.Code)
		case receipt.Failed:
			add(d.Code)
		case receipt.Unobserved:
			add(d.Code)
		}
		if r.Compensates != nil {
			if u, ok := r.Compensates.Observation.(receipt.Unobservable); ok {
				add(u.Code)
			}
		}
	case receipt.Fault:
		add(r.Code)
	case receipt.Gap:
		add(r.Code)
	}
	return out
}

func encode(t testing.TB, v dagcbor.Value) []byte {
	t.Helper()
	b, err := dagcbor.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func entry(k string, v dagcbor.Value) dagcbor.Entry { return dagcbor.Entry{Key: k, Value: v} }

// What is no receipt, or none of a version that is known, is found by its
// statement and by what could be read.
func TestEntryOfOthers(t *testing.T) {
	by := bytes.Repeat([]byte{9}, 32)
	call := func(run, seq dagcbor.Value) dagcbor.Map {
		return dagcbor.Map{entry("by", dagcbor.Bytes(by)), entry("run", run), entry("seq", seq)}
	}
	novelty := dagcbor.Map{entry("novelty", dagcbor.Map{entry("code", dagcbor.Text("NEW")), entry("verdict", dagcbor.Text("maybe")),
		entry("more", dagcbor.List{dagcbor.Map{entry("code", dagcbor.Text("NEW"))}, dagcbor.Map{entry("code", dagcbor.Text("DEEP"))}, dagcbor.Map{entry("code", dagcbor.Text("no code"))}})})}
	frame := func(call, r dagcbor.Value) []byte {
		return encode(t, dagcbor.Map{entry("call", call), entry("receipt", r)})
	}
	unlisted := "key:" + strings.Repeat("09", 32)
	const later = "application/vnd.obstat.receipt.v9+cbor"
	for _, c := range []struct {
		name, typ string
		payload   []byte
		want      Entry
	}{
		{"a later version", later, frame(call(dagcbor.Text("run"), dagcbor.Int(4)), novelty),
			Entry{Principal: unlisted, Run: "run", Seq: 4, Kind: "novelty", Verdict: "maybe", Codes: []string{"NEW", "DEEP"}}},
		{"a seq below 0", later, frame(call(dagcbor.Text("run"), dagcbor.Int(-4)), novelty),
			Entry{Principal: unlisted, Kind: "novelty", Verdict: "maybe", Codes: []string{"NEW", "DEEP"}}},
		{"a run that is no name", later, frame(call(dagcbor.Text("r\x00n"), dagcbor.Int(4)), novelty),
			Entry{Principal: unlisted, Kind: "novelty", Verdict: "maybe", Codes: []string{"NEW", "DEEP"}}},
		{"a kind that is no name", later, frame(call(dagcbor.Text("run"), dagcbor.Int(4)), dagcbor.Map{entry("no name", dagcbor.Int(1))}),
			Entry{Principal: unlisted, Run: "run", Seq: 4}},
		{"by of another length", later, frame(dagcbor.Map{entry("by", dagcbor.Bytes(by[1:]))}, novelty),
			Entry{Kind: "novelty", Verdict: "maybe", Codes: []string{"NEW", "DEEP"}}},
		{"no call", dsse.ReceiptType, encode(t, dagcbor.Map{entry("receipt", novelty)}), Entry{}},
		{"no receipt", dsse.ReceiptType, encode(t, dagcbor.Map{entry("call", call(dagcbor.Text("run"), dagcbor.Int(4)))}), Entry{}},
		{"no map", dsse.ReceiptType, encode(t, dagcbor.Int(3)), Entry{}},
		{"no CBOR", dsse.ReceiptType, []byte("no cbor"), Entry{}},
		{"nothing", dsse.ReceiptType, nil, Entry{}},
		{"a registry statement that is none", dsse.RegistryType, []byte("no cbor"), Entry{Kind: KindRegistry}},
		{"a freeze", "application/vnd.obstat.freeze.v1+cbor", []byte("no cbor"), Entry{Kind: KindRegistry}},
		{"a freeze of a later version", "application/vnd.obstat.freeze.v2+cbor", []byte("no cbor"), Entry{}},
	} {
		got, err := EntryOf(7, leafOf(t, c.typ, c.payload), dagcbor.CID{}, principalOf)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		c.want.Leaf, c.want.Statement = 7, dagcbor.Sum(c.payload)
		if c.want.Kind != KindRegistry && c.want.Kind != "" || c.want.Principal != "" {
			c.want.Receipt = got.Receipt
			if got.Receipt.IsZero() {
				t.Errorf("%s: no receipt", c.name)
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

// A leaf of many codes costs no more than one of MaxCodes.
func TestMaxCodes(t *testing.T) {
	var reasons []string
	for i := range 5000 {
		reasons = append(reasons, fmt.Sprintf("R%04d", i))
	}
	j := receipttest.Judgment("many", receipttest.Deny(reasons...))
	run := receipttest.NewRun(receipt.KeyID(keyID("a")), "run")
	run.Add(receipttest.Open(origin))
	leaf := leafOf(t, dsse.ReceiptType, run.Add(j).Payload())
	e, err := EntryOf(0, leaf, dagcbor.CID{}, principalOf)
	if err != nil || len(e.Codes) != MaxCodes {
		t.Fatal(len(e.Codes), err)
	}
	x := openIn(t, vfs.NewMem(), "index")
	absorb(t, x, leaf)
	found := 0
	for _, r := range reasons {
		found += len(search(t, x, Query{Code: r}))
	}
	if found == 0 || found > MaxCodes {
		t.Fatal(found)
	}
}

// FuzzEntryOf holds that no bytes make it panic, that whatever it gives can
// stand in a key, and that it does not depend on the statement being known.
func FuzzEntryOf(f *testing.F) {
	for _, ex := range receipttest.Examples() {
		f.Add(dsse.ReceiptType, ex.Decoded.Payload())
	}
	env, err := dsse.ParseLeaf(listing(f, "engine-a"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(dsse.RegistryType, env.Payload)
	f.Add("application/vnd.obstat.receipt.v9+cbor", []byte("\xa2dcall\xa0greceipt\xa1ax\xa1dcodeaA"))
	f.Fuzz(func(t *testing.T, typ string, payload []byte) {
		if _, err := EntryOf(1, payload, dagcbor.CID{}, principalOf); err == nil {
			t.Skip() // a leaf in itself
		}
		leaf, err := (&dsse.Envelope{Type: typ, Payload: payload, Sigs: []dsse.Signature{{}}}).Leaf()
		if err != nil {
			t.Skip()
		}
		e, err := EntryOf(1, leaf, dagcbor.CID{}, principalOf)
		if err != nil {
			t.Fatalf("a leaf is refused: %v", err)
		}
		if e.Statement != dagcbor.Sum(payload) || e.Leaf != 1 {
			t.Fatalf("%+v", e)
		}
		for _, s := range append([]string{e.Principal, e.Run, e.Kind, e.Verdict, e.Disposition}, e.Codes...) {
			if s != "" && !verdict.ValidName(s) {
				t.Fatalf("%q may not stand in a key", s)
			}
		}
		if len(e.Codes) > MaxCodes || (e.Run != "" && e.Principal == "") || (e.Principal != "" && e.Receipt.IsZero()) {
			t.Fatalf("%+v", e)
		}
		again, err := EntryOf(1, leaf, e.Statement, principalOf)
		if err != nil || !reflect.DeepEqual(again, e) {
			t.Fatalf("%+v, and with the statement known %+v, %v", e, again, err)
		}
		// What the schema takes has the frame that the schema reads.
		if d, err := receipt.Decode(payload); err == nil && typ == dsse.ReceiptType {
			fr := d.Frame()
			if e.Receipt != fr.ReceiptCID || e.Kind != string(fr.Kind) || e.Run != string(fr.Call.Run) || e.Seq != fr.Call.Seq {
				t.Fatalf("%+v of %+v", e, fr)
			}
		}
	})
}
