package corpusgen

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// TestEnginesSeal: what the designs' previews say in JSON by hand, an engine
// says in Go values, and seals to the same bytes under the same secret.
func TestEnginesSeal(t *testing.T) {
	m, files := built(t)
	secret, err := preview.NewRunSecret(runSecret())
	if err != nil {
		t.Fatal(err)
	}
	of := func(s string) preview.Content { return preview.ContentOf([]byte(s)) }
	exec := func(argv ...string) preview.Exec {
		return preview.Exec{
			Root: "/srv/work", Dir: "/srv/work/notes", Program: "/usr/bin/git", File: of("the program file"), Argv: argv,
			Env: []string{"LC_ALL=C", "HOME=/srv/work"},
		}
	}
	tool := func(pin byte) preview.Preview {
		p := preview.Preview{Task: "t", Attempt: 1, Intent: preview.Tool{Server: "files", Tool: "list", Arguments: []byte("{}")}}
		p.Context.Tool = preview.Pin(append([]byte{0x12, 0x20}, []byte(strings.Repeat(string([]byte{pin}), 32))...))
		return p
	}
	change := func(path, before, after string) []preview.Change {
		return []preview.Change{{Path: path, Before: of(before), After: of(after)}}
	}
	render := preview.Preview{
		Task: "mail", Attempt: 1, Intent: preview.Render{Template: "letters/invitation", Scaffolding: of("Dear {who}, {title}"), Payload: of("Dear Ada, Dinner")},
		Slots: []preview.Slot{{Name: "who", Value: "Ada", Source: "directory"}, {Name: "title", Value: "Dinner", Source: "user"}},
	}
	for name, p := range map[string]preview.Preview{
		"design-a-preview-commit/exec":                         {Task: "tidy-notes", Attempt: 1, Intent: exec("git", "push", "origin", "main")},
		"design-a-preview-commit/exec-one-bit":                 {Task: "tidy-notes", Attempt: 1, Intent: exec("git", "push", "origin", "maio")},
		"design-a-preview-commit/tool-without-arguments":       tool(0xaa),
		"design-a-preview-commit/tool-with-another-definition": tool(0xab),
		"design-b-change-sets/change-set":                      {Task: "notes", Attempt: 1, Intent: preview.Files{Root: "/srv/work", Changes: change("notes/today.md", "milk", "milk and bread")}},
		"design-c-escrow/request":                              {Task: "tidy-notes", Attempt: 1, Intent: exec("git", "push")},
		"design-d-reversible/do":                               {Task: "move", Attempt: 1, Intent: preview.Files{Root: "/srv/work", Changes: change("config", "old", "new")}},
		"design-d-reversible/undo": {Task: "move", Attempt: 1, Intent: preview.Undo{
			Outcome: outcomeIn(t, files["design-d-reversible/undo.preview.json"]), Root: "/srv/work", Changes: change("config", "new", "old"),
		}},
		"design-e-rendered/payload": render,
	} {
		sealed, err := p.Seal(secret)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, want := string(sealed.JSON()), string(files[name+".preview.json"]); got != want {
			t.Errorf("%s: an engine says\n%s\nand the case\n%s", name, got, want)
		}
		digest := sealed.Digest()
		found := false
		for _, c := range m.Cases {
			found = found || c.Name == name && len(c.Ask.Expect) == 1 && c.Ask.Expect[0] == "digest="+hex.EncodeToString(digest[:])
		}
		if !found {
			t.Errorf("%s: no case expects the digest %s", name, digest)
		}
	}
}

// outcomeIn is the outcome that an undo names.
func outcomeIn(t *testing.T, doc []byte) receipt.CID {
	t.Helper()
	var rho struct{ Intent struct{ Outcome string } }
	if err := json.Unmarshal(doc, &rho); err != nil {
		t.Fatal(err)
	}
	c, err := dagcbor.ParseCID(rho.Intent.Outcome)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
