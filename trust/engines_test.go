package trust_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

var cid = dagcbor.Sum([]byte{0xa0})

// put replaces $cid, $a and $b.
func put(s string) string {
	s = strings.ReplaceAll(s, "$cid", cid.String())
	s = strings.ReplaceAll(s, "$a", base64.StdEncoding.EncodeToString(pub("a")))
	return strings.ReplaceAll(s, "$b", base64.StdEncoding.EncodeToString(pub("b")))
}

func TestEnginesRefusals(t *testing.T) {
	const head = "obstat trust v1\norigin example.com/log\n"
	for _, c := range []struct {
		name, text string
		code       report.Code
		where      string
	}{
		{"empty", "", report.CodeTrustSyntax, ""},
		{"comments alone", "# nothing\n\n", report.CodeTrustSyntax, ""},
		{"another version", "obstat trust v2\n", report.CodeTrustSyntax, "line 1"},
		{"no header", "origin example.com/log\ngenesis $cid\n", report.CodeTrustSyntax, "line 1"},
		{"header twice", "obstat trust v1\nobstat trust v1\n", report.CodeTrustSyntax, "line 2"},
		{"no origin", "obstat trust v1\ngenesis $cid\n", report.CodeTrustSyntax, ""},
		{"origin twice", head + "origin example.com/log\n", report.CodeTrustSyntax, "line 3"},
		{"origin with a space", "obstat trust v1\norigin a b\n", report.CodeTrustSyntax, "line 2"},
		{"origin of other letters", "obstat trust v1\norigin ex\u00e4mple\n", report.CodeTrustSyntax, "line 2"},
		{"origin with a plus", "obstat trust v1\norigin a+b\n", report.CodeTrustSyntax, "line 2"},
		{"carriage return", "obstat trust v1\r\n", report.CodeTrustSyntax, "line 1"},
		{"unknown line", head + "keys $a\n", report.CodeTrustSyntax, "line 3"},
		{"trailing comment", head + "genesis $cid # ours\n", report.CodeTrustSyntax, "line 3"},
		{"neither", head, report.CodeTrustMode, ""},
		{"both", head + "genesis $cid\nkey bob engine $a\n", report.CodeTrustMode, ""},
		{"as-of beside keys", head + "key bob engine $a\nas-of 4\n", report.CodeTrustMode, ""},
		{"genesis twice", head + "genesis $cid\ngenesis $cid\n", report.CodeTrustSyntax, "line 4"},
		{"genesis is no CID", head + "genesis bafy\n", report.CodeTrustSyntax, "line 3"},
		{"as-of twice", head + "genesis $cid\nas-of 1\nas-of 1\n", report.CodeTrustSyntax, "line 5"},
		{"as-of 01", head + "genesis $cid\nas-of 01\n", report.CodeTrustSyntax, "line 4"},
		{"as-of -1", head + "genesis $cid\nas-of -1\n", report.CodeTrustSyntax, "line 4"},
		{"as-of above 2^53-1", head + "genesis $cid\nas-of 9007199254740992\n", report.CodeTrustSyntax, "line 4"},
		{"as-of with no CID", head + "genesis $cid\nas-of 1 head\n", report.CodeTrustSyntax, "line 4"},
		{"registrar", head + "key bob registrar $a\n", report.CodeTrustRole, "line 3"},
		{"role in upper case", head + "key bob Engine $a\n", report.CodeTrustRole, "line 3"},
		{"two roles", head + "key bob engine $a\nkey bob approver $b\n", report.CodeTrustRole, "line 4"},
		{"key twice", head + "key bob engine $a\nkey eve engine $a\n", report.CodeTrustKey, "line 4"},
		{"key of 31 bytes", head + "key bob engine " + strings.Repeat("A", 42) + "==\n", report.CodeTrustKey, "line 3"},
		{"key without padding", head + "key bob engine " + strings.TrimSuffix(put("$a"), "=") + "\n", report.CodeTrustKey, "line 3"},
		{"key of small order", head + "key bob engine AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n", report.CodeTrustKey, "line 3"},
		{"principal with a comma", head + "key b,b engine $a\n", report.CodeTrustSyntax, "line 3"},
		{"from is no number", head + "key bob engine $a x\n", report.CodeTrustSyntax, "line 3"},
		{"range backwards", head + "key bob engine $a 5 4\n", report.CodeTrustSyntax, "line 3"},
		{"seven items", head + "key bob engine $a 4 5 6\n", report.CodeTrustSyntax, "line 3"},
		{"too long", "#" + strings.Repeat("x", trust.MaxEngines) + "\n", report.CodeTrustSyntax, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := trust.ParseEngines([]byte(put(c.text)))
			if e != nil || report.CodeOf(err) != c.code {
				t.Fatalf("got %+v, %v; want %s", e, err, c.code)
			}
			if w := err.(*report.Error).Where; w != c.where {
				t.Errorf("where %q, want %q", w, c.where)
			}
		})
	}
}

func TestEnginesRoundTrip(t *testing.T) {
	for _, text := range []string{
		"obstat trust v1\norigin example.com/log\ngenesis $cid\n",
		"obstat trust v1\norigin example.com/log\ngenesis $cid\nas-of 0\n",
		"obstat trust v1\norigin example.com/log\ngenesis $cid\nas-of 17 $cid\n",
		"obstat trust v1\norigin example.com/log\nkey bob engine $a\nkey bob engine $b 3\n",
		"obstat trust v1\norigin example.com/log\nkey bob engine $a 0 7\nkey eve approver $b 3 3\n",
	} {
		e, err := trust.ParseEngines([]byte(put(text)))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := string(e.Bytes()); got != put(text) {
			t.Errorf("got\n%s\nwant\n%s", got, put(text))
		}
	}
	loose := "# ours\n\n  obstat\ttrust  v1\n\tkey bob engine $a 3 9\n origin example.com/log"
	e, err := trust.ParseEngines([]byte(put(loose)))
	if err != nil {
		t.Fatal(err)
	}
	k, ok := e.Key(dsse.IDOf(pub("a")))
	if !ok || !e.PlainMode() || k.Principal != "bob" || k.Role != trust.Engine {
		t.Fatalf("%+v", e)
	}
	for index, want := range map[uint64]bool{2: false, 3: true, 9: true, 10: false} {
		if k.Covers(index) != want {
			t.Errorf("Covers(%d) = %v", index, !want)
		}
	}
	if _, ok := e.Key(dsse.IDOf(pub("b"))); ok {
		t.Error("an unknown key was found")
	}
}

func FuzzParseEngines(f *testing.F) {
	f.Add([]byte(put("obstat trust v1\norigin example.com/log\ngenesis $cid\nas-of 17 $cid\n")))
	f.Add([]byte(put("obstat trust v1\norigin example.com/log\nkey bob engine $a 0 7\n")))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := trust.ParseEngines(b)
		if (e == nil) == (err == nil) {
			t.Fatalf("%v, %v", e, err)
		}
		if err != nil {
			return
		}
		again, err := trust.ParseEngines(e.Bytes())
		if err != nil || string(again.Bytes()) != string(e.Bytes()) {
			t.Fatalf("%v\n%s", err, e.Bytes())
		}
	})
}
