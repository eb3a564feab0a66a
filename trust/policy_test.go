package trust_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/vectors"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

func key(label string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(label))
	return ed25519.NewKeyFromSeed(seed[:])
}

func pub(label string) ed25519.PublicKey { return key(label).Public().(ed25519.PublicKey) }

func vkey(t testing.TB, name string, typ byte) string {
	t.Helper()
	k, err := checkpoint.NewVKey(name, typ, pub(name))
	if err != nil {
		t.Fatal(err)
	}
	return k.String()
}

// fill puts keys for $log and $w1, $w2, … into a policy.
func fill(t testing.TB, s string) string {
	t.Helper()
	for i := 9; i > 0; i-- {
		name := fmt.Sprintf("w%d", i)
		s = strings.ReplaceAll(s, "$"+name, vkey(t, name, checkpoint.TypeCosignature))
	}
	s = strings.ReplaceAll(s, "$other", vkey(t, "other.example/log", checkpoint.TypeEd25519))
	return strings.ReplaceAll(s, "$log", vkey(t, "example.com/log", checkpoint.TypeEd25519))
}

func TestPolicyRefusals(t *testing.T) {
	w1asLog, err := checkpoint.NewVKey("w1", checkpoint.TypeEd25519, pub("w1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text string
		code       report.Code
		where      string
	}{
		{"empty", "", report.CodePolicyQuorum, ""},
		{"no quorum", "log $log\n", report.CodePolicyQuorum, ""},
		{"two quorums", "quorum none\nquorum none\n", report.CodePolicyQuorum, "line 2"},
		{"carriage return", "log $log\r\nquorum none\n", report.CodePolicyOctet, "line 1"},
		{"delete", "# \x7f\nquorum none\n", report.CodePolicyOctet, "line 1"},
		{"unknown word", "logs $log\nquorum none\n", report.CodePolicySyntax, "line 1"},
		{"upper case", "Log $log\nquorum none\n", report.CodePolicySyntax, "line 1"},
		{"log with four items", "log $log u x\nquorum none\n", report.CodePolicySyntax, "line 1"},
		{"trailing comment", "log $log https://l.example # ours\nquorum none\n", report.CodePolicySyntax, "line 1"},
		{"witness without key", "witness a\nquorum none\n", report.CodePolicySyntax, "line 1"},
		{"group without members", "group g all\nquorum none\n", report.CodePolicySyntax, "line 1"},
		{"quorum of two", "witness a $w1\nquorum a a\n", report.CodePolicySyntax, "line 2"},
		{"not a vkey", "log example.com/log\nquorum none\n", report.CodePolicyKey, "line 1"},
		{"log with a witness's key type", "log $w1\nquorum none\n", report.CodePolicyKey, "line 1"},
		{"witness with a log's key type", "witness a $log\nquorum none\n", report.CodePolicyKey, "line 1"},
		{"log twice", "log $log\nlog $log\nquorum none\n", report.CodePolicyKeyTwice, "line 2"},
		{"witness key twice", "witness a $w1\nwitness b $w1\nquorum none\n", report.CodePolicyKeyTwice, "line 2"},
		{"a log its own witness", "witness a $w1\nlog " + w1asLog.String() + "\nquorum none\n", report.CodePolicyKeyTwice, "line 2"},
		{"name twice", "witness a $w1\nwitness a $w2\nquorum none\n", report.CodePolicyName, "line 2"},
		{"group named as witness", "witness a $w1\ngroup a any a\nquorum a\n", report.CodePolicyName, "line 2"},
		{"witness named none", "witness none $w1\nquorum none\n", report.CodePolicyName, "line 1"},
		{"none as a member", "group g any none\nquorum g\n", report.CodePolicyName, "line 1"},
		{"member before its line", "group g any a\nwitness a $w1\nquorum g\n", report.CodePolicyName, "line 1"},
		{"quorum before its line", "quorum a\nwitness a $w1\n", report.CodePolicyName, "line 1"},
		{"member of two groups", "witness a $w1\nwitness b $w2\ngroup g any a b\ngroup h any a\nquorum g\n", report.CodePolicyMember, "line 4"},
		{"member twice", "witness a $w1\ngroup g any a a\nquorum g\n", report.CodePolicyMember, "line 2"},
		{"threshold 0", "witness a $w1\ngroup g 0 a\nquorum g\n", report.CodePolicyThreshold, "line 2"},
		{"threshold above", "witness a $w1\ngroup g 2 a\nquorum g\n", report.CodePolicyThreshold, "line 2"},
		{"threshold -1", "witness a $w1\ngroup g -1 a\nquorum g\n", report.CodePolicyThreshold, "line 2"},
		{"threshold +1", "witness a $w1\ngroup g +1 a\nquorum g\n", report.CodePolicyThreshold, "line 2"},
		{"threshold 01", "witness a $w1\ngroup g 01 a\nquorum g\n", report.CodePolicyThreshold, "line 2"},
		{"too long", "#" + strings.Repeat("x", trust.MaxPolicy) + "\nquorum none\n", report.CodePolicyLimit, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := trust.ParsePolicy([]byte(fill(t, c.text)))
			if p != nil || report.CodeOf(err) != c.code {
				t.Fatalf("got %v, %v; want %s", p, err, c.code)
			}
			if e := err.(*report.Error); e.Where != c.where {
				t.Errorf("where %q, want %q", e.Where, c.where)
			}
		})
	}
}

