// Package servertest is a real log in this process, for tests: the engine and
// the HTTP server on a loopback port, with keys that are the same in every run.
// What it answers is what a log answers; it has no way to lie.
package servertest

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// Origin is the log's name.
const Origin = "test.example/log"

// The principals that the genesis registry lists, each with the key that Key
// makes of the name.
const (
	Engine    = "engine"
	Engine2   = "engine-2"
	Approver  = "approver"
	Registrar = "registrar"
)

// Log is a log that answers at URL.
type Log struct {
	URL         string
	Server      *server.Server
	FS          durable.FS
	Policy      *trust.Policy
	Engines     *trust.Engines
	PolicyFile  []byte   // what Policy was parsed from
	EnginesFile []byte   // what Engines was parsed from
	Public      bool     // as server.Config.Public, from the next Start on
	Anchors     []string // as server.Config.Anchors, from the next Start on
	IndexDir    string   // as server.Config.IndexDir, from the next Start on

	t    testing.TB
	stop func() error // nil while stopped
}

// Key returns the private key of a name, always the same one. The key that
// signs checkpoints is Key(Origin).
func Key(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("obstat test key\x00" + name))
	return ed25519.NewKeyFromSeed(seed[:])
}

// New makes a log in memory and serves it until the test ends.
func New(t testing.TB) *Log {
	t.Helper()
	return On(t, faultfs.New())
}

// On makes a log in fs, an empty directory, and serves it until the test ends.
func On(t testing.TB, fs durable.FS) *Log {
	t.Helper()
	return named(t, fs, Origin)
}

func named(t testing.TB, fs durable.FS, origin string) *Log {
	t.Helper()
	addition := func(name string, role trust.Role) trust.Addition {
		return trust.Addition{Key: Public(name), Name: name, Role: role}
	}
	genesis, err := trust.NewGenesis(origin, 1, []trust.Addition{
		addition(Registrar, trust.Registrar), addition(Engine, trust.Engine), addition(Engine2, trust.Engine), addition(Approver, trust.Approver),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	env, err := trust.SignStatement(genesis, Key(Registrar))
	if err != nil {
		t.Fatal(err)
	}
	files, err := server.Create(fs, server.Founding{Origin: origin, LogKey: Key(origin), Genesis: env})
	if err != nil {
		t.Fatal(err)
	}
	return Serve(t, fs, *files)
}

// Serve serves the log that is in fs, whose key is Key of its origin, until the test
// ends.
func Serve(t testing.TB, fs durable.FS, files server.TrustFiles) *Log {
	t.Helper()
	l := &Log{FS: fs, PolicyFile: files.Policy, EnginesFile: files.Engines, t: t}
	var err error
	if l.Policy, err = trust.ParsePolicy(files.Policy); err != nil {
		t.Fatal(err)
	}
	if l.Engines, err = trust.ParseEngines(files.Engines); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if l.stop != nil {
			l.Stop()
		}
	})
	l.Start()
	return l
}

// Config is what Start opens the log with.
func (l *Log) Config() server.Config {
	l.t.Helper()
	signer, err := checkpoint.NewSigner(l.Engines.Origin, checkpoint.TypeEd25519, Key(l.Engines.Origin))
	if err != nil {
		l.t.Fatal(err)
	}
	return server.Config{FS: l.FS, Signer: signer, Policy: l.Policy, Engines: l.Engines, Public: l.Public, Anchors: l.Anchors, IndexDir: l.IndexDir}
}

// Start opens the log, which must be stopped, and serves it at a new URL. prepare
// is given the server before it serves.
func (l *Log) Start(prepare ...func(*server.Server)) {
	l.t.Helper()
	var err error
	l.Server, err = server.Open(l.Config())
	if err != nil {
		l.t.Fatal(err)
	}
	for _, p := range prepare {
		p(l.Server)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	l.URL = "http://" + ln.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- l.Server.Serve(ctx, ln) }()
	l.stop = func() error {
		cancel()
		return <-served
	}
}

// Stop answers what was accepted and closes the log. Start may follow.
func (l *Log) Stop() {
	l.t.Helper()
	l.StopFailed("")
}

// StopFailed is Stop of a log that stopped for a reason with that code.
func (l *Log) StopFailed(code report.Code) {
	l.t.Helper()
	err := l.stop()
	l.stop = nil
	if err != nil {
		l.t.Errorf("serving: %v", err)
	}
	err = l.Server.Close()
	if got := report.CodeOf(err); err != nil && got != code || err == nil && code != "" {
		l.t.Errorf("closing the log: %v, want code %q", err, code)
	}
}

// TrustFiles writes the two trust files into a directory of the test.
func (l *Log) TrustFiles() (policy, engines string) {
	l.t.Helper()
	dir := l.t.TempDir()
	policy, engines = filepath.Join(dir, "log.policy"), filepath.Join(dir, "trust")
	for file, b := range map[string][]byte{policy: l.PolicyFile, engines: l.EnginesFile} {
		if err := os.WriteFile(file, b, 0o644); err != nil {
			l.t.Fatal(err)
		}
	}
	return policy, engines
}
