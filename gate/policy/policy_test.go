package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

func parse(t *testing.T, text string) *Policy {
	t.Helper()
	p, err := Parse("test.cedar", []byte(text), "engine")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func propose(in preview.Intent) gate.Proposal {
	return gate.Proposal{
		Preview: preview.Preview{
			Task: "task", Attempt: 2, Intent: in, Inputs: []preview.Input{{Name: "to", Value: "alice"}},
			Slots:   []preview.Slot{{Name: "title", Value: "x", Source: "user"}},
			Effects: []preview.Effect{{On: preview.OnNetwork, Target: "api.example"}},
			Context: preview.Context{Sandbox: preview.Pin(receipt.PinBLAKE3([]byte("box")))},
		},
		Class: receipt.Yellow, Origin: verdict.Mixed(verdict.LLM, verdict.Replay),
	}
}

func git(args ...string) preview.Exec {
	return preview.Exec{
		Root: "/srv", Dir: "/srv/repo", Program: "/usr/bin/git", File: preview.ContentOf([]byte("git")),
		Argv: append([]string{"git"}, args...), Env: []string{"HOME=/srv"},
	}
}

func files(paths ...string) preview.Files {
	f := preview.Files{Root: "/srv"}
	for _, p := range paths {
		f.Changes = append(f.Changes, preview.Change{Path: p, After: preview.ContentOf([]byte("new"))})
	}
	return f
}

const permitGit = `
@id("git")
permit (principal == Agent::"engine", action == Action::"exec", resource == Program::"/usr/bin/git");
`

// How Cedar's answers become arms.
func TestArms(t *testing.T) {
	const (
		commit  = `forbid (principal, action, resource) when { context.argv has "1" && context.argv["1"] == "commit" };`
		asks    = `@escalate("RULE-ASKS") ` + commit
		asksRed = `@escalate("CLASS-RED") ` + commit
		denies  = `@reason("ARGUMENT-NOT-ALLOWED") ` + commit
		breaks  = `forbid (principal, action, resource) when { context.argv["1"] like "*" && context.argv["2"] == "x" };`
	)
	for _, c := range []struct{ name, policy, want string }{
		{"nothing", ``, "deny [NO-RULE]"},
		{"permit", permitGit, "admit [git]"},
		{"two permits", permitGit + `permit (principal, action, resource);`, "admit [git policy1]"},
		{"of another program", strings.Replace(permitGit, "/git", "/gut", 1), "deny [NO-RULE]"},
		{"of another agent", strings.Replace(permitGit, "engine", "other", 1), "deny [NO-RULE]"},
		{"forbid", permitGit + commit, "deny [RULE-DENIES]"},
		{"forbid with a reason", permitGit + denies, "deny [ARGUMENT-NOT-ALLOWED]"},
		{"two reasons", permitGit + denies + commit, "deny [ARGUMENT-NOT-ALLOWED RULE-DENIES]"},
		{"escalate", permitGit + asks, "escalate [RULE-ASKS]"},
		{"two that ask", permitGit + asks + asksRed, "escalate [CLASS-RED RULE-ASKS]"},
		{"a person is not asked for what nothing permits", asks, "deny [NO-RULE]"},
		{"nor for what is forbidden", permitGit + asks + denies, "deny [ARGUMENT-NOT-ALLOWED]"},
		{"what cannot be evaluated", permitGit + breaks, "fault"},
		{"where nothing permits, either", breaks, "fault"},
		{"where a person would be asked, either", permitGit + asks + breaks, "fault"},
		{"a denial is sound all the same", permitGit + denies + breaks, "deny [ARGUMENT-NOT-ALLOWED]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := parse(t, c.policy).Judge(t.Context(), propose(git("commit")))
			got := v.String()
			var f verdict.Fault
			if errors.As(err, &f) {
				if got = "fault"; f.Codes()[0] != "RULE-FAILED" || !strings.Contains(err.Error(), "policy ") {
					t.Errorf("fault %v: %v", f.Codes(), err)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// A shell runs where a permit that holds says so, and nothing that no argument
// names is loaded otherwise.
func TestShellsAreNamed(t *testing.T) {
	const all, shells, both = `permit (principal, action, resource);`, `@allow("shell") permit (principal, action, resource) when { context.program == "/bin/dash" };`, `@allow("shell loader") permit (principal, action, resource);`
	const asks = `@escalate("RULE-ASKS") forbid (principal, action, resource);`
	shell := preview.Exec{Root: "/", Dir: "/", Program: "/bin/dash", File: preview.ContentOf([]byte("x")), Argv: []string{"sh"}}
	loads := shell
	loads.Env = []string{"LD_PRELOAD=/tmp/x.so"}
	other := shell
	other.Program = "/bin/bash"
	git := git("push")
	git.Env = loads.Env
	for _, c := range []struct {
		name, policy string
		in           preview.Exec
		want         string
	}{
		{"a shell that nobody names", all, shell, "deny [COMMAND-NOT-ALLOWED]"},
		{"a shell that is named", shells, shell, "admit [policy0]"},
		{"beside a permit that does not", all + shells, shell, "admit [policy0 policy1]"},
		{"another shell", all + shells, other, "deny [COMMAND-NOT-ALLOWED]"},
		{"a library that nobody names", shells, loads, "deny [ARGUMENT-NOT-ALLOWED]"},
		{"one that is allowed", both, loads, "admit [policy0]"},
		{"in no shell", all, git, "deny [ARGUMENT-NOT-ALLOWED]"},
		{"a person is not asked for one that nobody names", all + asks, shell, "deny [COMMAND-NOT-ALLOWED]"},
		{"a person is asked for one that is named", shells + asks, shell, "escalate [RULE-ASKS]"},
	} {
		v, err := parse(t, c.policy).Judge(t.Context(), propose(c.in))
		if err != nil || v.String() != c.want {
			t.Errorf("%s: %v, %v; want %s", c.name, v, err, c.want)
		}
	}
}

func TestEveryChangeIsAsked(t *testing.T) {
	p := parse(t, `
@id("below-src")
permit (principal, action in Action::"files", resource in Directory::"src");
@reason("PATH-NOT-ALLOWED")
forbid (principal, action == Action::"delete", resource == File::"src/keep");
@escalate("RULE-ASKS")
forbid (principal, action == Action::"replace", resource in Directory::"src/api");`)
	replace := files("src/api/v1/a.go")
	replace.Changes[0].Before = preview.ContentOf([]byte("old"))
	remove := preview.Files{Root: "/srv", Changes: []preview.Change{{Path: "src/keep", Before: preview.ContentOf(nil)}}}
	undo := preview.Undo{Outcome: dagcbor.Sum(nil), Root: "/srv", Changes: files("src/a").Changes}
	both := preview.Files{Root: "/srv", Changes: append(replace.Changes, files("src/b").Changes...)}
	for name, c := range map[string]struct {
		in   preview.Intent
		want string
	}{
		"inside":            {files("src/a", "src/b/c"), "admit [below-src]"},
		"one outside":       {files("src/a", "srcs/b"), "deny [NO-RULE]"},
		"beside":            {files("a"), "deny [NO-RULE]"},
		"a replacement":     {replace, "escalate [RULE-ASKS]"},
		"one of them":       {both, "escalate [RULE-ASKS]"},
		"a deletion":        {remove, "deny [PATH-NOT-ALLOWED]"},
		"undo is no change": {undo, "deny [NO-RULE]"},
	} {
		v, err := p.Judge(t.Context(), propose(c.in))
		if err != nil || v.String() != c.want {
			t.Errorf("%s: %v, %v; want %s", name, v, err, c.want)
		}
	}
}

// Every member of every verb can be spoken of.
func TestWhatAPolicySees(t *testing.T) {
	sees := func(in preview.Intent, conditions ...string) {
		t.Helper()
		for _, c := range conditions {
			p := parse(t, `@allow("shell loader") permit (principal, action, resource) when { `+c+` };`)
			if v, err := p.Judge(t.Context(), propose(in)); err != nil || v.Arm() != verdict.ArmAdmit {
				t.Errorf("%s of %s: %v, %v", c, in.Verb(), v, err)
			}
		}
	}
	sees(git("commit", "-m", "\xff"),
		`context.class == "yellow"`, `context.task == "task"`, `context.attempt == 2`, `!(context has approval)`,
		`context.origin.intent == "llm_originated" && context.origin.rendering == "deterministic_replay"`,
		`context.inputs.to == "alice"`, `context.slots.title == {"value": "x", "source": "user"}`,
		`context.effects.contains({"on": "network", "target": "api.example"})`, `context.touches.contains("network")`,
		`context.pins has sandbox && context.pins.sandbox like "1e20*"`, `!(context.pins has plan)`,
		`context.root == "/srv" && context.dir == "/srv/repo" && context.program == "/usr/bin/git"`,
		`context.content like "b3:*"`, `context.argv["0"] == "git" && context.argv["2"] == "-m"`, `context.argv["3"] == {"b64": "/w=="}`,
		`context.args.contains("commit") && !context.args.contains("git")`, `context.argc == 4`, `context.env == {"HOME": "/srv"}`,
		`!context.stdin && !context.shell && !context.loader && !context.reversible`)
	sees(preview.Exec{Root: "/", Dir: "/", Program: "/bin/dash", Argv: []string{"dash"}, Stdin: preview.ContentOf([]byte("x"))}, `context.stdin && context.shell`)
	sees(preview.Exec{Root: "/", Dir: "/", Program: "/tmp/x", Argv: []string{"-bash"}}, `context.shell`)
	sees(preview.HTTP{
		Method: "POST", URL: "https://api.example:8443/v1/a?b=c", Address: "192.0.2.1:8443", Body: preview.ContentOf([]byte("b")),
		Headers: []preview.Header{{Name: "X-A", Value: "1"}, {Name: "x-a", Value: "2"}, {Name: "Content-Length", Value: "1"}},
	},
		`action == Action::"http" && resource == Host::"api.example:8443"`, `context.method == "POST"`, `context.scheme == "https"`,
		`context.host == "api.example:8443" && context.path == "/v1/a" && context.query == "b=c"`, `context.url like "https://*"`,
		`context.headers["x-a"].containsAll(["1", "2"])`, `context.address == "192.0.2.1:8443"`, `context has body`)
	sees(preview.Tool{Server: "notes", Tool: "add", Arguments: []byte(`{"a":[1,"x"],"b":null,"c":1.5,"d":{"e":true}}`)},
		`action == Action::"tool" && resource == Tool::"notes/add" && resource in Server::"notes"`, `context.server == "notes" && context.tool == "add"`,
		`context.arguments.a.containsAll([1, "x"])`, `context.arguments.b == {"null": true}`, `context.arguments.c == {"number": "1.5"}`, `context.arguments.d.e`)
	sees(preview.Render{Template: "github/issue@1", Scaffolding: preview.ContentOf(nil), Payload: preview.ContentOf(nil)},
		`action == Action::"render" && resource == Template::"github/issue@1" && context.rendered`)
	sees(files("src/a"), `action == Action::"create" && action in Action::"files"`, `resource == File::"src/a" && resource in Directory::"."`,
		`context.root == "/srv" && context.path == "src/a" && context.change == "create" && context.mode == "" && context.changes == 1`,
		`context.after like "b3:*" && !(context has before)`)
	sees(files("\xff"), `resource in Directory::"." && context.path == {"b64": "/w=="}`)
	sees(preview.Undo{Outcome: dagcbor.Sum(nil), Root: "/srv", Changes: files("a").Changes},
		`action == Action::"undo" && context.undoes like "bafyr4i*" && context.change == "create"`)
	if _, err := parse(t, ``).Judge(t.Context(), propose(nothing{preview.Files{}})); err == nil {
		t.Error("an unknown verb was judged")
	}
}

// nothing is an intent of a verb that nobody knows.
type nothing struct{ preview.Intent }

func (nothing) Verb() string { return "launch" }

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no Cedar":                `allow everything`,
		"a word of nobody's":      `@reason("BECAUSE") forbid (principal, action, resource);`,
		"prose":                   `@escalate("ask alice") forbid (principal, action, resource);`,
		"a reason to permit":      `@reason("NO-RULE") permit (principal, action, resource);`,
		"a permit that asks":      `@escalate("RULE-ASKS") permit (principal, action, resource);`,
		"both":                    `@reason("NO-RULE") @escalate("RULE-ASKS") forbid (principal, action, resource);`,
		"a name with a blank":     `@id("my rule") permit (principal, action, resource);`,
		"a number's name":         `@id("policy1") permit (principal, action, resource);`,
		"the gate's own name":     `@id("obstat/relaxed") permit (principal, action, resource);`,
		"one name for two":        `@id("a") permit (principal, action, resource); @id("a") forbid (principal, action, resource);`,
		"allow what there is not": `@allow("root") permit (principal, action, resource);`,
		"allow by a forbid":       `@allow("shell") forbid (principal, action, resource);`,
		"one annotation, twice":   `@id("a") @id("b") permit (principal, action, resource);`,
	} {
		if _, err := Parse("test.cedar", []byte(text), "engine"); err == nil || !strings.Contains(err.Error(), "test.cedar") && name != "no Cedar" && name != "one annotation, twice" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p := parse(t, permitGit); p.Pin() != receipt.PinBLAKE3([]byte(permitGit)) {
		t.Error("the pin is not of the text")
	}
}

// A judgment by a file stands as long as the file says the same.
func TestFileStands(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.cedar")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(permitGit)
	f, err := Open(path, "engine")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := f.Judge(t.Context(), propose(git("commit"))); err != nil || v.Arm() != verdict.ArmAdmit {
		t.Errorf("%v, %v", v, err)
	}
	if code, err := f.Stands(t.Context()); code != "" || err != nil {
		t.Errorf("%s, %v", code, err)
	}
	write(permitGit + " ")
	if code, err := f.Stands(t.Context()); code != "POLICY-CHANGED" || err == nil {
		t.Errorf("it stands on another file: %s, %v", code, err)
	}
	write(permitGit)
	if _, err := f.Stands(t.Context()); err != nil {
		t.Errorf("it does not stand on the same file: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if code, err := f.Stands(t.Context()); code != "POLICY-CHANGED" || err == nil {
		t.Errorf("it stands on nothing: %s, %v", code, err)
	}
	if _, err := Open(path, "engine"); err == nil {
		t.Error("opened nothing")
	}
	write(strings.Repeat(" ", maxFile+1))
	if _, err := Open(path, "engine"); err == nil {
		t.Error("opened too much")
	}
}
