package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"pgregory.net/rapid"

	"github.com/obstat/obstat/audit"
	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/keyfile"
	"github.com/obstat/obstat/internal/rlog"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/laws"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"gate": main}) }

// scripts are the logs that scripts started, by the directory of the script.
type scripts struct {
	t    *testing.T
	mu   sync.Mutex
	logs map[string]*servertest.Log
}

// TestScripts runs the program against real logs in this process.
func TestScripts(t *testing.T) {
	s := &scripts{t: t, logs: map[string]*servertest.Log{}}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"log": s.start, "down": s.down, "up": s.up, "audit": s.audit, "verifies": s.verifies, "cid": scriptCID, "handover": s.handOver, "exits": scriptExits,
		},
	})
}

// log: starts a log and writes its trust files and the engine's key; $LOG is its
// URL and $SH a shell by the name that no link leads to.
func (s *scripts) start(ts *testscript.TestScript, _ bool, _ []string) {
	l := servertest.New(s.t)
	s.mu.Lock()
	s.logs[ts.Getenv("WORK")] = l
	s.mu.Unlock()
	ts.Setenv("LOG", l.URL)
	sh, err := filepath.EvalSymlinks("/bin/sh")
	ts.Check(err)
	ts.Setenv("SH", sh)
	key, err := keyfile.Marshal(servertest.Key(servertest.Engine), nil)
	ts.Check(err)
	sealed, err := keyfile.Marshal(servertest.Key(servertest.Engine), []byte("correct horse"))
	ts.Check(err)
	for name, b := range map[string][]byte{
		"log.policy": l.PolicyFile, "trust": l.EnginesFile, "engine.key": key, "sealed.key": sealed,
	} {
		ts.Check(os.WriteFile(ts.MkAbs(name), b, 0o600))
	}
}

func (s *scripts) log(ts *testscript.TestScript) *servertest.Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logs[ts.Getenv("WORK")]
}

// down: the log ends. up: it is there again, at a URL of its own, which the gate
// is told.
func (s *scripts) down(ts *testscript.TestScript, _ bool, _ []string) { s.log(ts).Stop() }

func (s *scripts) up(ts *testscript.TestScript, _ bool, _ []string) {
	l, was := s.log(ts), ts.Getenv("LOG")
	l.Start()
	ts.Setenv("LOG", l.URL)
	file := ts.MkAbs(".gate/gate.toml")
	ts.Check(os.WriteFile(file, []byte(strings.ReplaceAll(ts.ReadFile(file), was, l.URL)), 0o600))
}

// handover: the log ends, and another goes on: $HEIR is its URL. The evidence is
// written to succession.json.
func (s *scripts) handOver(ts *testscript.TestScript, _ bool, _ []string) {
	heir, evidence := s.log(ts).HandOver()
	ts.Setenv("HEIR", heir.URL)
	ts.Check(os.WriteFile(ts.MkAbs("succession.json"), evidence.Append(nil), 0o600))
}

// verifies FILE [SUCCESSION]: a bundle is verified, with what it discloses, by the functions of
// verify bundle; stdout is the report.
func (s *scripts) verifies(ts *testscript.TestScript, _ bool, args []string) {
	l := s.log(ts)
	o := bundle.Options{Policy: l.Policy, Engines: l.Engines, Require: []string{bundle.CheckDisclosures}}
	if len(args) > 1 {
		s, err := bundle.ParseSuccession([]byte(ts.ReadFile(args[1])))
		ts.Check(err)
		o.Successions = append(o.Successions, s)
	}
	r := bundle.Check([]byte(ts.ReadFile(args[0])), o)
	if r.ExitCode() != 0 {
		ts.Fatalf("%s", r.Text())
	}
	_, err := io.WriteString(ts.Stdout(), r.Text())
	ts.Check(err)
}

// audit RUN: ends the log, and holds the run to every law.
func (s *scripts) audit(ts *testscript.TestScript, _ bool, args []string) {
	l := s.log(ts)
	l.Stop()
	dir := ts.MkAbs("site")
	ts.Check(os.Mkdir(dir, 0o755))
	ts.Check(export(l, dir))
	ts.Check(lawful(l, dir, args[0]))
}

// export makes a site of a log that is stopped.
func export(l *servertest.Log, dir string) error {
	site, err := durable.OpenDir(dir)
	if err == nil {
		cfg := l.Config()
		_, err = rlog.Export(cfg.Engine(), site)
	}
	return err
}

// lawful holds a run to every law.
func lawful(l *servertest.Log, site, run string) error {
	r, err := audit.Log(os.DirFS(site), audit.Options{
		Policy: l.Policy, Engines: l.Engines, Only: &laws.Run{Principal: servertest.Engine, Name: receipt.Name(run)}, Now: 1 << 50,
	})
	if err == nil && r.ExitCode() != 0 {
		err = fmt.Errorf("run %s:\n%s", run, r.Text())
	}
	return err
}

var cidLine = regexp.MustCompile(`(?m)^gate: (?:outcome|judgment) (b[a-z2-7]{58})$`)

// cid NAME: the last statement that a command named is $NAME.
func scriptCID(ts *testscript.TestScript, _ bool, args []string) {
	all := cidLine.FindAllStringSubmatch(ts.ReadFile("stderr"), -1)
	if len(all) == 0 {
		ts.Fatalf("no statement was named")
	}
	ts.Setenv(args[0], all[len(all)-1][1])
}

// exits N COMMAND…
func scriptExits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit status %d, want %s", code, args[0])
	}
}

// Nothing in a preview makes a terminal do anything, and nothing is lost.
func TestVisibleProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := string(rapid.SliceOf(rapid.Byte()).Draw(t, "raw")) + rapid.SampledFrom([]string{"", "\x1b[2J", "\u202e", "\u200b", "\r", "\x7f", "\u2028", "ä"}).Draw(t, "more")
		shown, escaped := visible(raw)
		if strings.ContainsFunc(shown, func(r rune) bool {
			return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || r == '\u202e' || r == '\u200b' || r == '\u2028' || r == '\ufffd' && !strings.Contains(raw, "\ufffd")
		}) {
			t.Fatalf("%q shows %q", raw, shown)
		}
		if escaped == (shown == raw) {
			t.Fatalf("%q shows %q, escaped: %v", raw, shown, escaped)
		}
	})
}

func TestOnlyYesConsents(t *testing.T) {
	for in, want := range map[string]bool{
		"yes\n": true, "yes\r\n": true, "yes": true, "yes\nmore": true,
		"": false, "\n": false, "y\n": false, "Yes\n": false, " yes\n": false, "yes \n": false, "yes!\n": false, "no\n": false,
		strings.Repeat("yes", 100): false,
	} {
		if got, err := answer(strings.NewReader(in)); err != nil || got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	r := strings.NewReader("yes\nrest")
	if _, err := answer(r); err != nil || r.Len() != 4 {
		t.Errorf("%d bytes are left, %v", r.Len(), err)
	}
}
