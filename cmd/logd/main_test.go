package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/keyfile"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/trust"
)

// beLogd makes this test binary the program, so that tests need no build.
const beLogd = "OBSTAT_TEST_BE_LOGD"

func TestMain(m *testing.M) {
	if os.Getenv(beLogd) != "" {
		main()
	}
	testscript.Main(m, map[string]func(){"logd": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"empty":    scriptEmpty,
			"exits":    scriptExits,
			"perm":     scriptPerm,
			"start":    scriptStart,
			"end":      scriptEnd,
			"url":      scriptURL,
			"flip":     scriptFlip,
			"request":  scriptRequest,
			"opening":  scriptOpening,
			"verified": scriptVerified,
			"unset":    scriptUnset,
		},
	})
}

// TestScriptsRunToTheirEnd: testscript's own stop ends a script as passed, so no
// script may say it.
func TestScriptsRunToTheirEnd(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	for _, file := range scripts {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if at := regexp.MustCompile(`(?m)^(\[.*\] )?stop\b.*$`).FindString(string(b)); at != "" {
			t.Errorf("%s: %q ends it", file, at)
		}
	}
}

// process is a server in a process of its own.
type process struct {
	cmd    *exec.Cmd
	url    string
	stderr *bytes.Buffer
}

// launch starts logd serve and waits for its URL.
func launch(dir string, args ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := []string{"serve", "--dir", dir}
	if !slices.Contains(args, "--listen") {
		command = append(command, "--listen", "127.0.0.1:0")
	}
	p := &process{cmd: exec.Command(self, append(command, args...)...), stderr: &bytes.Buffer{}}
	p.cmd.Env = append(os.Environ(), beLogd+"=1")
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		err = errors.Join(err, p.cmd.Wait())
		return nil, fmt.Errorf("logd serve: %w\n%s", err, p.stderr)
	}
	p.url = strings.TrimSpace(line)
	return p, nil
}

// end sends a signal and waits.
func (p *process) end(sig os.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil {
		return err
	}
	return p.cmd.Wait()
}

// scriptExits: exits CODE logd ARG...
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

// scriptUnset: unset takes away all variables of the program.
func scriptUnset(ts *testscript.TestScript, _ bool, _ []string) {
	for _, s := range (&Config{}).settings() {
		ts.Setenv(variableOf(s.name), "")
	}
}

// scriptEmpty: empty DIR
func scriptEmpty(ts *testscript.TestScript, _ bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(entries) > 0 {
		ts.Fatalf("%s holds %s", args[0], entries[0].Name())
	}
}

// scriptPerm: perm MODE FILE
func scriptPerm(ts *testscript.TestScript, _ bool, args []string) {
	st, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", st.Mode().Perm()); got != args[0] && runtime.GOOS != "windows" {
		ts.Fatalf("%s has mode %s, want %s", args[1], got, args[0])
	}
}

// scriptStart: start DIR [ARG...]. It sets $URL and $PID. An argument that begins
// with @ is a file of the script.
func scriptStart(ts *testscript.TestScript, _ bool, args []string) {
	more := slices.Clone(args[1:])
	for i, a := range more {
		if file, ok := strings.CutPrefix(a, "@"); ok {
			more[i] = ts.MkAbs(file)
		}
	}
	p, err := launch(ts.MkAbs(args[0]), more...)
	ts.Check(err)
	ts.Setenv("URL", p.url)
	ts.Setenv("PID", strconv.Itoa(p.cmd.Process.Pid))
	processes.Store(ts.Getenv("WORK"), p)
	ts.Defer(func() {
		if p.cmd.ProcessState == nil {
			_ = p.end(os.Kill)
		}
	})
}

// scriptURL: url PATTERN matches what the server printed.
func scriptURL(ts *testscript.TestScript, _ bool, args []string) {
	if ok, err := regexp.MatchString(args[0], ts.Getenv("URL")); err != nil || !ok {
		ts.Fatalf("the URL is %s, %v", ts.Getenv("URL"), err)
	}
}

// scriptFlip: flip FILE BYTE changes one bit.
func scriptFlip(ts *testscript.TestScript, _ bool, args []string) {
	b := []byte(ts.ReadFile(args[0]))
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	b[at] ^= 1
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o644))
}

// processes are the servers of the scripts that run, by working directory.
var processes sync.Map // of string to *process

// scriptEnd: end FILE ends the server as an init system would; FILE gets
// what it wrote to standard error.
func scriptEnd(ts *testscript.TestScript, _ bool, args []string) {
	stored, ok := processes.Load(ts.Getenv("WORK"))
	if !ok {
		ts.Fatalf("nothing was started")
	}
	p := stored.(*process)
	ts.Check(p.end(syscall.SIGTERM))
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), p.stderr.Bytes(), 0o644))
}

// scriptRequest: request METHOD PATH ANSWER [TYPE BODY]. ANSWER gets the body,
// ANSWER.status the status and what a caller needs of the header.
func scriptRequest(ts *testscript.TestScript, _ bool, args []string) {
	var body io.Reader
	if len(args) > 3 {
		body = strings.NewReader(ts.ReadFile(args[4]))
	}
	req, err := http.NewRequestWithContext(context.Background(), args[0], ts.Getenv("URL")+args[1], body)
	ts.Check(err)
	req.Close = true
	if len(args) > 3 {
		req.Header.Set("Content-Type", args[3])
	}
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), b, 0o644))
	status := fmt.Sprintf("%d %s %s\n", resp.StatusCode, resp.Header.Get("Content-Type"), resp.Header.Get(server.RepeatHeader))
	ts.Check(os.WriteFile(ts.MkAbs(args[2]+".status"), []byte(status), 0o644))
}

// scriptOpening: opening RUN KEYFILE FILE writes a run-open as DSSE JSON.
func scriptOpening(ts *testscript.TestScript, _ bool, args []string) {
	key, err := keyfile.Read(ts.MkAbs(args[1]), nil)
	ts.Check(err)
	env, err := opening(args[0], key)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), env.JSON(), 0o644))
}

func opening(run string, key ed25519.PrivateKey) (*dsse.Envelope, error) {
	by := receipt.KeyID(dsse.IDOf(key.Public().(ed25519.PublicKey)))
	d := receipttest.NewRun(by, receipt.Name(run)).Add(receipttest.Open("example.com/log"))
	return dsse.Sign(dsse.ReceiptType, d.Payload(), key)
}

// scriptVerified: verified BUNDLE DIR [SUCCESSION], under the trust files in DIR.
func scriptVerified(ts *testscript.TestScript, neg bool, args []string) {
	policy, err := trust.ParsePolicy([]byte(ts.ReadFile(filepath.Join(args[1], policyFile))))
	ts.Check(err)
	engines, err := trust.ParseEngines([]byte(ts.ReadFile(filepath.Join(args[1], enginesFile))))
	ts.Check(err)
	o := bundle.Options{Policy: policy, Engines: engines}
	if len(args) > 2 {
		s, err := bundle.ParseSuccession([]byte(ts.ReadFile(args[2])))
		ts.Check(err)
		o.Successions = append(o.Successions, s)
	}
	r := bundle.Check([]byte(ts.ReadFile(args[0])), o)
	if (r.ExitCode() == 0) == neg {
		ts.Fatalf("exit %d\n%s", r.ExitCode(), r.Text())
	}
}
