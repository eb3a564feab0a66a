package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/obstat/obstat/trust"
	"github.com/obstat/obstat/verdict"
)

// defaultListen is loopback: reads are open to whoever reaches the port, so
// letting others reach it is a choice.
const defaultListen = "127.0.0.1:8080"

// Config is everything that a command line says. The validate methods are the
// places where it is judged.
type Config struct {
	Dir    string       // the log's directory
	Origin string       // init: the log's name
	Keys   []Registered // init: engines and approvers, in the order given

	Genesis []string    // init: copies of a signed proposal, instead of Keys
	Encrypt bool        // init: key files that are made
	Phrase  passphrases // of key files

	Listen             string   // serve: host:port
	Public             bool     // serve: reads are for everybody
	Anchors            []string // serve: files on other volumes that hold the newest checkpoint, and witnesses by URL
	UnreachableAnchors bool     // serve: this start goes on without those that cannot be asked
	TLSCert, TLSKey    string   // serve: files; empty for plain HTTP
	AdminSocket        string   // serve: of a Unix socket for the operator; empty for none
	MetricsListen      string   // serve: host:port for Prometheus; empty for none
	LogFormat          string   // serve: text or json
	LogLevel           string   // serve: debug, info, warn or error

	given []*setting // serve: who said what

	To string // export: where the site is made
}

// Registered is a key that init puts into the genesis registry.
type Registered struct {
	Role trust.Role
	Name string // the principal
	File string // of its public key; empty where init makes the key
}

// flag is how the command line says it.
func (k Registered) flag() string {
	if k.File == "" {
		return fmt.Sprintf("--make-%s %s", k.Role, k.Name)
	}
	return fmt.Sprintf("--%s %s=%s", k.Role, k.Name, k.File)
}

func (c *Config) validateDir() error {
	if c.Dir == "" {
		return usagef("--dir is needed: the log's directory")
	}
	return nil
}

func (c *Config) validateInit() error {
	if err := c.validateDir(); err != nil {
		return err
	}
	if c.Phrase.file != "" && !c.Encrypt {
		return usagef("--passphrase-file says nothing without --encrypt")
	}
	if len(c.Genesis) > 0 {
		if len(c.Keys) > 0 {
			return usagef("%s: a genesis that registrars signed lists its keys already", c.Keys[0].flag())
		}
		return nil
	}
	if err := validOrigin(c.Origin); err != nil {
		return err
	}
	engines := 0
	made, roles := map[Registered]bool{}, map[string]trust.Role{}
	for _, k := range c.Keys {
		if !verdict.ValidName(k.Name) {
			return usagef("the name %q is not 1 to %d characters of A-Z a-z 0-9 . _ / @ : + -", k.Name, verdict.MaxName)
		}
		if k.Name == registrarName {
			return usagef("the name %q is the registrar's", k.Name)
		}
		if role, ok := roles[k.Name]; ok && role != k.Role {
			return usagef("%s cannot be both %s and %s: nobody approves what he does himself", k.Name, role, k.Role)
		}
		if made[k] {
			return usagef("%s stands twice", k.flag())
		}
		made[k], roles[k.Name] = true, k.Role
		if k.Role == trust.Engine {
			engines++
		}
	}
	if engines == 0 {
		return usagef("an engine is needed, or nothing could ever be logged: --engine NAME=PUBLIC.pem or --make-engine NAME")
	}
	return nil
}

// validOrigin refuses a name that could not be the log's for ever.
func validOrigin(origin string) error {
	switch _, bare, scheme := strings.Cut(origin, "://"); {
	case origin == "":
		return usagef("--origin is needed: the log's name for ever, such as log.example.com/effects")
	case scheme:
		return usagef("--origin %q has a scheme; an origin is a name and no URL: %s", origin, strings.TrimSuffix(bare, "/"))
	case !verdict.ValidName(origin) || strings.Contains(origin, "+"):
		return usagef("--origin %q is not 1 to %d characters of A-Z a-z 0-9 . _ / @ : -", origin, verdict.MaxName)
	}
	return nil
}

func (c *Config) validateAddress(name, address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return usagef("%s %s is not host:port: %v", c.said(name), address, err)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return usagef("%s %s: a port is a number from 0 to 65535", c.said(name), address)
	}
	return nil
}

