package preview

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// testKey is 00 01 … 1f.
func testKey() []byte {
	key := make([]byte, 32)
	for i := range key {
		key[i] = byte(i)
	}
	return key
}

var testSecret = must(NewRunSecret(testKey()))

func pin(function byte, fill byte) (p Pin) {
	p[0], p[1] = function, 0x20
	for i := range 32 {
		p[2+i] = fill
	}
	return p
}

// anExec has something in every member, in an order that ρ does not have.
func anExec() Preview {
	return Preview{
		Task:    "release/42",
		Attempt: 2,
		Intent: Exec{
			Root:    "/srv/work",
			Dir:     "/srv/work/repo",
			Program: "/usr/bin/git",
			File:    ContentOf([]byte("the program")),
			Argv:    []string{"git", "commit", "-m", "näher\n", "\xff\xfe"},
			Env:     []string{"PATH=/usr/bin", "HOME=/srv/home", "RAW=\x80=", "EMPTY="},
			Stdin:   ContentOf([]byte("input")),
		},
		Inputs:  []Input{{"user", "ci"}, {"blob", "\xc3\x28"}},
		Slots:   []Slot{{Name: "message", Value: "näher\n", Source: "model"}},
		Effects: []Effect{{OnWrites, "repo/.git"}, {OnExec, "/usr/bin/git"}},
		Reads:   []Read{{"repo/.git/index", ContentOf([]byte("index"))}, {"repo/.git/HEAD", Content{}}},
		Context: Context{
			Plan: pin(0x1e, 1), Policy: pin(0x12, 2), Permits: pin(0x1e, 3), Lock: pin(0x1e, 4),
			Tool: pin(0x12, 5), Sandbox: pin(0x1e, 6), Approval: "two-persons",
		},
	}
}

// someFiles has one change of every sort and as little else as may be.
func someFiles() Preview {
	return Preview{Intent: Files{
		Root: "/srv/work",
		Changes: []Change{
			{Path: "src/main.go", Before: ContentOf([]byte("old")), After: ContentOf([]byte("new"))},
			{Path: "bin/run", After: ContentOf([]byte("#!")), Mode: ModeProgram},
			{Path: "gone", Before: ContentOf([]byte("bye"))},
			{Path: "caf\xe9", After: ContentOf(nil)},
			{Path: "tool", Before: ContentOf([]byte("same")), After: ContentOf([]byte("same")), Mode: ModePlain},
		},
	}}
}

// anHTTP has every member.
func anHTTP() Preview {
	return Preview{Intent: HTTP{
		Method: "POST", URL: "https://api.example:8443/v1/items%20?q=%C3%A4",
		Headers: []Header{{"Content-Type", "text/plain"}, {"X-Raw", "\xff"}, {"Content-Length", "4"}},
		Body:    ContentOf([]byte("body")), Address: "[2001:db8::1]:8443",
	}}
}

func aTool() Preview {
	return Preview{Intent: Tool{Server: "notes", Tool: "add note", Arguments: []byte(`{ "b": [1, null], "a": "\u00e4" }`)}}
}

func aRender() Preview {
	return Preview{
		Intent: Render{Template: "github/issue@1", Scaffolding: ContentOf([]byte("scaffolding")), Payload: ContentOf([]byte("{}"))},
		Slots:  []Slot{{Name: "title", Value: "It broke", Source: "report"}},
		Reads:  []Read{{"report", ContentOf([]byte("report"))}},
	}
}

func anUndo() Preview {
	return Preview{Intent: Undo{
		Outcome: dagcbor.Sum([]byte{0xa0}), Root: "/srv/work",
		Changes: []Change{{Path: "made", Before: ContentOf([]byte("made"))}, {Path: "back", After: ContentOf([]byte("old"))}},
	}}
}

// examples is one preview of every verb.
func examples() map[string]Preview {
	return map[string]Preview{
		"exec": anExec(), "files": someFiles(), "http": anHTTP(), "tool": aTool(), "render": aRender(), "undo": anUndo(),
	}
}

