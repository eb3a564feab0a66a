package spec

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
)

var update = flag.Bool("update", false, "write the generated blocks of the pages")

var block = regexp.MustCompile(`(?s)(<!-- begin generated: ([a-z0-9-]+) -->\n)(.*?)(<!-- end generated: ([a-z0-9-]+) -->)`)

// TestGenerated compares every generated block of every page with what the code
// says today, and writes it under -update. Every generator has one place.
func TestGenerated(t *testing.T) {
	generators := generators(t)
	seen := map[string]string{}
	for _, page := range pages(t) {
		text := read(t, page)
		if n, m := strings.Count(text, "begin generated:"), len(block.FindAllString(text, -1)); n != m {
			t.Errorf("%s: %d blocks begin and %d are whole", page, n, m)
		}
		changed := block.ReplaceAllStringFunc(text, func(whole string) string {
			m := block.FindStringSubmatch(whole)
			name := m[2]
			generate, ok := generators[name]
			switch {
			case m[5] != name:
				t.Errorf("%s: block %s ends as %s", page, name, m[5])
				return whole
			case !ok:
				t.Errorf("%s: nothing generates %s", page, name)
				return whole
			case seen[name] != "":
				t.Errorf("%s: block %s stands in %s already", page, name, seen[name])
			}
			seen[name] = page
			got := "\n" + strings.TrimRight(generate(), "\n") + "\n\n"
			if got != m[3] && !*update {
				t.Errorf("%s: block %s is not what the code says: go test ./spec -update, and read the difference", page, name)
			}
			return m[1] + got + m[4]
		})
		if *update && changed != text {
			if err := os.WriteFile(page, []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name := range generators {
		if seen[name] == "" {
			t.Errorf("no page shows %s", name)
		}
	}
}

func pages(t testing.TB) []string {
	t.Helper()
	names := must(filepath.Glob("*.md"))
	if len(names) < 20 {
		t.Fatalf("only %d pages", len(names))
	}
	return names
}

func read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func fence(language, s string) string {
	return "```" + language + "\n" + strings.TrimRight(s, "\n") + "\n```\n"
}

// wrap cuts a long hex or text into lines of so many characters.
func wrap(s string, width int) string {
	var b strings.Builder
	for i, r := range []rune(s) {
		if i > 0 && i%width == 0 {
			b.WriteByte('\n')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func hexLines(b []byte) string { return wrap(hex.EncodeToString(b), 96) }

func generators(t *testing.T) map[string]func() string {
	w := newWorld(t)
	g := map[string]func() string{
		"keys":              func() string { return keysTable() },
		"log":               w.logTable,
		"pae":               w.pae,
		"leaf":              w.leafExample,
		"dispositions":      dispositions,
		"combine":           func() string { return read(t, "../verdict/testdata/combine.md") },
		"jsonview":          w.jsonView,
		"preview-files":     func() string { return w.previewExample(w.files) },
		"preview-exec":      func() string { return w.previewExample(w.exec) + w.ticketExample() },
		"vocabulary-digest": vocabularyDigest,
		"registry-genesis":  w.genesis,
		"trust-files":       w.trustFiles,
		"checkpoint":        w.checkpoint,
		"proof":             w.proof,
		"bundle":            w.bundleExample,
		"not-claimed":       notClaimed,
		"report":            func() string { return w.report(t) },
		"limits":            limits,
		"statuses":          func() string { return statuses(t) },
	}
	for block, leaf := range map[string]string{
		"statement-run-open": "run-open", "statement-judgment": "judgment", "statement-outcome": "outcome",
		"statement-escalation": "escalation", "statement-decision": "decision", "statement-fault": "fault",
		"statement-gap": "gap", "statement-run-close": "run-close",
	} {
		g[block] = func() string { return w.statement(leaf) }
	}
	return g
}

func keysTable() string {
	var b strings.Builder
	b.WriteString("| label | signs | public key | key ID |\n|---|---|---|---|\n")
	for _, k := range []struct{ label, signs string }{
		{"log", "checkpoints"}, {witness, "cosignatures"}, {"registrar-1", "the registry"}, {"registrar-2", "the registry"},
		{"engine", "receipts"}, {"approver", "decisions"},
	} {
		id := "as `type 01` of name `" + testlog.Origin + "`"
		switch k.label {
		case "log":
		case witness:
			id = "as `type 04` of name `" + witness + "`"
		default:
			id = "`" + testlog.ID(k.label).String() + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | `%x` | %s |\n", k.label, k.signs, []byte(testlog.Public(k.label)), id)
	}
	return b.String()
}

func (w *world) logTable() string {
	var b strings.Builder
	b.WriteString("| leaf | holds | statement CID | receipt CID |\n|---|---|---|---|\n")
	for i, l := range w.leaves {
		statement, rec := w.log.Genesis.String(), ""
		if l.statement != nil {
			statement, rec = l.statement.CID.String(), "`"+l.statement.ReceiptCID.String()+"`"
		}
		fmt.Fprintf(&b, "| %d | %s | `%s` | %s |\n", i, l.name, statement, rec)
	}
	root := w.log.Root(w.log.Size())
	fmt.Fprintf(&b, "\nRoot of the tree of %d: `%x`\n", w.log.Size(), root[:])
	return b.String()
}

func (w *world) statement(name string) string {
	l, index := w.leaf(name)
	return fmt.Sprintf("Leaf %d, statement of %d bytes, CID `%s`.\n\n", index, len(l.statement.Payload()), l.statement.CID) +
		fence("", annotate(l.statement.Payload()))
}

func (w *world) pae() string {
	l, _ := w.leaf("fault")
	pae := dsse.PAE(l.envelope.Type, l.envelope.Payload)
	return fmt.Sprintf("PAE of the fault at leaf 7, %d bytes, which key `engine` signs:\n\n", len(pae)) +
		fence("", hexLines(pae)) + "\nSignature:\n\n" + fence("", hexLines(l.envelope.Sigs[0].Sig[:]))
}

func (w *world) leafExample() string {
	l, index := w.leaf("fault")
	bytes := must(l.envelope.Leaf())
	hash := merkle.LeafHash(bytes)
	return fmt.Sprintf("Leaf %d, %d bytes:\n\n", index, len(bytes)) + fence("", annotate(bytes)) +
		fmt.Sprintf("\nLeaf hash: `%x`\n\nThe same envelope as DSSE JSON, which has no line breaks:\n\n", hash[:]) +
		fence("json", wrap(string(l.envelope.JSON()), 96))
}

// dispositions lists every disposition with all of its fields, read off the
// bytes, and what the code says of it.
func dispositions() string {
	r, c, d, v := receipttest.Recovery("refused"), receipt.Code("X"), receipttest.Digest("x"), receipttest.Hidden("x")
	cid := receipttest.Build(receipt.Call{Run: "r"}, receipttest.Open("l")).CID
	rows := []struct {
		d    receipt.Disposition
		says string
	}{
		{receipt.Committed{Fired: d, Wrote: []receipt.Wrote{{Key: v}}, Approval: cid}, "the effect was fired and succeeded. `wrote`: set by `key` of `{key: value, value: commitment}`, the postconditions"},
		{receipt.Diverged{Fired: d, Recovery: r}, "what was about to be fired was not what was judged"},
		{receipt.Refused{Code: c, Recovery: r}, "the engine refused at commit for a reason of its own"},
		{receipt.Rejected{Decision: cid, Recovery: r}, "a person said no; `decision` is the statement CID"},
		{receipt.Expired{Recovery: r}, "nobody answered in time; silence is a denial"},
		{receipt.Cancelled{Code: c, Recovery: r}, "withdrawn, discarded or replaced before commit"},
		{receipt.Stale{Key: v, Seen: receipttest.Commitment("y"), Recovery: r}, "a value that the judgment had read had moved; nothing was applied"},
		{receipt.Withheld{Code: c, Recovery: r}, "no payload was rendered"},
		{receipt.Rendered{Digest: d}, "a payload was rendered and not sent by this engine; `digest` is recomputed over it"},
		{receipt.Failed{Code: c, Restored: receipt.RestoredUnknown, Approval: cid}, "attempted and failed; `restored`: `yes`, `no` or `unknown`: whether the world is as it was"},
		{receipt.Unobserved{Code: c, Approval: cid}, "it may or may not have happened"},
	}
	optional := []string{"wrote", "approval"}
	var b strings.Builder
	b.WriteString("| disposition | fields | fired | says |\n|---|---|---|---|\n")
	for _, row := range rows {
		view := must(receipt.ReceiptToJSON(receipt.Outcome{Of: cid, Disposition: row.d}))
		var names []string
		for _, f := range fieldsOf(view, "outcome", "disposition", row.d.Word()) {
			if slices.Contains(optional, f) {
				f = "?" + f
			}
			names = append(names, "`"+f+"`")
		}
		fired := "no"
		switch {
		case receipt.Attempted(row.d) && receipt.Open(row.d):
			fired = "perhaps"
		case receipt.Attempted(row.d):
			fired = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", row.d.Word(), strings.Join(names, " "), fired, row.says)
	}
	return b.String()
}

func (w *world) jsonView() string {
	l, _ := w.leaf("judgment")
	view := must(receipt.ToJSON(l.statement))
	second := must(receipt.JCSDigestOf(l.statement.Statement.Receipt))
	return fence("json", wrap(string(view), 96)) + "\nSecond digest of its receipt: `" + second.String() + "`\n"
}

func (w *world) previewExample(s sealed) string {
	digest := s.rho.Digest()
	var b strings.Builder
	fmt.Fprintf(&b, "ρ, %d bytes, without the line breaks:\n\n%s\n", len(s.rho.JSON()), fence("json", wrap(string(s.rho.JSON()), 96)))
	fmt.Fprintf(&b, "Preview digest: `%s`\n\n", digest)
	b.WriteString("| field | name | value | salt | commitment |\n|---|---|---|---|---|\n")
	for _, item := range s.rho.Items() {
		d := must(secret().Disclose(digest, item.Field, item.Name, item.Value))
		salt := d.Salt()
		fmt.Fprintf(&b, "| `%s` | `%s` | `%s` | `%x` | `%s` |\n", item.Field, item.Name, item.Value.String(), salt[:], d.Commitment())
	}
	return b.String()
}

func (w *world) ticketExample() string {
	l, _ := w.leaf("escalation")
	v := l.statement.Statement.Receipt.(receipt.Judgment).Ruling.Verdict()
	refusal := must(preview.RefusalOf(w.exec.rho.Digest(), v))
	return fmt.Sprintf("\nTicket of `%s`: `%s`. Refusal: `%s`.\n", v, w.ticket, refusal)
}

func vocabularyDigest() string {
	v := receipt.StandardVocabulary()
	d := v.Digest()
	return fmt.Sprintf("Document of %d bytes, digest `%x`, in hex:\n\n", len(v.Document()), d[:]) + fence("", hexLines(v.Document()))
}

func (w *world) genesis() string {
	l, _ := w.leaf("registry")
	hash := merkle.LeafHash(w.log.Leaves[0])
	return fmt.Sprintf("Payload of %d bytes, statement CID `%s`.\n\n", len(l.envelope.Payload), w.log.Genesis) +
		fence("", annotate(l.envelope.Payload)) +
		fmt.Sprintf("\nSigned by `registrar-1` and `registrar-2`; leaf hash `%x`.\n", hash[:])
}

func (w *world) trustFiles() string {
	return "Policy:\n\n" + fence("", string(w.policyFile())) + "\nEngine trust file:\n\n" + fence("", string(w.log.Engines().Bytes()))
}

func (w *world) checkpoint() string {
	return fmt.Sprintf("The checkpoint of the example log at size %d, signed by the log and cosigned at %d:\n\n", w.log.Size(), testlog.Time) +
		fence("", string(w.log.Checkpoint(w.log.Size(), witness)))
}

func (w *world) proof() string {
	_, index := w.leaf("judgment")
	return fmt.Sprintf("Leaf %d in the tree of %d, sibling first:\n\n", index, w.log.Size()) + fence("", string(w.bundle().Proof.Bytes()))
}

func (w *world) bundleExample() string {
	b := string(w.bundle().Append(nil))
	for _, member := range []string{`"level":`, `"envelope":{"payload":"`, `"proof":"`, `"registry":`, `"disclosures":`} {
		b = strings.ReplaceAll(b, ","+member, ",\n"+member)
	}
	var out []string
	for line := range strings.SplitSeq(b, "\n") {
		out = append(out, wrap(line, 96))
	}
	return fence("json", strings.Join(out, "\n"))
}

func notClaimed() string {
	var b strings.Builder
	for _, s := range report.NotClaimed() {
		b.WriteString("- " + s + "\n")
	}
	return b.String()
}

func (w *world) report(t *testing.T) string {
	return fence("", bundle.Check(w.bundle().Append(nil), w.options(t)).Text())
}
