package main

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// configName is the file of settings in a gate's directory.
const configName = "gate.toml"

// Config is gate.toml. Paths are absolute.
type Config struct {
	Log string `toml:"log"` // URL
	// Successions are files below the gate's directory that lead from the log of
	// Policy and Trust to the one at Log, where that one ended.
	Successions []string `toml:"successions,omitempty"`
	Policy      string   `toml:"policy"` // tlog-policy file: log keys, witnesses
	Trust       string   `toml:"trust"`  // engine trust file: whose receipts are believed
	Key         string   `toml:"key"`    // private key of the engine, PEM
	Rules       string   `toml:"rules"`  // Cedar policies
	Root        string   `toml:"root"`   // directory that effects are let into
	Agent       string   `toml:"agent"`  // principal of the policies
	// Env are names of variables that commands get from the gate's environment;
	// they get no others.
	Env []string `toml:"env"`
	// Check is a command that runs on what apply has changed.
	Check []string `toml:"check"`
	// Patience is how long an escalation waits.
	Patience string `toml:"patience"`
	// Mode is what an effect waits for: one of the modes, empty for strict.
	Mode string `toml:"mode"`
	// FailOpen are faults over which effects happen unjudged.
	FailOpen []receipt.Code `toml:"fail_open"`
}

// What an effect waits for.
const (
	modeStrict    = "strict"    // the log has proven that it holds the judgment
	modeWitnessed = "witnessed" // and the witnesses of the policy have cosigned it
	modeRelaxed   = "relaxed"   // the judgment is kept on this machine
)

func readConfig(dir string) (*Config, error) {
	b, err := os.ReadFile(filepath.Join(dir, configName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is no gate's directory: make one with gate init", dir)
	}
	if err != nil {
		return nil, err
	}
	var c Config
	err = toml.NewDecoder(bytes.NewReader(b)).DisallowUnknownFields().Decode(&c)
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) {
		err = fmt.Errorf("there is no such setting:\n%s", strict.String())
	}
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, configName), err)
	}
	return &c, nil
}

func (c *Config) check() error {
	for name, path := range map[string]string{"policy": c.Policy, "trust": c.Trust, "key": c.Key, "rules": c.Rules, "root": c.Root} {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("%s: %q is no absolute path", name, path)
		}
	}
	if !verdict.ValidName(c.Agent) {
		return fmt.Errorf("agent: %q is no name of 1 to %d bytes from [A-Za-z0-9._/@:+-]", c.Agent, verdict.MaxName)
	}
	if !slices.Contains([]string{"", modeStrict, modeWitnessed, modeRelaxed}, c.Mode) {
		return fmt.Errorf("mode: %q is not %s, %s or %s", c.Mode, modeStrict, modeWitnessed, modeRelaxed)
	}
	if d, err := time.ParseDuration(c.Patience); err != nil || d < time.Millisecond || d%time.Millisecond != 0 {
		return fmt.Errorf("patience: %q is no time of whole milliseconds, such as 5m", c.Patience)
	}
	return nil
}

// cmdInit makes a gate's directory.
func cmdInit(args []string, c console) error {
	f := flags("init", helpInit, c)
	dir := f.String("dir", "", "")
	cfg := Config{Env: []string{"PATH", "HOME", "LANG", "TZ"}}
	f.StringVar(&cfg.Log, "log", "", "")
	f.StringVar(&cfg.Policy, "policy", "", "")
	f.StringVar(&cfg.Trust, "trust", "", "")
	f.StringVar(&cfg.Key, "key", "", "")
	f.StringVar(&cfg.Rules, "rules", "", "")
	f.StringVar(&cfg.Root, "root", ".", "")
	f.StringVar(&cfg.Agent, "agent", "agent", "")
	f.StringVar(&cfg.Patience, "patience", "5m", "")
	f.StringVar(&cfg.Mode, "mode", modeStrict, "")
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return usagef("init takes no arguments: %q", f.Arg(0))
	}
	for name, value := range map[string]string{"dir": *dir, "log": cfg.Log, "policy": cfg.Policy, "trust": cfg.Trust, "rules": cfg.Rules} {
		if value == "" {
			return usagef("--%s is needed", name)
		}
	}
	if _, err := os.Stat(filepath.Join(*dir, configName)); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is a gate's directory already", *dir)
	}
	paths := []*string{&cfg.Policy, &cfg.Trust, &cfg.Rules, &cfg.Root}
	if cfg.Key != "" {
		paths = append(paths, &cfg.Key)
	}
	for _, p := range paths {
		if err := resolve(p); err != nil {
			return err
		}
	}
	return initDir(*dir, &cfg, c)
}

// resolve makes a path absolute, without links.
func resolve(path *string) error {
	abs, err := filepath.Abs(*path)
	if err != nil {
		return err
	}
	*path, err = filepath.EvalSymlinks(abs)
	return err
}

// initDir makes the directory, and the engine's key where there is none. The
// settings come last: what has none is no gate's directory.
func initDir(dir string, cfg *Config, c console) error {
	made := cfg.Key == ""
	if made {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		cfg.Key = filepath.Join(abs, keysName, keyName)
	}
	if err := cfg.check(); err != nil {
		return usagef("%v", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tree, err := durable.OpenDir(dir)
	if err != nil {
		return err
	}
	if made {
		if err := makeKey(tree); err != nil {
			return err
		}
	}
	key, err := readKey(cfg.Key)
	if err != nil {
		return err
	}
	b, err := cfg.text()
	if err != nil {
		return err
	}
	if err := durable.WriteFile(tree, configName, b); err != nil {
		return err
	}
	c.say("made %s; now: gate run open --dir %s NAME", filepath.Join(dir, configName), dir)
	if made {
		c.say("the log has to list this engine first. Give its registrar %s and a name for it:", filepath.Join(dir, keysName, publicName))
		c.say("engine key %s", dsse.IDOf(key.Public().(ed25519.PublicKey)))
	}
	return nil
}

// text is the file of the settings.
func (c *Config) text() ([]byte, error) {
	b, err := toml.Marshal(c)
	return append([]byte("# Settings of a gate: gate help init says what each is.\n"), b...), err
}