// TestWorkedExamples prints every byte string on the way from a preview to its
// commitments; spec/preview.md shows them.
func TestWorkedExamples(t *testing.T) {
	for name, p := range examples() {
		t.Run(name, func(t *testing.T) {
			rho := must(p.Seal(testSecret))
			var b strings.Builder
			line := func(label string, value []byte) { fmt.Fprintf(&b, "%s\n  %x\n", label, value) }
			fmt.Fprintf(&b, "rho\n  %s\n", rho.JSON())
			line("run secret", testKey())
			line("ctx.blind", rho.blind[:])
			line("hashed: effect-preview, then rho", rho.tagged)
			digest := rho.Digest()
			line("preview digest", digest[:])
			escalated := must(verdict.Escalate("NEEDS-HUMAN", "CLASS-RED"))
			ticket, refusal := must(TicketOf(digest, escalated)), must(RefusalOf(digest, escalated))
			fmt.Fprintf(&b, "escalate [CLASS-RED NEEDS-HUMAN]\n  ticket  %v\n  refusal %v\n", ticket, refusal)
			denied := must(RefusalOf(digest, must(verdict.Deny("CLASS-RED"))))
			fmt.Fprintf(&b, "deny [CLASS-RED]\n  refusal %v\n", denied)
			for _, item := range rho.Items() {
				d := must(testSecret.Disclose(digest, item.Field, item.Name, item.Value))
				doc := must(d.MarshalJSON())
				fmt.Fprintf(&b, "commitment %s %s\n  disclosure %s\n  commitment %v\n", item.Field, item.Name, doc, d.Commitment())
			}
			golden(t, name+".golden", b.String())
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s differs; got:\n%s", path, got)
	}
}

// TestOrderDoesNotShow: lists in any order give the same ρ, and Seal leaves
// what it was given alone.
func TestOrderDoesNotShow(t *testing.T) {
	for name, mk := range map[string]func() Preview{"exec": anExec, "files": someFiles} {
		p, q := mk(), mk()
		slices.Reverse(q.Inputs)
		slices.Reverse(q.Effects)
		slices.Reverse(q.Reads)
		switch in := q.Intent.(type) {
		case Exec:
			slices.Reverse(in.Env)
		case Files:
			slices.Reverse(in.Changes)
		}
		before := fmt.Sprint(q)
		a, b := must(p.Seal(testSecret)), must(q.Seal(testSecret))
		if a.Digest() != b.Digest() || !bytes.Equal(a.JSON(), b.JSON()) {
			t.Errorf("%s: order shows:\n%s\n%s", name, a.JSON(), b.JSON())
		}
		if fmt.Sprint(q) != before {
			t.Errorf("%s: Seal changed its preview", name)
		}
	}
}

// TestEveryMemberCounts changes one thing after another and wants another
// digest each time, and another blind.
func TestEveryMemberCounts(t *testing.T) {
	exec := func(change func(*Exec)) func(*Preview) {
		return func(p *Preview) { e := p.Intent.(Exec); change(&e); p.Intent = e }
	}
	change := func(i int, to func(*Change)) func(*Preview) {
		return func(p *Preview) { to(&p.Intent.(Files).Changes[i]) }
	}
	tests := map[string]struct {
		base   func() Preview
		change func(*Preview)
	}{
		"task":          {anExec, func(p *Preview) { p.Task = "release/43" }},
		"no task":       {anExec, func(p *Preview) { p.Task = "" }},
		"attempt":       {anExec, func(p *Preview) { p.Attempt++ }},
		"no attempt":    {anExec, func(p *Preview) { p.Attempt = 0 }},
		"root":          {anExec, exec(func(e *Exec) { e.Root, e.Dir = "/srv/wor", "/srv/wor/repo" })},
		"root and cwd":  {anExec, exec(func(e *Exec) { e.Root = "/srv" })},
		"cwd":           {anExec, exec(func(e *Exec) { e.Dir = "/srv/work" })},
		"program":       {anExec, exec(func(e *Exec) { e.Program = "/usr/bin/git2" })},
		"program file":  {anExec, exec(func(e *Exec) { e.File = ContentOf([]byte("the prograM")) })},
		"argv":          {anExec, exec(func(e *Exec) { e.Argv[2] = "-M" })},
		"argv order":    {anExec, exec(func(e *Exec) { slices.Reverse(e.Argv) })},
		"argv split":    {anExec, exec(func(e *Exec) { e.Argv = append(e.Argv, "") })},
		"argv joined":   {anExec, exec(func(e *Exec) { e.Argv = []string{"git", "commit -m", "näher\n", "\xff\xfe"} })},
		"argv bytes":    {anExec, exec(func(e *Exec) { e.Argv[4] = "\xff\xff" })},
		"env value":     {anExec, exec(func(e *Exec) { e.Env[0] = "PATH=/usr/bin:" })},
		"env name":      {anExec, exec(func(e *Exec) { e.Env[0] = "PATh=/usr/bin" })},
		"env dropped":   {anExec, exec(func(e *Exec) { e.Env = e.Env[1:] })},
		"stdin":         {anExec, exec(func(e *Exec) { e.Stdin = ContentOf([]byte("inpuT")) })},
		"no stdin":      {anExec, exec(func(e *Exec) { e.Stdin = Content{} })},
		"input value":   {anExec, func(p *Preview) { p.Inputs[0].Value = "c" }},
		"input name":    {anExec, func(p *Preview) { p.Inputs[0].Name = "usr" }},
		"input gone":    {anExec, func(p *Preview) { p.Inputs = nil }},
		"slot value":    {anExec, func(p *Preview) { p.Slots[0].Value = "" }},
		"slot source":   {anExec, func(p *Preview) { p.Slots[0].Source = "human" }},
		"slots gone":    {anExec, func(p *Preview) { p.Slots = nil }},
		"effect on":     {anExec, func(p *Preview) { p.Effects[0].On = OnReads }},
		"effect target": {anExec, func(p *Preview) { p.Effects[0].Target = "repo" }},
		"effects gone":  {anExec, func(p *Preview) { p.Effects = nil }},
		"read key":      {anExec, func(p *Preview) { p.Reads[0].Key = "x" }},
		"read seen":     {anExec, func(p *Preview) { p.Reads[0].Seen = Content{} }},
		"reads empty":   {anExec, func(p *Preview) { p.Reads = []Read{} }},
		"reads gone":    {anExec, func(p *Preview) { p.Reads = nil }},
		"plan":          {anExec, func(p *Preview) { p.Context.Plan[33] ^= 1 }},
		"policy":        {anExec, func(p *Preview) { p.Context.Policy = Pin{} }},
		"permits":       {anExec, func(p *Preview) { p.Context.Permits = pin(0x12, 3) }},
		"lock":          {anExec, func(p *Preview) { p.Context.Lock[5] ^= 1 }},
		"tool":          {anExec, func(p *Preview) { p.Context.Tool[5] ^= 1 }},
		"sandbox":       {anExec, func(p *Preview) { p.Context.Sandbox[5] ^= 1 }},
		"pins swapped": {anExec, func(p *Preview) {
			p.Context.Plan, p.Context.Lock = p.Context.Lock, p.Context.Plan
		}},
		"approval":       {anExec, func(p *Preview) { p.Context.Approval = "one-person" }},
		"path":           {someFiles, change(0, func(c *Change) { c.Path = "src/main.gO" })},
		"raw path":       {someFiles, change(3, func(c *Change) { c.Path = "caf\xe8" })},
		"before":         {someFiles, change(0, func(c *Change) { c.Before = ContentOf([]byte("olD")) })},
		"created":        {someFiles, change(0, func(c *Change) { c.Before = Content{} })},
		"after":          {someFiles, change(0, func(c *Change) { c.After = ContentOf([]byte("neW")) })},
		"deleted":        {someFiles, change(0, func(c *Change) { c.After = Content{} })},
		"mode":           {someFiles, change(0, func(c *Change) { c.Mode = ModeProgram })},
		"other mode":     {someFiles, change(4, func(c *Change) { c.Mode = ModeProgram })},
		"one change off": {someFiles, func(p *Preview) { p.Intent = Files{"/srv/work", p.Intent.(Files).Changes[1:]} }},
		"files root":     {someFiles, func(p *Preview) { p.Intent = Files{"/srv", p.Intent.(Files).Changes} }},
	}
	digests := map[Digest]string{}
	blinds := map[[32]byte]string{}
	for _, mk := range []func() Preview{anExec, someFiles} {
		rho := must(mk().Seal(testSecret))
		digests[rho.Digest()], blinds[rho.blind] = "base", "base"
	}
	for name, tt := range tests {
		p := tt.base()
		tt.change(&p)
		rho, err := p.Seal(testSecret)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if other, taken := digests[rho.Digest()]; taken {
			t.Errorf("%s: the digest of %s", name, other)
		}
		if other, taken := blinds[rho.blind]; taken {
			t.Errorf("%s: the blind of %s", name, other)
		}
		digests[rho.Digest()], blinds[rho.blind] = name, name
	}
	other := must(NewRunSecret(bytes.Repeat([]byte{7}, 32)))
	if rho := must(anExec().Seal(other)); digests[rho.Digest()] != "" {
		t.Error("two runs give one request the same digest")
	}
}

// TestSameEffectSameDigest: what a sink builds from the bytes it is about to
// fire has the digest of what was judged, however it got there.
func TestSameEffectSameDigest(t *testing.T) {
	same := func(name string, judged, fired Intent) {
		t.Helper()
		a := must(Preview{Intent: judged}.Seal(testSecret))
		b := must(Preview{Intent: fired}.Seal(testSecret))
		if a.Digest() != b.Digest() {
			t.Errorf("%s: judged\n%s\nfired\n%s", name, a.JSON(), b.JSON())
		}
	}
	e := anExec().Intent.(Exec)
	e.Stdin = Content{}
	f := e
	f.Stdin = ContentOf([]byte{})
	same("empty input is no input", e, f)
	e.Env = nil
	f.Env = []string{}
	same("no environment", e, f)

	content := must(ReadContent(strings.NewReader("new")))
	g := someFiles().Intent.(Files)
	h := Files{g.Root, slices.Clone(g.Changes)}
	h.Changes[0].After = content
	same("content from a stream", g, h)
}

func TestSealRefuses(t *testing.T) {
	exec := func(change func(*Exec)) Preview {
		p := anExec()
		e := p.Intent.(Exec)
		change(&e)
		p.Intent = e
		return p
	}
	whole := func(change func(*Preview)) Preview { p := anExec(); change(&p); return p }
	files := func(changes ...Change) Preview { return Preview{Intent: Files{"/r", changes}} }
	at := func(path string) Preview { return files(Change{Path: path, After: ContentOf(nil)}) }
	a, b := ContentOf([]byte("a")), ContentOf([]byte("b"))
	tests := []struct {
		name string
		p    Preview
		code report.Code
	}{
		{"no intent", Preview{}, report.CodePreviewSchema},
		{"task", whole(func(p *Preview) { p.Task = "a b" }), report.CodePreviewSchema},
		{"attempt", whole(func(p *Preview) { p.Attempt = MaxAttempt + 1 }), report.CodePreviewSchema},
		{"input name", whole(func(p *Preview) { p.Inputs[0].Name = "" }), report.CodePreviewSchema},
		{"input twice", whole(func(p *Preview) { p.Inputs = append(p.Inputs, Input{"user", "other"}) }), report.CodePreviewTwice},
		{"slot name", whole(func(p *Preview) { p.Slots[0].Name = "ä" }), report.CodePreviewSchema},
		{"slot source", whole(func(p *Preview) { p.Slots[0].Source = "" }), report.CodePreviewSchema},
		{"slot twice", whole(func(p *Preview) { p.Slots = append(p.Slots, p.Slots[0]) }), report.CodePreviewTwice},
		{"effect word", whole(func(p *Preview) { p.Effects[0].On = "deletes" }), report.CodePreviewSchema},
		{"effect twice", whole(func(p *Preview) { p.Effects = append(p.Effects, p.Effects[1]) }), report.CodePreviewTwice},
		{"read twice", whole(func(p *Preview) { p.Reads[1].Key = p.Reads[0].Key }), report.CodePreviewTwice},
		{"pin", whole(func(p *Preview) { p.Context.Lock[0] = 0x13 }), report.CodePreviewContext},
		{"pin length", whole(func(p *Preview) { p.Context.Lock[1] = 0x1f }), report.CodePreviewContext},
		{"approval", whole(func(p *Preview) { p.Context.Approval = "any one" }), report.CodePreviewContext},
		{"large", whole(func(p *Preview) { p.Inputs[0].Value = strings.Repeat("x", MaxRho) }), report.CodePreviewSize},

		{"argv empty", exec(func(e *Exec) { e.Argv = nil }), report.CodePreviewIntent},
		{"argv NUL", exec(func(e *Exec) { e.Argv[1] = "a\x00b" }), report.CodePreviewIntent},
		{"env no =", exec(func(e *Exec) { e.Env = []string{"PATH"} }), report.CodePreviewIntent},
		{"env no name", exec(func(e *Exec) { e.Env = []string{"=x"} }), report.CodePreviewIntent},
		{"env digit", exec(func(e *Exec) { e.Env = []string{"1A=x"} }), report.CodePreviewIntent},
		{"env name bytes", exec(func(e *Exec) { e.Env = []string{"A\xff=x"} }), report.CodePreviewIntent},
		{"env function", exec(func(e *Exec) { e.Env = []string{"BASH_FUNC_x%%=() { :;}"} }), report.CodePreviewIntent},
		{"env NUL", exec(func(e *Exec) { e.Env = []string{"A=x\x00B=y"} }), report.CodePreviewIntent},
		{"env twice", exec(func(e *Exec) { e.Env = []string{"A=x", "B=y", "A=z"} }), report.CodePreviewTwice},
		{"program file", exec(func(e *Exec) { e.File = Content{} }), report.CodePreviewIntent},
		{"program relative", exec(func(e *Exec) { e.Program = "git" }), report.CodePreviewPath},
		{"program unclean", exec(func(e *Exec) { e.Program = "/usr/bin/../bin/git" }), report.CodePreviewPath},
		{"program is the root", exec(func(e *Exec) { e.Program = "/" }), report.CodePreviewIntent},
		{"no root", exec(func(e *Exec) { e.Root = "" }), report.CodePreviewPath},
		{"root slash", exec(func(e *Exec) { e.Root = "/srv/work/" }), report.CodePreviewPath},
		{"cwd relative", exec(func(e *Exec) { e.Dir = "repo" }), report.CodePreviewPath},
		{"cwd outside", exec(func(e *Exec) { e.Dir = "/srv" }), report.CodePreviewPath},
		{"cwd beside", exec(func(e *Exec) { e.Dir = "/srv/workshop" }), report.CodePreviewPath},
		{"cwd dots", exec(func(e *Exec) { e.Dir = "/srv/work/../x" }), report.CodePreviewPath},

		{"no changes", files(), report.CodePreviewIntent},
		{"files root", Preview{Intent: Files{"r", []Change{{Path: "a", After: a}}}}, report.CodePreviewPath},
		{"path empty", at(""), report.CodePreviewPath},
		{"path .", at("."), report.CodePreviewPath},
		{"path ..", at(".."), report.CodePreviewPath},
		{"path absolute", at("/etc/passwd"), report.CodePreviewPath},
		{"path dots inside", at("a/../b"), report.CodePreviewPath},
		{"path dot inside", at("a/./b"), report.CodePreviewPath},
		{"path double slash", at("a//b"), report.CodePreviewPath},
		{"path ends in slash", at("a/"), report.CodePreviewPath},
		{"path NUL", at("a\x00b"), report.CodePreviewPath},
		{"path backslash", at(`a\..\..\b`), report.CodePreviewPath},
		{"path long", at(strings.Repeat("a/", MaxPath/2) + "a"), report.CodePreviewPath},
		{"path element long", at(strings.Repeat("a", 256)), report.CodePreviewPath},
		{"path twice", files(Change{Path: "a", After: a}, Change{Path: "a", After: b}), report.CodePreviewTwice},
		{"path below", files(Change{Path: "a", Before: a}, Change{Path: "a-b", After: b}, Change{Path: "a/b", After: b}), report.CodePreviewPath},
		{"nothing to nothing", files(Change{Path: "a"}), report.CodePreviewIntent},
		{"same", files(Change{Path: "a", Before: a, After: a}), report.CodePreviewIntent},
		{"mode unknown", files(Change{Path: "a", After: a, Mode: "777"}), report.CodePreviewIntent},
		{"mode of a deleted file", files(Change{Path: "a", Before: a, Mode: ModePlain}), report.CodePreviewIntent},
		{"mode of a new file", files(Change{Path: "a", After: a, Mode: ModePlain}), report.CodePreviewIntent},
	}
	for _, tt := range tests {
		rho, err := tt.p.Seal(testSecret)
		var e *report.Error
		if !errors.As(err, &e) || e.Code != tt.code || rho.Digest() != (Digest{}) {
			t.Errorf("%s: got %v (%s), want %s", tt.name, err, rho.JSON(), tt.code)
			continue
		}
		if e.Where == "" || e.Expected == "" || e.Actual == "" || len(e.Error()) > 400 {
			t.Errorf("%s: an error without place or sides: %v", tt.name, e)
		}
	}
}

func TestSealTakesTheEdges(t *testing.T) {
	exec := anExec().Intent.(Exec)
	exec.Root, exec.Dir = "/", "/"
	exec.Argv = []string{""}
	for name, p := range map[string]Preview{
		"root of everything": {Intent: exec},
		"greatest attempt":   {Intent: exec, Attempt: MaxAttempt},
		"longest path": {Intent: Files{"/r", []Change{
			{Path: strings.Repeat("a/", MaxPath/2-1) + "ab", After: ContentOf(nil)},
			{Path: strings.Repeat("b", maxElement), After: ContentOf(nil)},
			{Path: "..a", After: ContentOf(nil)},
		}}},
		"neighbours": {Intent: Files{"/r", []Change{
			{Path: "a/b", After: ContentOf(nil)}, {Path: "a/bc", After: ContentOf(nil)}, {Path: "a.b", After: ContentOf(nil)},
		}}},
	} {
		rho, err := p.Seal(testSecret)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if back, err := ParseRho(rho.JSON()); err != nil || back.Digest() != rho.Digest() {
			t.Errorf("%s: read back: %v", name, err)
		}
	}
}

func BenchmarkSealExec(b *testing.B) {
	p := anExec()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Seal(testSecret); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDigestExec(b *testing.B) {
	rho := must(anExec().Seal(testSecret))
	b.SetBytes(int64(len(rho.tagged)))
	b.ReportAllocs()
	for b.Loop() {
		if sum(rho.tagged) != rho.digest {
			b.Fatal("another digest")
		}
	}
}

func BenchmarkOpenExec(b *testing.B) {
	rho := must(anExec().Seal(testSecret))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rho.Open(testSecret); err != nil {
			b.Fatal(err)
		}
	}
}

func TestContextsJoin(t *testing.T) {
	all := anExec().Context
	for _, c := range [][3]Context{
		{{}, {}, {}}, {all, {}, all}, {{}, all, all}, {all, all, all},
		{{Plan: all.Plan}, {Tool: all.Tool, Approval: "x"}, {Plan: all.Plan, Tool: all.Tool, Approval: "x"}},
	} {
		if got, err := c[0].Join(c[1]); err != nil || got != c[2] {
			t.Errorf("%v and %v are %v, %v", c[0], c[1], got, err)
		}
	}
	for _, c := range []Context{{Plan: all.Policy}, {Approval: "one-person"}} {
		if got, err := all.Join(c); report.CodeOf(err) != report.CodePreviewContext {
			t.Errorf("%v took %v: %v", all, c, got)
		}
	}
}
