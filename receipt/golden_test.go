package receipt_test

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares got with a file under testdata, or writes it under -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; if that is meant, run the test with -update and read the difference", path)
	}
}

// TestGoldenExamples fixes the bytes, identities, JSON view, second digest and
// text of one statement of every kind, verdict and disposition.
func TestGoldenExamples(t *testing.T) {
	var out bytes.Buffer
	for _, e := range receipttest.Examples() {
		view, err := receipt.ToJSON(e.Decoded)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		second, err := receipt.JCSDigestOf(e.Decoded.Statement.Receipt)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		fmt.Fprintf(&out, "== %s\nstatement %v\nreceipt   %v\nsecond    %v\nbytes     %s\nview      %s\n",
			e.Name, e.Decoded.CID, e.Decoded.ReceiptCID, second, hex.EncodeToString(e.Decoded.Payload()), view)
		for _, line := range receipt.Describe(e.Decoded.Statement) {
			fmt.Fprintf(&out, "| %s\n", line)
		}
	}
	golden(t, "examples.golden", out.Bytes())
}

// TestExamplesCoverTheModel holds that the golden examples leave nothing out.
func TestExamplesCoverTheModel(t *testing.T) {
	have := make(map[string]bool)
	for _, e := range receipttest.Examples() {
		switch r := e.Decoded.Statement.Receipt.(type) {
		case receipt.Judgment:
			have["verdict "+r.Ruling.Verdict().Arm().String()] = true
			have["inverse "+r.Inverse.Word()] = true
			have["class "+string(r.Class)] = true
			for _, f := range r.Request.Effects {
				have["effect "+string(f.On)] = true
			}
		case receipt.Decision:
			have["answer "+string(r.Answer)] = true
		case receipt.Outcome:
			have["disposition "+r.Disposition.Word()] = true
			if r.Compensates != nil {
				have["observation "+r.Compensates.Observation.Word()] = true
			}
		case receipt.Fault:
			have["posture "+r.Posture.Word()] = true
		}
		have["kind "+string(e.Decoded.Statement.Receipt.Kind())] = true
	}
	want := []string{
		"verdict admit", "verdict deny", "verdict escalate", "inverse escrowed", "inverse none", "inverse unneeded",
		"class green", "class yellow", "class red", "answer approve", "answer reject", "posture closed", "posture open",
		"observation attested", "observation unobservable", "effect reads", "effect writes", "effect exec",
		"effect network", "effect secrets", "effect models", "effect spend", "effect human",
	}
	for _, word := range []string{
		"committed", "diverged", "refused", "rejected", "expired", "cancelled",
		"stale", "withheld", "rendered", "failed", "unobserved",
	} {
		want = append(want, "disposition "+word)
	}
	for _, k := range receipt.Kinds() {
		want = append(want, "kind "+string(k))
	}
	for _, w := range want {
		if !have[w] {
			t.Errorf("no example of %s", w)
		}
	}
}
