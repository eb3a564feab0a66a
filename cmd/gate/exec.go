package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// said is what a command line says about an effect.
type said struct {
	dir, class, origin string
}

func (e *said) parse() (receipt.Class, verdict.Origin, error) {
	class := receipt.Class(e.class)
	if class != receipt.Green && class != receipt.Yellow && class != receipt.Red {
		return "", verdict.Origin{}, usagef("--class is green, yellow or red")
	}
	stage, err := verdict.ParseStage(map[string]string{"replay": "deterministic_replay", "model": "llm_originated", "unknown": "unknown"}[e.origin])
	if err != nil {
		return "", verdict.Origin{}, usagef("--origin is replay, model or unknown")
	}
	return class, verdict.Whole(stage), nil
}

// cmdExec runs a command under the gate.
func cmdExec(ctx context.Context, args []string, c console) (err error) {
	f := flags("exec", helpExec, c)
	var e said
	f.StringVar(&e.dir, "dir", ".gate", "")
	f.StringVar(&e.class, "class", "green", "")
	f.StringVar(&e.origin, "origin", "unknown", "")
	stdin := f.Bool("stdin", false, "")
	if err := parse(f, args); err != nil {
		return err
	}
	class, origin, err := e.parse()
	if err != nil {
		return err
	}
	if f.NArg() == 0 {
		return usagef("exec needs a command: gate exec -- PROGRAM ARGUMENT…")
	}
	s, err := take(ctx, e.dir, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end(ctx)) }()
	command, err := s.command(f.Args())
	if err != nil {
		return err
	}
	if *stdin {
		if command.Stdin, err = io.ReadAll(c.in); err != nil {
			return err
		}
	}
	return s.exec(ctx, command, class, origin)
}

// exec judges a command, runs it, and hands on what it put out.
func (s *session) exec(ctx context.Context, command *gate.Exec, class receipt.Class, origin verdict.Origin) error {
	inheritNothing()
	j, err := s.judge(ctx, s.request(command, class, origin))
	if err != nil {
		return err
	}
	out, err := s.commit(ctx, j)
	if out != nil && out.Result != nil && out.Result.Process != nil {
		p := out.Result.Process
		_, e1 := s.out.Write(p.Stdout)
		_, e2 := s.err.Write(p.Stderr)
		err = errors.Join(err, e1, e2)
		if p.Dropped > 0 {
			s.say("%d bytes of output were dropped", p.Dropped)
		}
	}
	return err
}

// command finds the program and the variables of a command. What it finds is
// judged, not what was asked for.
func (s *session) command(argv []string) (*gate.Exec, error) {
	found, err := exec.LookPath(argv[0])
	if err == nil {
		found, err = filepath.Abs(found)
	}
	if err == nil {
		found, err = filepath.EvalSymlinks(found)
	}
	if err != nil {
		return nil, err
	}
	at, err := os.Getwd()
	if err == nil {
		at, err = filepath.EvalSymlinks(at)
	}
	if err != nil {
		return nil, err
	}
	if rel, err := filepath.Rel(s.cfg.Root, at); err != nil || !filepath.IsLocal(rel) {
		at = s.cfg.Root // the gate lets nothing in anywhere else
	}
	e := &gate.Exec{Root: s.cfg.Root, Dir: at, Program: found, Argv: slices.Clone(argv)}
	for _, name := range s.cfg.Env {
		if value, ok := os.LookupEnv(name); ok {
			e.Env = append(e.Env, name+"="+value)
		}
	}
	return e, nil
}

func sortedCodes(m map[receipt.Code]uint64) []receipt.Code { return slices.Sorted(maps.Keys(m)) }
