package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"

	"github.com/obstat/obstat/trust"
	"github.com/obstat/obstat/verdict"
)

// defaultListen is loopback: reads are open to whoever reaches the port, so
// letting others reach it is a choice.
const defaultListen = "127.0.0.1:8080"

// Config is everything that a command line says. validate is the one place
// where it is judged.
type Config struct {
	Dir    string       // init, serve: the log's directory
	Origin string       // init: the log's name
	Keys   []Registered // init: engines and approvers, in the order given
	Listen string       // serve: host:port
}

// Registered is a key that init puts into the genesis registry.
type Registered struct {
	Role trust.Role
	Name string // the principal
	File string // of its public key; empty where init makes the key
}

func (c *Config) validate(forInit bool) error {
	if c.Dir == "" {
		return usagef("--dir is needed: the log's directory")
	}
	if !forInit {
		if _, _, err := net.SplitHostPort(c.Listen); err != nil {
			return usagef("--listen %s is not host:port: %v", c.Listen, err)
		}
		return nil
	}
	if c.Origin == "" {
		return usagef("--origin is needed: the log's name for ever, such as log.example.com/effects")
	}
	if !verdict.ValidName(c.Origin) || strings.Contains(c.Origin, "+") {
		return usagef("--origin %q is not 1 to %d characters of A-Z a-z 0-9 . _ / @ : -", c.Origin, verdict.MaxName)
	}
	engines := 0
	for _, k := range c.Keys {
		if !verdict.ValidName(k.Name) {
			return usagef("the name %q is not 1 to %d characters of A-Z a-z 0-9 . _ / @ : + -", k.Name, verdict.MaxName)
		}
		if k.Name == registrarName {
			return usagef("the name %q is the registrar's", k.Name)
		}
		if k.Role == trust.Engine {
			engines++
		}
	}
	if engines == 0 {
		return usagef("an engine is needed, or nothing could ever be logged: --engine NAME=PUBLIC.pem or --make-engine NAME")
	}
	return nil
}

// parseInit reads the command line of init.
func parseInit(args []string, stdout io.Writer) (*Config, error) {
	c := &Config{}
	f := newFlags("init")
	f.StringVar(&c.Dir, "dir", "", "")
	f.StringVar(&c.Origin, "origin", "", "")
	for _, role := range []trust.Role{trust.Engine, trust.Approver} {
		f.Func(string(role), "", func(s string) error {
			name, file, ok := strings.Cut(s, "=")
			if !ok || file == "" {
				return errors.New("it is NAME=FILE, FILE holding the public key as PEM")
			}
			c.Keys = append(c.Keys, Registered{Role: role, Name: name, File: file})
			return nil
		})
		f.Func("make-"+string(role), "", func(name string) error {
			c.Keys = append(c.Keys, Registered{Role: role, Name: name})
			return nil
		})
	}
	return c, parse(c, f, args, helpInit, stdout, true)
}

// parseServe reads the command line of serve.
func parseServe(args []string, stdout io.Writer) (*Config, error) {
	c := &Config{}
	f := newFlags("serve")
	f.StringVar(&c.Dir, "dir", "", "")
	f.StringVar(&c.Listen, "listen", defaultListen, "")
	return c, parse(c, f, args, helpServe, stdout, false)
}

func newFlags(name string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	return f
}

// parse reads args into the variables of f, and judges c.
func parse(c *Config, f *flag.FlagSet, args []string, help string, stdout io.Writer, forInit bool) error {
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, help)
		return err
	} else if err != nil {
		return usagef("%s: %v; logd help %s says more", f.Name(), err, f.Name())
	}
	if f.NArg() > 0 {
		return usagef("%s: %q is no flag, and there are no other arguments", f.Name(), f.Arg(0))
	}
	return c.validate(forInit)
}

// Names inside a log's directory.
const (
	logDir       = "log"        // of the engine
	logKeyFile   = "log.key"    // signs checkpoints
	keysDir      = "keys"       // what belongs elsewhere
	policyFile   = "log.policy" // trust file: C2SP tlog-policy
	enginesFile  = "trust"      // trust file: origin and genesis
	registrarKey = "registrar.key"

	registrarName = "registrar" // the principal
)

// keyFileName is where init puts the key it makes for k: the role and the name,
// escaped so that every name is a file name of its own.
func keyFileName(k Registered) string {
	var b strings.Builder
	b.WriteString(string(k.Role) + "-")
	for i := range len(k.Name) {
		switch c := k.Name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-', c == '@':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	b.WriteString(".key")
	return filepath.Join(keysDir, b.String())
}
