package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/durable"
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
		if !errors.As(err, &said) {
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
	keys    []madeKey
	genesis string
}

type madeKey struct {
	Registered
	public ed25519.PublicKey
}

// build makes the whole content of a log's directory in dir and syncs it.
func build(dir string, cfg *Config) (*made, error) {
	if err := os.Mkdir(filepath.Join(dir, keysDir), 0o700); err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(dir, logDir), 0o755); err != nil {
		return nil, err
	}
	logKey, err := makeKey(filepath.Join(dir, logKeyFile))
	if err != nil {
		return nil, err
	}
	registrar, err := makeKey(filepath.Join(dir, keysDir, registrarKey))
	if err != nil {
		return nil, err
	}
	m := &made{keys: []madeKey{{
		Registered{Role: trust.Registrar, Name: registrarName}, registrar.Public().(ed25519.PublicKey),
	}}}
	var additions []trust.Addition
	for _, k := range cfg.Keys {
		public, err := publicKeyOf(dir, k)
		if err != nil {
			return nil, err
		}
		m.keys = append(m.keys, madeKey{k, public})
		additions = append(additions, trust.Addition{Key: trust.PublicKey(public), Name: k.Name, Role: k.Role})
	}
	engine, err := durable.OpenDir(filepath.Join(dir, logDir))
	if err != nil {
		return nil, err
	}
	files, err := server.Create(engine, server.Founding{
		Origin: cfg.Origin, LogKey: logKey, RegistrarName: registrarName, RegistrarKey: registrar, Keys: additions,
	})
	if err != nil {
		return nil, err
	}
	parsed, err := trust.ParseEngines(files.Engines)
	if err != nil {
		return nil, err
	}
	m.genesis = parsed.Genesis.String()
	return m, finish(dir, files, cfg)
}

// finish writes the trust files and syncs everything but the engine's own
// directory, which Create has synced.
func finish(dir string, files *server.TrustFiles, cfg *Config) error {
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
	names := []string{logKeyFile, keysDir + "/" + registrarKey}
	for _, k := range cfg.Keys {
		if k.File == "" {
			names = append(names, filepath.ToSlash(keyFileName(k)))
		}
	}
	for _, name := range names {
		if err := syncFile(tree, name); err != nil {
			return err
		}
	}
	if err := tree.SyncDir(keysDir); err != nil {
		return err
	}
	return tree.SyncDir(".")
}

func syncFile(tree durable.FS, name string) error {
	f, err := tree.Append(name)
	if err != nil {
		return err
	}
	if err := f.SyncData(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
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
func publicKeyOf(dir string, k Registered) (ed25519.PublicKey, error) {
	if k.File != "" {
		return readPublicKey(k.File)
	}
	key, err := makeKey(filepath.Join(dir, keyFileName(k)))
	if err != nil {
		return nil, err
	}
	return key.Public().(ed25519.PublicKey), nil
}

func makeKey(file string) (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	return key, writePrivateKey(file, key)
}

// text says what there is and what to do next.
func (m *made) text(cfg *Config) string {
	var b strings.Builder
	row := func(name, text string) { fmt.Fprintf(&b, "  %-28s %s\n", name, text) }
	fmt.Fprintf(&b, "The log %s is in %s:\n", cfg.Origin, cfg.Dir)
	row(logDir+"/", "the log; leaf 0 is the genesis registry")
	row(logKeyFile, "SECRET: signs checkpoints; stays here")
	row(filepath.Join(keysDir, registrarKey), "SECRET: signs every change of the registry; belongs on another machine")
	for _, k := range m.keys {
		if k.Role != trust.Registrar && k.File == "" {
			row(keyFileName(k.Registered), fmt.Sprintf("SECRET: signs as %s %s; belongs where that one runs", k.Role, k.Name))
		}
	}
	row(policyFile, "trust file for verifiers: the log's key (C2SP tlog-policy)")
	row(enginesFile, "trust file for verifiers: origin and genesis")
	fmt.Fprintf(&b, "\nThe genesis registry, statement %s, lists:\n", m.genesis)
	for _, k := range m.keys {
		fmt.Fprintf(&b, "  %-9s %-18s key %s\n", k.Role, k.Name, dsse.IDOf(k.public))
	}
	fmt.Fprintf(&b, `
Key files are readable by their owner alone and not encrypted. Next:
  1. Move what is in %s off this machine; the server needs none of it.
  2. Hand %s and %s to whoever verifies.
  3. logd serve --dir %s
`, filepath.Join(cfg.Dir, keysDir), policyFile, enginesFile, cfg.Dir)
	return b.String()
}