func TestPolicyAccepts(t *testing.T) {
	p, err := trust.ParsePolicy([]byte(fill(t, " \t\n# comment \xff\n\t# another\nquorum none\nlog  $log\thttps://log.example/\n witness \xe2\x84\xaa $w1 u\nlog $other")))
	if err != nil {
		t.Fatal(err)
	}
	if l := p.Logs(); len(l) != 2 || l[0].URL != "https://log.example/" || l[0].Key.Name != "example.com/log" || l[1].URL != "" {
		t.Errorf("logs %+v", l)
	}
	if w := p.Witnesses(); len(w) != 1 || w[0].Name != "\xe2\x84\xaa" || w[0].URL != "u" {
		t.Errorf("witnesses %+v", w)
	}
	if !p.KnowsLog("other.example/log") || p.KnowsLog("w1") || p.KnowsLog("example.com") {
		t.Error("KnowsLog")
	}
	if k := p.Keys("example.com/log"); len(k) != 2 || k[0].Name != "example.com/log" || k[1].Name != "w1" {
		t.Errorf("keys %v", k)
	}
	if len(p.Foreign()) != 3 {
		t.Errorf("foreign %d", len(p.Foreign()))
	}
}

// cosign opens a checkpoint that the log and these witnesses signed.
func cosign(t *testing.T, p *trust.Policy, names ...string) *checkpoint.Opened {
	t.Helper()
	body := checkpoint.Checkpoint{Origin: "example.com/log", Size: 1}.Body()
	s, err := checkpoint.NewSigner("example.com/log", checkpoint.TypeEd25519, key("example.com/log"))
	if err != nil {
		t.Fatal(err)
	}
	note, err := s.SignBody(body, 0)
	if err != nil {
		t.Fatal(err)
	}
	n, err := checkpoint.ParseNote(note)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		w, err := checkpoint.NewSigner(name, checkpoint.TypeCosignature, key(name))
		if err != nil {
			t.Fatal(err)
		}
		line, err := w.Sign(body, 1767225600)
		if err != nil {
			t.Fatal(err)
		}
		n.Sigs = append(n.Sigs, line)
	}
	o, err := checkpoint.Open(n.Bytes(), p.Keys("example.com/log"))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestQuorum(t *testing.T) {
	const twoLevels = `log $log
witness X1 $w1
witness X2 $w2
witness X3 $w3
group X 2 X1 X2 X3
witness Y1 $w4
witness Y2 $w5
group Y any Y1 Y2
group both all X Y
`
	for _, c := range []struct {
		quorum, signers string
		met             bool
	}{
		{"none", "", true},
		{"none", "w1", true},
		{"X1", "", false},
		{"X1", "w1", true},
		{"X1", "w2", false},
		{"X", "w1", false},
		{"X", "w1 w3", true},
		{"X", "w1 w2 w3", true},
		{"Y", "w5", true},
		{"Y", "w1 w2 w3", false},
		{"both", "w1 w2", false},
		{"both", "w1 w2 w4", true},
		{"both", "w1 w4 w5", false},
		{"both", "w2 w3 w5", true},
		{"both", "w1 w9", false}, // w9 is not known
	} {
		p, err := trust.ParsePolicy([]byte(fill(t, twoLevels+"quorum "+c.quorum+"\n")))
		if err != nil {
			t.Fatal(err)
		}
		o := cosign(t, p, strings.Fields(c.signers)...)
		q := p.Evaluate(o)
		if q.Met != c.met || q.Rule != c.quorum || q.None != (c.quorum == "none") || q.Witnesses != 5 {
			t.Errorf("quorum %s of %q: %+v", c.quorum, c.signers, q)
		}
		if k, ok := p.SignedByLog(o); !ok || k.Name != "example.com/log" {
			t.Errorf("log key %v %v", k, ok)
		}
	}
}

