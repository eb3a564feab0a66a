package main

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/proposal"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// initialise makes a new log's directory. Everything is made in a temporary
// directory beside it, synced, and renamed: so there is either nothing under
// the name or a whole log, and nothing is ever overwritten.
func initialise(cfg *Config, stdout io.Writer) error {
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return fileError(report.CodeFileUnreadable, cfg.Dir, err)
	}
	if err := mustBeFree(dir); err != nil {
		return err
	}
	parent := filepath.Dir(dir)
	tmp, err := os.MkdirTemp(parent, filepath.Base(dir)+".init-*") // for its owner alone
	if err != nil {
		return fileError(report.CodeFileUnwritable, parent, err)
	}
	made, err := build(tmp, cfg)
	if err == nil {
		err = install(tmp, dir, parent)
	}
	if err != nil {
		var said *report.Error
		var usage *usageError
		if !errors.As(err, &said) && !errors.As(err, &usage) {
			err = fileError(report.CodeFileUnwritable, dir, err)
		}
		return errors.Join(err, os.RemoveAll(tmp))
	}
	if err := say(stdout, made.text(cfg)); err != nil {
		return fmt.Errorf("the log is made and whole in %s, and what there is to say about it is lost (logd help init): %w", cfg.Dir, err)
	}
	return nil
}

// mustBeFree refuses a directory that holds anything.
func mustBeFree(dir string) error {
	if st, err := os.Lstat(dir); err == nil && st.Mode()&fs.ModeSymlink != 0 {
		return &report.Error{
			Code: report.CodeLogExists, Where: dir,
			Expected: "no directory, or an empty one", Actual: "a symbolic link, in whose place the log would be put",
			Fix: "name the directory that it leads to",
		}
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fileError(report.CodeFileUnreadable, dir, err)
	case len(entries) > 0:
		return &report.Error{
			Code: report.CodeLogExists, Where: dir,
			Expected: "no directory, or an empty one", Actual: fmt.Sprintf("one that holds %s", entries[0].Name()),
			Fix: "name another directory; init never overwrites",
		}
	}
	return nil
}

// made is what init tells about what it made.
type made struct {
	origin  string
	listed  []trust.Addition // by the genesis
	genesis string
	byUs    bool // the genesis, with a registrar's key
}

// signed returns the genesis that registrars signed elsewhere; nil where none was
// named.
func (c *Config) signed() (*dsse.Envelope, error) {
	if len(c.Genesis) == 0 {
		return nil, nil
	}
	o, err := merged(c.Genesis, proposal.Trust{})
	if err != nil {
		return nil, err
	}
	if o.Before != nil {
		return nil, usagef("--genesis %s: this proposes a change of a registry that there is, and no genesis", c.Genesis[0])
	}
	return o.Envelope()
}

// found makes a registrar's key, the keys that were asked for, and the registry
// that lists them.
func (m *made) found(dir string, cfg *Config, phrase []byte) (*dsse.Envelope, error) {
	m.byUs = true
	if err := os.Mkdir(filepath.Join(dir, keysDir), 0o700); err != nil {
		return nil, err
	}
	registrar, err := newKey(filepath.Join(dir, keysDir, registrarKey), phrase)
	if err != nil {
		return nil, err
	}
	add := []trust.Addition{{Key: trust.PublicKey(public(registrar)), Name: registrarName, Role: trust.Registrar}}
	for _, k := range cfg.Keys {
		pub, err := publicKeyOf(dir, k, phrase)
		if err != nil {
			return nil, err
		}
		add = append(add, trust.Addition{Key: trust.PublicKey(pub), Name: k.Name, Role: k.Role})
	}
	s, err := trust.NewGenesis(cfg.Origin, 1, add, nil)
	if err != nil {
		return nil, err
	}
	return trust.SignStatement(s, registrar)
}

// list reads what the genesis lists, and for which log.
func (m *made) list(genesis *dsse.Envelope) error {
	s, err := trust.DecodeStatement(genesis.Payload)
	if err != nil {
		return err
	}
	if m.origin != "" && m.origin != s.Log {
		return usagef("--origin %s: the genesis is of the log %s", m.origin, s.Log)
	}
	m.origin, m.listed = s.Log, s.Add
	return validOrigin(m.origin)
}

