package preview

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/report"
)

// VerbExec is the verb that runs a program.
const VerbExec = "exec"

// Exec is the intent to run one program, in the terms of execve(2)
// (spec/preview.md#exec): what the kernel is handed and nothing besides. Fill
// it from the plan to judge, and from the exec.Cmd and the open program file to
// fire.
//
// In ρ it is
//
//	{"argv": [bytes, …], "cwd": path relative to root or ".", "env": {name: bytes, …},
//	 "program": {"content": {"b3": …}, "path": bytes}, "root": bytes, "stdin": {"b3": …} or null}
//
// What it does not bind: what the program goes on to read, load or start (name
// those in Preview.Reads); limits, user and namespaces (pin them as
// Context.Sandbox). A sink must hand the child exactly Env (in Go a nil
// exec.Cmd.Env means the whole environment of the parent) and must execute the
// very file it hashed.
type Exec struct {
	Root    string   // directory that the engine was let into: absolute, clean
	Dir     string   // working directory: absolute, clean, Root or below it
	Program string   // file that is executed: absolute, clean
	File    Content  // of the program file; never absent
	Argv    []string // at least one; [0] is the name the program sees. Any bytes but NUL
	Env     []string // NAME=value, each name once, in any order; NAME is [A-Za-z_][A-Za-z0-9_]*
	Stdin   Content  // absent: nothing. Empty input is the same as none and is made absent
}

// Verb returns "exec".
func (Exec) Verb() string { return VerbExec }

func (Exec) changes() []Change { return nil }

func (e Exec) normal() (Intent, error) {
	if err := checkAbsolute("intent.root", e.Root); err != nil {
		return nil, err
	}
	if err := checkAbsolute("intent.cwd", e.Dir); err != nil {
		return nil, err
	}
	rel, ok := below(e.Root, e.Dir)
	if !ok {
		return nil, bad(report.CodePreviewPath, "intent.cwd", "the root or a directory below it", quote(e.Dir))
	}
	if rel != "." {
		if err := checkRelative("intent.cwd", rel); err != nil {
			return nil, err
		}
	}
	if err := checkAbsolute("intent.program.path", e.Program); err != nil {
		return nil, err
	}
	if e.Program == "/" || e.File.IsAbsent() {
		return nil, bad(report.CodePreviewIntent, "intent.program", "a file with its digest", quote(e.Program)+" without one")
	}
	if len(e.Argv) == 0 {
		return nil, bad(report.CodePreviewIntent, "intent.argv", "at least the name that the program sees", "an empty list")
	}
	for i, a := range e.Argv {
		if strings.IndexByte(a, 0) >= 0 {
			return nil, bad(report.CodePreviewIntent, "intent.argv["+strconv.Itoa(i)+"]", "no NUL, which ends an argument", quote(a))
		}
	}
	e.Argv = slices.Clone(e.Argv)
	if e.Stdin == ContentOf(nil) {
		e.Stdin = Content{}
	}
	env, err := normalEnv(e.Env)
	e.Env = env
	return e, err
}

// normalEnv returns env sorted by name.
func normalEnv(env []string) ([]string, error) {
	const where = "intent.env"
	for _, kv := range env {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || !envName(name) {
			return nil, bad(report.CodePreviewIntent, where, "NAME=value with a name [A-Za-z_][A-Za-z0-9_]* of at most 128 bytes", quote(name))
		}
		if strings.IndexByte(value, 0) >= 0 {
			return nil, bad(report.CodePreviewIntent, where+"."+name, "no NUL, which ends a value", "one")
		}
	}
	return set(env, where, func(a, b string) int { return cmp.Compare(envKey(a), envKey(b)) })
}

func envKey(kv string) string {
	name, _, _ := strings.Cut(kv, "=")
	return name
}

func envName(s string) bool {
	if s == "" || len(s) > 128 || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_':
		default:
			return false
		}
	}
	return true
}

func (e Exec) members() jcs.Object {
	argv := make(jcs.Array, len(e.Argv))
	for i, a := range e.Argv {
		argv[i] = Text(a).json()
	}
	env := make(jcs.Object, len(e.Env))
	for i, kv := range e.Env {
		name, value, _ := strings.Cut(kv, "=")
		env[i] = jcs.Member{Name: name, Value: Text(value).json()}
	}
	cwd, _ := below(e.Root, e.Dir)
	return jcs.Object{
		{Name: "argv", Value: argv},
		{Name: "cwd", Value: Text(cwd).json()},
		{Name: "env", Value: env},
		{Name: "program", Value: jcs.Object{
			{Name: "content", Value: e.File.Value().json()},
			{Name: "path", Value: Text(e.Program).json()},
		}},
		{Name: "root", Value: Text(e.Root).json()},
		{Name: "stdin", Value: e.Stdin.Value().json()},
	}
}

func readExec(m *members, changes []Change) (Intent, error) {
	if changes != nil {
		return nil, bad(report.CodePreviewIntent, "intent.changes", "no changes under exec", "some")
	}
	var e Exec
	argv, err := m.array("argv")
	if err != nil {
		return nil, err
	}
	for i, v := range argv {
		a, err := readBytes("intent.argv["+strconv.Itoa(i)+"]", v)
		if err != nil {
			return nil, err
		}
		e.Argv = append(e.Argv, a)
	}
	env, err := m.object("env")
	if err != nil {
		return nil, err
	}
	for _, v := range env {
		if !envName(v.Name) {
			return nil, bad(report.CodePreviewIntent, "intent.env", "a name [A-Za-z_][A-Za-z0-9_]* of at most 128 bytes", quote(v.Name))
		}
		value, err := readBytes("intent.env."+v.Name, v.Value)
		if err != nil {
			return nil, err
		}
		e.Env = append(e.Env, v.Name+"="+value)
	}
	if err := e.readFiles(m); err != nil {
		return nil, err
	}
	return e, m.done()
}

// readFiles reads the members that name files and contents.
func (e *Exec) readFiles(m *members) (err error) {
	if e.Root, err = m.bytes("root"); err != nil {
		return err
	}
	cwd, err := m.bytes("cwd")
	if err != nil {
		return err
	}
	if cwd != "." {
		if err := checkRelative("intent.cwd", cwd); err != nil {
			return err
		}
	}
	e.Dir = join(e.Root, cwd)
	if e.Stdin, err = m.content("stdin"); err != nil {
		return err
	}
	v, err := m.take("program")
	if err != nil {
		return err
	}
	program, err := openObject("intent.program", v)
	if err != nil {
		return err
	}
	if e.Program, err = program.bytes("path"); err != nil {
		return err
	}
	if e.File, err = program.content("content"); err != nil {
		return err
	}
	return program.done()
}
