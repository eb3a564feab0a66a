package gate

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/verdict"
)

// shells run what their arguments and input say. The list is of names, so it
// catches mistakes and no attacker: a policy that means to keep shells out names
// the programs that may run, and their digests.
var shells = []string{
	"ash", "bash", "busybox", "csh", "dash", "elvish", "env", "fish", "ksh", "mksh", "nu", "oksh", "pwsh", "rbash", "sh", "tcsh",
	"toybox", "xargs", "xonsh", "yash", "zsh",
}

// LooksLikeShell says whether a command runs another one that its arguments
// spell, by the name of its program or the name that it is given.
func LooksLikeShell(e preview.Exec) bool {
	is := func(name string) bool { return slices.Contains(shells, strings.TrimPrefix(path.Base(name), "-")) }
	return is(e.Program) || len(e.Argv) > 0 && is(e.Argv[0])
}

// loaderVariables make the system, or most programs of a kind, load or run what
// no argument names.
var loaderVariables = []string{"LD_", "DYLD_", "BASH_ENV=", "ENV=", "BASH_FUNC_", "PYTHONSTARTUP=", "PERL5OPT=", "RUBYOPT=", "NODE_OPTIONS=", "GCONV_PATH="}

// LoadsUnnamed says whether an environment makes a program load or run what no
// argument names, by the names of its variables.
func LoadsUnnamed(e preview.Exec) bool {
	return slices.ContainsFunc(e.Env, func(kv string) bool {
		return slices.ContainsFunc(loaderVariables, func(v string) bool { return strings.HasPrefix(kv, v) })
	})
}

// NoShell is a rule for engines whose rules are functions: it denies commands
// that look like a shell, but for the programs that it names by their absolute
// paths, and environments that load what no argument names. It admits nothing.
// Package policy does the same by itself.
type NoShell struct{ Programs []string }

// Judge denies, or says nothing.
func (n NoShell) Judge(_ context.Context, p Proposal) (verdict.Verdict, error) {
	e, ok := p.Intent.(preview.Exec)
	if !ok {
		return verdict.Verdict{}, nil
	}
	var reasons []string
	if LooksLikeShell(e) && !slices.Contains(n.Programs, e.Program) {
		reasons = append(reasons, "COMMAND-NOT-ALLOWED")
	}
	if LoadsUnnamed(e) {
		reasons = append(reasons, "ARGUMENT-NOT-ALLOWED")
	}
	if len(reasons) == 0 {
		return verdict.Verdict{}, nil
	}
	return verdict.Deny(reasons...)
}