// A witness whose name is the log's origin is still no log.
func TestWitnessIsNoLog(t *testing.T) {
	w, err := checkpoint.NewVKey("example.com/log", checkpoint.TypeCosignature, pub("w1"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := trust.ParsePolicy([]byte("witness a " + w.String() + "\nquorum a\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := checkpoint.NewSigner("example.com/log", checkpoint.TypeCosignature, key("w1"))
	if err != nil {
		t.Fatal(err)
	}
	note, err := s.SignBody(checkpoint.Checkpoint{Origin: "example.com/log", Size: 1}.Body(), 1)
	if err != nil {
		t.Fatal(err)
	}
	o, err := checkpoint.Open(note, p.Keys("example.com/log"))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := p.SignedByLog(o); ok || !p.Evaluate(o).Met {
		t.Error("a witness signed for the log")
	}
}

func TestVectorsPolicies(t *testing.T) {
	type vector struct {
		ID        string `json:"id"`
		Policy    string `json:"policy"`
		Accept    bool   `json:"accept"`
		Threshold *int   `json:"top_threshold"`
	}
	const (
		comment   = "trailing-comment"
		twice     = "key-twice"
		keyType   = "key-type"
		reservedN = "leading-zero"
	)
	table := vectors.Table{
		File:   "note/policies.jsonl",
		SHA256: "690743a47c16ac9abfc8b95452acad280e02990327b6fd861faeef9340d54b40",
		Rules: map[string]vectors.Rule{
			comment:   {Why: "C2SP tlog-policy: a comment has a line of its own (spec/trust.md#policy)", Answer: "refused"},
			twice:     {Why: "C2SP tlog-policy: a public key stands on one line (spec/trust.md#policy)", Answer: "refused"},
			keyType:   {Why: "C2SP tlog-policy: keys are of a type that fits the line; here 0x01 for a log, 0x04 for a witness (spec/trust.md#policy)", Answer: "refused"},
			reservedN: {Why: "one spelling of a number (spec/trust.md#policy)", Answer: "refused"},
		},
		Exceptions: []vectors.Exception{
			{Case: "formats-policy/01-whitespace-and-comments", Rule: comment},
			{Case: "formats-policy/03-group-all", Rule: keyType},
			{Case: "formats-policy/04-group-any", Rule: keyType},
		},
	}
	// rule looks at the text alone.
	rule := func(text string) string {
		keys := map[string]bool{}
		for _, line := range strings.Split(text, "\n") {
			items := strings.Fields(line)
			if len(items) == 0 || items[0][0] == '#' {
				continue
			}
			for _, item := range items[1:] {
				if item[0] == '#' {
					return comment
				}
			}
			at := map[string]int{"log": 1, "witness": 2}[items[0]]
			if at > 0 && at < len(items) {
				_, b64, _ := strings.Cut(items[at], "+")
				_, b64, _ = strings.Cut(b64, "+")
				if keys[b64] {
					return twice
				}
				keys[b64] = true
				k, err := base64.StdEncoding.DecodeString(b64)
				if want := map[int]byte{1: checkpoint.TypeEd25519, 2: checkpoint.TypeCosignature}[at]; err == nil && len(k) > 0 && k[0] != want {
					return keyType
				}
			}
			if items[0] == "group" && len(items) > 2 && len(items[2]) > 1 && items[2][0] == '0' {
				return reservedN
			}
		}
		return ""
	}
	var results []vectors.Result
	for _, v := range vectors.Lines[vector](t, table.File) {
		r := vectors.Result{ID: v.ID, Want: "refused", Got: "refused", Rule: rule(v.Policy)}
		if v.Accept {
			r.Want = "accepted"
		}
		if _, err := trust.ParsePolicy([]byte(v.Policy)); err == nil {
			r.Got = "accepted"
		}
		results = append(results, r)
	}
	table.Judge(t, results)
}

func FuzzParsePolicy(f *testing.F) {
	f.Add([]byte("quorum none\n"))
	f.Add([]byte(fill(f, "log $log u\nwitness a $w1\nwitness b $w2\ngroup g 2 a b\nquorum g\n")))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := trust.ParsePolicy(b)
		if (p == nil) == (err == nil) {
			t.Fatalf("%v, %v", p, err)
		}
		if err != nil && report.CodeOf(err) == report.CodeInternal {
			t.Fatalf("no code: %v", err)
		}
		if p != nil {
			o := &checkpoint.Opened{}
			if q := p.Evaluate(o); q.Met != q.None {
				t.Fatalf("met without a cosignature: %+v", q)
			}
		}
	})
}
