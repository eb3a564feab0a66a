package jcs

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/obstat/obstat/internal/vectors"
)

// docCase is one line of jcs/cases.jsonl.
type docCase struct {
	ID          string `json:"id"`
	Accept      bool   `json:"accept"`
	InputHex    string `json:"input_hex"`
	InputRepeat *struct {
		Text  string `json:"text"`
		Count int    `json:"count"`
	} `json:"input_repeat"`
	OutputHex string `json:"output_hex"`
}

func (c docCase) input(t *testing.T) []byte {
	if c.InputRepeat != nil {
		return []byte(strings.Repeat(c.InputRepeat.Text, c.InputRepeat.Count))
	}
	b, err := hex.DecodeString(c.InputHex)
	if err != nil {
		t.Fatalf("%s: %v", c.ID, err)
	}
	return b
}

const (
	ruleNumber = "number-literal"
	ruleDepth  = "depth"
	refused    = "refused"
)

// ruleOf reads the document with encoding/json and names the rule of our
// profile that touches it.
func ruleOf(doc []byte) string {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	depth := 0
	for {
		token, err := d.Token()
		if err != nil {
			return ""
		}
		switch v := token.(type) {
		case json.Number:
			f, err := strconv.ParseFloat(v.String(), 64)
			if err != nil {
				return ruleNumber
			}
			if own, err := jcs.NumberToJSON(f); err != nil || own != v.String() {
				return ruleNumber
			}
		case json.Delim:
			if v == '[' || v == '{' {
				depth++
			} else {
				depth--
			}
			if depth > MaxDepth {
				return ruleDepth
			}
		}
	}
}

func TestVectorsCases(t *testing.T) {
	table := vectors.Table{
		File:   "jcs/cases.jsonl",
		SHA256: "501bcc0cb6dddf847305489838780f7259f49d48392be6d2c3d3dd1ac23d7f9c",
		Rules: map[string]vectors.Rule{
			ruleNumber: {Why: "a number literal that is not its own shortest ECMAScript spelling has another text than value (spec/preview.md#json)", Answer: refused},
			ruleDepth:  {Why: "arrays and objects nested deeper than 64 (spec/preview.md#json)", Answer: refused},
		},
		Exceptions: []vectors.Exception{
			{Case: "jcs/agent-receipts-number_large_exp_boundary_fixed", Rule: ruleNumber},
			{Case: "jcs/agent-receipts-number_small_exp_boundary_fixed", Rule: ruleNumber},
			{Case: "jcs/cyberphone/values", Rule: ruleNumber},
			{Case: "jcs/erdtman-third", Rule: ruleNumber},
			{Case: "jcs/i_number_double_huge_neg_exp", Rule: ruleNumber},
			{Case: "jcs/i_number_real_underflow", Rule: ruleNumber},
			{Case: "jcs/i_number_too_big_neg_int", Rule: ruleNumber},
			{Case: "jcs/i_structure_500_nested_arrays", Rule: ruleDepth},
			{Case: "jcs/y_number", Rule: ruleNumber},
			{Case: "jcs/y_number_0e+1", Rule: ruleNumber},
			{Case: "jcs/y_number_double_close_to_zero", Rule: ruleNumber},
			{Case: "jcs/y_number_int_with_exp", Rule: ruleNumber},
			{Case: "jcs/y_number_real_capital_e", Rule: ruleNumber},
			{Case: "jcs/y_number_real_capital_e_neg_exp", Rule: ruleNumber},
			{Case: "jcs/y_number_real_capital_e_pos_exp", Rule: ruleNumber},
		},
	}
	var results []vectors.Result
	for _, c := range vectors.Lines[docCase](t, "jcs/cases.jsonl") {
		doc := c.input(t)
		want, got := refused, refused
		if c.Accept {
			want = c.OutputHex
		}
		if out, err := Canonical(doc); err == nil {
			got = hex.EncodeToString(out)
		}
		results = append(results, vectors.Result{ID: c.ID, Want: want, Got: got, Rule: ruleOf(doc)})
	}
	table.Judge(t, results)
}

// spell is how a double is written, and whether the reader takes exactly that.
func spell(t *testing.T, f float64) string {
	text := string(AppendNumber(nil, f))
	v, err := Parse([]byte(text))
	if err != nil {
		t.Errorf("the reader refuses %s: %v", text, err)
		return text
	}
	n, ok := v.(Number)
	if f == 0 {
		f = 0 // -0 is written 0 and read as 0
	}
	if !ok || math.Float64bits(float64(n)) != math.Float64bits(f) {
		t.Errorf("%s reads as %v", text, v)
	}
	if out, err := Append(nil, n); err != nil || string(out) != text {
		t.Errorf("%s is written back as %s (%v)", text, out, err)
	}
	for _, other := range []string{
		strconv.FormatFloat(f, 'e', -1, 64), strconv.FormatFloat(f, 'E', -1, 64),
		text + ".0", text + "e0", text + "e+0", text + "E-0",
	} {
		if other == text {
			continue
		}
		if v, err := Parse([]byte(other)); err == nil {
			t.Errorf("the reader takes %s (as %v) for %s", other, v, text)
		}
	}
	return text
}

func bits(t *testing.T, text string) float64 {
	u, err := strconv.ParseUint(text, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return math.Float64frombits(u)
}

func TestVectorsNumbers(t *testing.T) {
	table := vectors.Table{File: "jcs/numbers.jsonl", SHA256: "14c672ff02c7395975ac53c616c8d1f07d90e81d52d3fd75fe5d91ab0a191f71"}
	var results []vectors.Result
	for _, c := range vectors.Lines[struct {
		ID       string `json:"id"`
		Bits     string `json:"ieee754_hex"`
		Accept   bool   `json:"accept"`
		Expected string `json:"expected"`
	}](t, "jcs/numbers.jsonl") {
		r := vectors.Result{ID: c.ID, Want: refused, Got: refused}
		if c.Accept {
			r.Want = c.Expected
		}
		if f := bits(t, c.Bits); !math.IsNaN(f) && !math.IsInf(f, 0) {
			r.Got = spell(t, f)
		} else if out, err := Append(nil, Number(f)); err == nil {
			r.Got = string(out)
		}
		results = append(results, r)
	}
	table.Judge(t, results)
}

func TestVectorsES6(t *testing.T) {
	table := vectors.Table{File: "jcs/es6-numbers.txt", SHA256: "1742a31222dd51c315c1f37f13a32c4b60dc198f4002e571d68753378982d958"}
	var results []vectors.Result
	for line := range strings.Lines(string(vectors.File(t, "jcs/es6-numbers.txt"))) {
		u, want, ok := strings.Cut(strings.TrimSpace(line), ",")
		if !ok {
			t.Fatalf("line %q", line)
		}
		results = append(results, vectors.Result{ID: u, Want: want, Got: spell(t, bits(t, u))})
	}
	table.Judge(t, results)
}