// build makes the whole content of a log's directory in dir and syncs it.
func build(dir string, cfg *Config) (*made, error) {
	if err := os.Mkdir(filepath.Join(dir, logDir), 0o755); err != nil {
		return nil, err
	}
	var phrase []byte
	if cfg.Encrypt {
		var err error
		if phrase, err = cfg.Phrase.making("the keys that are made"); err != nil {
			return nil, err
		}
	}
	logKey, err := newKey(filepath.Join(dir, logKeyFile), phrase)
	if err != nil {
		return nil, err
	}
	m := &made{origin: cfg.Origin}
	genesis, err := cfg.signed()
	if err == nil && genesis == nil {
		genesis, err = m.found(dir, cfg, phrase)
	}
	if err != nil {
		return nil, err
	}
	if err := m.list(genesis); err != nil {
		return nil, err
	}
	engine, err := durable.OpenDir(filepath.Join(dir, logDir))
	if err != nil {
		return nil, err
	}
	files, err := server.Create(engine, server.Founding{Origin: m.origin, LogKey: logKey, Genesis: genesis})
	if err != nil {
		return nil, err
	}
	parsed, err := trust.ParseEngines(files.Engines)
	if err != nil {
		return nil, err
	}
	m.genesis = parsed.Genesis.String()
	return m, m.finish(dir, files, cfg)
}

// finish writes the trust files and syncs the directories but the engine's own,
// which Create has synced, as key files were when they were made.
func (m *made) finish(dir string, files *server.TrustFiles, cfg *Config) error {
	tree, err := durable.OpenDir(dir)
	if err != nil {
		return err
	}
	if err := durable.WriteFile(tree, policyFile, files.Policy); err != nil {
		return err
	}
	if err := durable.WriteFile(tree, enginesFile, files.Engines); err != nil {
		return err
	}
	if m.byUs {
		if err := tree.SyncDir(keysDir); err != nil {
			return err
		}
	}
	return tree.SyncDir(".")
}

// install gives the finished directory its name.
func install(tmp, dir, parent string) error {
	// A directory is not renamed onto another everywhere; an empty one may go.
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return err
	}
	tree, err := durable.OpenDir(parent)
	if err != nil {
		return err
	}
	return tree.SyncDir(".")
}

// publicKeyOf reads the public key of k, or makes the key.
func publicKeyOf(dir string, k Registered, phrase []byte) (ed25519.PublicKey, error) {
	if k.File != "" {
		return readPublicKey(k.File)
	}
	key, err := newKey(filepath.Join(dir, keyFileName(k)), phrase)
	if err != nil {
		return nil, err
	}
	return public(key), nil
}

// text says what there is and what to do next.
func (m *made) text(cfg *Config) string {
	var b strings.Builder
	row := func(name, text string) { fmt.Fprintf(&b, "  %-28s %s\n", name, text) }
	fmt.Fprintf(&b, "The log %s is in %s:\n", m.origin, cfg.Dir)
	row(logDir+"/", "the log; leaf 0 is the genesis registry")
	row(logKeyFile, "SECRET: signs checkpoints; stays here")
	if m.byUs {
		row(filepath.Join(keysDir, registrarKey), "SECRET: signs every change of the registry; belongs on another machine")
	}
	for _, k := range cfg.Keys {
		if k.File == "" {
			row(keyFileName(k), fmt.Sprintf("SECRET: signs as %s %s; belongs where that one runs", k.Role, k.Name))
		}
	}
	row(policyFile, "trust file for verifiers: the log's key (C2SP tlog-policy)")
	row(enginesFile, "trust file for verifiers: origin and genesis")
	fmt.Fprintf(&b, "\nThe genesis registry, statement %s, lists:\n", m.genesis)
	for _, k := range m.listed {
		fmt.Fprintf(&b, "  %-9s %-18s key %s\n", k.Role, k.Name, dsse.IDOf(k.Key[:]))
	}
	if cfg.Encrypt {
		b.WriteString("\nKey files are readable by their owner alone, and encrypted.")
	} else {
		b.WriteString("\nKey files are readable by their owner alone and not encrypted; logd keys passphrase\nencrypts one.")
	}
	b.WriteString(" Next:\n")
	step := 1
	next := func(format string, args ...any) {
		fmt.Fprintf(&b, "  %d. %s\n", step, fmt.Sprintf(format, args...))
		step++
	}
	if m.byUs {
		next("Move what is in %s off this machine; the server needs none of it.", filepath.Join(cfg.Dir, keysDir))
	}
	next("Hand %s and %s to whoever verifies.", policyFile, enginesFile)
	next("logd serve --dir %s", cfg.Dir)
	return b.String()
}