func (c *Config) validateServe() error {
	if err := c.validateDir(); err != nil {
		return err
	}
	if err := c.validateAddress("listen", c.Listen); err != nil {
		return err
	}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		return usagef("%s and %s are needed together", c.said("tls.cert"), c.said("tls.key"))
	}
	if c.MetricsListen != "" {
		if err := c.validateAddress("metrics.listen", c.MetricsListen); err != nil {
			return err
		}
	}
	if c.UnreachableAnchors && len(c.Anchors) == 0 {
		return usagef("--allow-unreachable-anchors says nothing without --anchor")
	}
	seen, anchor := map[string]bool{}, c.said("anchor")
	for _, file := range c.Anchors {
		if strings.Contains(file, "://") {
			u, err := url.Parse(file)
			switch {
			case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
				return usagef("%s %s is neither a file nor the http or https monitoring prefix of a witness", anchor, file)
			case seen[strings.TrimSuffix(file, "/")]:
				return usagef("%s %s stands twice", anchor, file)
			}
			seen[strings.TrimSuffix(file, "/")] = true
			continue
		}
		switch place := real(file); {
		case file == "":
			return usagef("%s is a file outside of --dir", anchor)
		case within(real(c.Dir), place):
			return usagef("%s %s is inside of --dir %s: whoever rolls one back rolls back the other", anchor, file, c.Dir)
		case seen[place]:
			return usagef("%s %s stands twice", anchor, file)
		default:
			seen[place] = true
		}
	}
	return c.validateLogging()
}

// real is the place of a file, which need not exist: absolute, and without the
// symbolic links of as much of it as does.
func real(file string) string {
	abs, err := filepath.Abs(file)
	if err != nil {
		return file
	}
	rest := ""
	for at := abs; ; at = filepath.Dir(at) {
		if found, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(found, rest)
		}
		if at == filepath.Dir(at) {
			return abs
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

func within(dir, file string) bool {
	rel, err := filepath.Rel(dir, file)
	return err == nil && filepath.IsLocal(rel)
}

// phraseFlag is how a command is told the passphrase of a key file.
func (c *Config) phraseFlag(f *flag.FlagSet) {
	once(f, "passphrase-file", &c.Phrase.file)
	c.Phrase.env = passphraseEnv
}

// parseInit reads the command line of init.
func parseInit(args []string, stdout io.Writer) (*Config, error) {
	c := &Config{}
	f := newFlags("init")
	once(f, "dir", &c.Dir)
	once(f, "origin", &c.Origin)
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
	f.Func("genesis", "", func(file string) error {
		c.Genesis = append(c.Genesis, file)
		return nil
	})
	f.BoolVar(&c.Encrypt, "encrypt", false, "")
	c.phraseFlag(f)
	if err := parse(f, args, helpInit, stdout); err != nil {
		return nil, err
	}
	return c, c.validateInit()
}

// parseServe reads what serve is told: the command line, the environment and the
// file of settings.
func parseServe(args, environ []string, stdout io.Writer) (*Config, error) {
	c := &Config{}
	if err := c.setup("serve", args, environ, helpServe, stdout); err != nil {
		return nil, err
	}
	return c, c.validateServe()
}

// parseDir reads the command line of a command that is given a directory and
// nothing else.
func parseDir(command, help string, args []string, stdout io.Writer) (*Config, error) {
	c := &Config{}
	f := newFlags(command)
	once(f, "dir", &c.Dir)
	c.phraseFlag(f)
	if err := parse(f, args, help, stdout); err != nil {
		return nil, err
	}
	return c, c.validateDir()
}

// parseExport reads the command line of export.
func parseExport(args []string, stdout io.Writer) (*Config, error) {
	c := &Config{}
	f := newFlags("export")
	once(f, "dir", &c.Dir)
	once(f, "to", &c.To)
	c.phraseFlag(f)
	if err := parse(f, args, helpExport, stdout); err != nil {
		return nil, err
	}
	return c, c.validateExport()
}

func (c *Config) validateExport() error {
	if err := c.validateDir(); err != nil {
		return err
	}
	if c.To == "" {
		return usagef("--to is needed: the directory to make the site in")
	}
	if within(real(c.Dir), real(c.To)) {
		return usagef("--to %s is inside of --dir %s, which is the log's alone", c.To, c.Dir)
	}
	return nil
}

// once defines a flag that may stand once: of two, one would be obeyed and the
// other not.
func once(f *flag.FlagSet, name string, value *string) {
	given := false
	f.Func(name, "", func(s string) error {
		switch {
		case given:
			return errors.New("it stands twice")
		case s == "":
			return errors.New("it is empty")
		}
		given, *value = true, s
		return nil
	})
}

func newFlags(name string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	return f
}

// parse reads args into the variables of f.
func parse(f *flag.FlagSet, args []string, help string, stdout io.Writer) error {
	if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
		if err := say(stdout, help); err != nil {
			return err
		}
		return flag.ErrHelp
	} else if err != nil {
		return usagef("%s: %v; logd help %s says more", f.Name(), err, f.Name())
	}
	if f.NArg() > 0 {
		return usagef("%s: %q is no flag, and there are no other arguments", f.Name(), f.Arg(0))
	}
	return nil
}

// Names inside a log's directory.
const (
	logDir       = "log"        // of the engine
	indexDir     = "index"      // what is derived from the log
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
