package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/obstat/obstat/trust"
)

// What a log for trying things out is called, and who writes there.
const (
	devOrigin   = "localhost/dev"
	devEngine   = "dev"
	devApprover = "me"
	devRules    = "rules.cedar"
)

// devPolicy admits everything but what changes another machine, so that a first
// refusal is one command away.
const devPolicy = `permit (principal, action, resource);

@reason("ARGUMENT-NOT-ALLOWED")
forbid (principal, action == Action::"exec", resource)
when { context.args.contains("push") };
`

// parseDev reads the command line of dev.
func parseDev(args []string, stdout io.Writer) (*Config, error) {
	c := &Config{}
	f := newFlags("dev")
	once(f, "dir", &c.Dir)
	once(f, "listen", &c.Listen)
	if err := parse(f, args, helpDev, stdout); err != nil {
		return nil, err
	}
	listen := c.Listen
	c.given = c.settings()
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	c.Listen = listen
	return c, c.validateAddress("listen", c.Listen)
}

// dev serves a log with keys of its own, in a directory that goes when it ends
// unless the caller named one.
func dev(ctx context.Context, cfg *Config, stdout, stderr io.Writer) (err error) {
	kept := cfg.Dir != ""
	if !kept {
		tmp, err := os.MkdirTemp("", "obstat-dev-")
		if err != nil {
			return fmt.Errorf("a temporary directory: %w", err)
		}
		defer os.RemoveAll(tmp)
		cfg.Dir = filepath.Join(tmp, "log")
	}
	if _, err := os.Stat(filepath.Join(cfg.Dir, policyFile)); errors.Is(err, os.ErrNotExist) {
		made := *cfg
		made.Origin = devOrigin
		made.Keys = []Registered{{Role: trust.Engine, Name: devEngine}, {Role: trust.Approver, Name: devApprover}}
		if err := errors.Join(made.validateInit(), initialise(&made, io.Discard)); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(cfg.Dir, devRules), []byte(devPolicy), 0o644); err != nil {
			return err
		}
	}
	if socket := filepath.Join(cfg.Dir, "admin.sock"); len(socket) <= maxSocketPath {
		cfg.AdminSocket = socket
	}
	cfg.LogLevel = "warn"
	first, rest := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := serve(ctx, cfg, rest, stderr)
		rest.CloseWithError(err)
		done <- err
	}()
	url, err := io.ReadAll(&line{r: first})
	if err != nil {
		return errors.Join(err, <-done)
	}
	if err := say(stdout, devText(cfg, strings.TrimSpace(string(url)), kept)); err != nil {
		return err
	}
	return <-done
}

// line reads one line.
type line struct {
	r     io.Reader
	ended bool
}

func (l *line) Read(p []byte) (int, error) {
	if l.ended {
		return 0, io.EOF
	}
	n, err := l.r.Read(p)
	if n > 0 && p[n-1] == '\n' {
		l.ended = true
	}
	return n, err
}

// devText says what to try next, as commands that can be copied.
func devText(cfg *Config, url string, kept bool) string {
	beside := func(program string) string {
		if dir, _ := filepath.Split(os.Args[0]); dir != "" {
			return dir + program
		}
		return program
	}
	of := func(name string) string { return filepath.Join(cfg.Dir, name) }
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", url)
	fmt.Fprintf(&b, "A log for trying things out, in %s, with keys that nobody should trust.\n", cfg.Dir)
	if kept {
		fmt.Fprintf(&b, "It goes on with the same log when it is started again.\n")
	} else {
		fmt.Fprintf(&b, "It is deleted when this ends; --dir DIR keeps it. Ctrl-C ends it.\n")
	}
	fmt.Fprintf(&b, "\nIn another terminal, put a gate before a command, and see one refused:\n\n")
	gate := beside("gate")
	fmt.Fprintf(&b, "  %s init --dir .gate --log %s --policy %s --trust %s --key %s --rules %s\n", gate, url, of(policyFile), of(enginesFile), of(keyFileName(Registered{Role: trust.Engine, Name: devEngine})), of(devRules))
	fmt.Fprintf(&b, "  %s run open first\n  %s exec -- echo hello\n  %s exec -- git push\n  %s run close\n", gate, gate, gate, gate)
	fmt.Fprintf(&b, "\nWhat does the log hold, and does it hold together?\n\n")
	fmt.Fprintf(&b, "  curl '%s/v1/search?verdict=deny'\n", url)
	fmt.Fprintf(&b, "  %s log --policy %s --trust %s %s\n", beside("verify"), of(policyFile), of(enginesFile), of(filepath.Join(logDir, "site")))
	if cfg.AdminSocket != "" {
		fmt.Fprintf(&b, "\nHow is it?\n\n  curl --unix-socket %s http://x/status\n", cfg.AdminSocket)
	}
	return b.String()
}
