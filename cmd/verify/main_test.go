package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"verify": main})
}

// TestScripts runs testdata/script over the files that fixtures makes.
// "exits N program args..." runs a program and wants its exit status.
func TestScripts(t *testing.T) {
	files := fixtures(t)
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "script"),
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			for name, data := range files {
				path := filepath.Join(env.WorkDir, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					return err
				}
				if err := os.WriteFile(path, data, 0o666); err != nil {
					return err
				}
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits N program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// fixtures are the files of the scripts, by their paths.
func fixtures(t testing.TB) map[string][]byte {
	t.Helper()
	l := testlog.New(t)
	disclosed, err := preview.NewDisclosure(preview.Salt{1}, preview.FieldPath, "0", preview.Text("docs/a.txt"))
	check(t, err)
	run := receipttest.NewRun(receipt.KeyID(testlog.ID("engine")), "run-1")
	l.Append(l.Sign(run.Add(receipttest.Open(testlog.Origin)), "engine"))
	judgment := receipttest.Judgment("request", receipttest.Admit("rule-1"))
	judgment.Request.Changes = []receipt.Change{{
		Path: receipt.CommittedTo(receipt.Commitment(disclosed.Commitment())),
		Edit: receipt.Create{After: receipttest.Commitment("after")},
	}}
	d := run.Add(judgment)
	admit := l.Append(l.Sign(d, "engine"))
	commit := l.Append(l.Sign(run.Settle(d, receipt.Committed{Fired: receipttest.RequestOf(d)}), "engine"))
	deny := l.Append(l.Sign(run.Add(receipttest.Judgment("other", receipttest.Deny("CLASS-RED"))), "engine"))
	wrongRole := l.Append(l.Sign(d, "approver"))
	stranger := l.Append(l.Sign(d, "stranger"))
	size := l.Size()

	files := map[string][]byte{
		"log.policy":      testlog.PolicyFile("2", "w1", "w2", "w3"),
		"none.policy":     testlog.PolicyFile("none"),
		"bad.policy":      []byte("log x\nquorum none\n"),
		"engines.trust":   l.Engines().Bytes(),
		"plain.trust":     l.PlainEngines().Bytes(),
		"bad.trust":       []byte("obstat trust v1\norigin example.com/log\n"),
		"empty":           {},
		"garbage":         []byte("garbage\n"),
		"v2.receipt.json": []byte(`{"mediaType":"application/vnd.obstat.bundle.v2+json"}`),
	}
	asOf := *l.Engines()
	asOf.AsOf, asOf.HasAsOf = size, true
	files["asof.trust"] = asOf.Bytes()
	put := func(name string, b *bundle.Bundle) { files[name+".receipt.json"] = b.Append(nil) }
	for name, index := range map[string]uint64{"admit": admit, "commit": commit, "deny": deny, "role": wrongRole, "stranger": stranger} {
		put(name, l.Bundle(index, size, "w1", "w2"))
	}
	put("promise", l.Bundle(admit, size))
	bare := l.Bundle(admit, size, "w1", "w2")
	bare.Registry = nil
	put("bare", bare)
	open := l.Bundle(admit, size, "w1", "w2")
	open.Disclosures = []preview.Disclosure{disclosed}
	put("disclosed", open)
	files["flipped.receipt.json"] = bytes.Replace(files["admit.receipt.json"], []byte(`\nindex 2\n`), []byte(`\nindex 3\n`), 1)
	files["admit.tlog-proof"], err = l.Bundle(admit, size, "w1", "w2").TlogProof()
	check(t, err)
	env, err := dsse.ParseLeaf(l.Leaves[admit])
	check(t, err)
	files["admit.dsse.json"], files["admit.leaf"] = env.JSON(), l.Leaves[admit]
	env.Sigs[0].Sig[9] ^= 1
	files["badsig.dsse.json"] = env.JSON()
	files["approver.dsse.json"] = l.Sign(d, "approver").JSON()

	site("site", l, size, files)
	good := testlog.New(t)
	good.Examples()
	site("good", good, good.Size(), files)
	heads(good, files)
	handedOver(t, files)
	long := testlog.New(t)
	grown := receipttest.NewRun(receipt.KeyID(testlog.ID("engine")), "long")
	long.Append(long.Sign(grown.Add(receipttest.Open(testlog.Origin)), "engine"))
	for long.Size() < 600 {
		long.Append(long.Sign(grown.Add(receipttest.Judgment(strconv.FormatUint(long.Size(), 10), receipttest.Admit("rule-1"))), "engine"))
	}
	site("long", long, 550, files)
	site("longer", long, 600, files)
	files["older-long.checkpoint"] = long.Checkpoint(550)
	files["badsite/checkpoint"] = good.SignHead(checkpoint.Checkpoint{Origin: testlog.Origin, Size: good.Size(), Root: merkle.Hash{1}}, "w1", "w2")
	for name, data := range files {
		if rest, ok := strings.CutPrefix(name, "good/tile/"); ok {
			files["badsite/tile/"+rest] = data
		}
	}
	l.Change(trust.Change{Revoke: []trust.Revocation{{Key: trust.PublicKey(testlog.Public("engine")), From: admit, HasFrom: true}}})
	files["later.chain.json"] = (&bundle.Chain{Leaves: l.Chain(l.Size()), Checkpoint: l.Checkpoint(l.Size(), "w1", "w2")}).Append(nil)
	return files
}

// handedOver is a log that was frozen, the one that goes on, and the evidence.
func handedOver(t testing.TB, files map[string][]byte) {
	const second = "example.com/log-2"
	old, heir := testlog.New(t), testlog.Named(t, second)
	last := old.Examples()["judgment-admit"]
	old.Freeze(&trust.Heir{Log: second, Key: trust.PublicKey(testlog.Public(second)), Genesis: heir.Genesis})
	heir.Succeed(old.Final(), old.Checkpoint(old.Size()))
	at := heir.Examples()["judgment-admit"]
	chain := func(l *testlog.Log) *bundle.Chain {
		return &bundle.Chain{Leaves: l.Chain(l.Size()), Checkpoint: l.Checkpoint(l.Size(), "w1", "w2")}
	}
	evidence := &bundle.Succession{Predecessor: chain(old), Successor: chain(heir)}
	files["second.succession.json"] = evidence.Append(nil)
	files["frozen.chain.json"] = chain(old).Append(nil)
	files["second.receipt.json"] = heir.Bundle(at, heir.Size(), "w1", "w2").Append(nil)
	files["second.dsse.json"] = heir.Bundle(at, heir.Size(), "w1", "w2").Envelope
	files["first.receipt.json"] = old.Bundle(last, old.Size(), "w1", "w2").Append(nil)
	site("second", heir, heir.Size(), files)
	site("frozen", old, old.Size(), files)
}

// heads are checkpoints of the site "good", of it as it was, and of another
// history of the same log.
func heads(good *testlog.Log, files map[string][]byte) {
	size := good.Size()
	files["older.checkpoint"] = good.Checkpoint(size-2, "w1", "w2")
	files["same.checkpoint"] = good.Checkpoint(size, "w1", "w2")
	proof := good.Growth(size-2, size)
	add := checkpoint.AddCheckpoint{Old: size - 2, Proof: proof, Checkpoint: files["same.checkpoint"]}
	files["growth.txt"] = add.Bytes()
	add.Old = size - 3
	files["growth-else.txt"] = add.Bytes()
	add.Old, add.Proof = size-2, proof[1:]
	files["growth-short.txt"] = add.Bytes()
	other := func(size uint64) []byte {
		return good.SignHead(checkpoint.Checkpoint{Origin: testlog.Origin, Size: size, Root: merkle.Hash{7}}, "w1", "w2")
	}
	files["other.checkpoint"], files["other-older.checkpoint"] = other(size), other(size-2)
	same := bundle.Fork{Checkpoints: [2][]byte{files["same.checkpoint"], files["other.checkpoint"]}}
	files["same.fork.json"] = same.Append(nil)
	same.Checkpoints[1] = same.Checkpoints[0]
	files["none.fork.json"] = same.Append(nil)
	grown := bundle.Fork{Checkpoints: [2][]byte{files["other-older.checkpoint"], files["same.checkpoint"]}, Grown: true, Root: good.Root(size - 2), Proof: proof}
	files["grown.fork.json"] = grown.Append(nil)
	grown.Root = merkle.Hash{8}
	files["bad.fork.json"] = grown.Append(nil)
}

func site(dir string, l *testlog.Log, size uint64, files map[string][]byte) {
	for path, f := range l.Site(size, "w1", "w2") {
		files[dir+"/"+path] = f.Data
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, fs.ErrPermission }
func (failing) Read([]byte) (int, error)  { return 0, fs.ErrPermission }

// in writes fixtures to a folder and returns their paths.
func in(t testing.TB) func(string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range fixtures(t) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		check(t, os.MkdirAll(filepath.Dir(path), 0o777))
		check(t, os.WriteFile(path, data, 0o666))
	}
	return func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
}

func TestStreamsThatFail(t *testing.T) {
	at := in(t)
	for _, args := range [][]string{
		{"inspect", at("admit.receipt.json")}, {"bundle", at("admit.receipt.json")}, {"log", at("good")}, {"help"}, {"bundle", "-h"}, {"help", "log"},
	} {
		var stderr bytes.Buffer
		if got := run(args, nil, failing{}, &stderr); got != 2 || !strings.Contains(stderr.String(), "cannot write") {
			t.Errorf("%v: %d %q", args, got, stderr.String())
		}
	}
	var stderr bytes.Buffer
	if got := run([]string{"bundle", "-"}, failing{}, io.Discard, &stderr); got != 2 || !strings.Contains(stderr.String(), "standard input") {
		t.Errorf("%d %q", got, stderr.String())
	}
}

// A fault of this program is neither the artifact's nor the caller's.
func TestPanicIsInternal(t *testing.T) {
	var stderr bytes.Buffer
	if got := run([]string{"bundle", "-"}, nil, io.Discard, &stderr); got != 2 || !strings.Contains(stderr.String(), "internal error") {
		t.Errorf("%d %q", got, stderr.String())
	}
}

// Text and JSON of one artifact say the same, whatever it is.
func TestTextAndJSON(t *testing.T) {
	at := in(t)
	for name := range fixtures(t) {
		for _, command := range []string{"bundle", "receipt", "inspect"} {
			var text, doc bytes.Buffer
			one := run([]string{command, at(name)}, nil, &text, io.Discard)
			two := run([]string{command, "--json", at(name)}, nil, &doc, io.Discard)
			var m struct {
				Headline, Conclusion string
				Exit                 int
				Checks               []struct{ Name, Code string }
			}
			if err := json.Unmarshal(doc.Bytes(), &m); err != nil {
				t.Fatalf("%s %s: %v", command, name, err)
			}
			if one != two || one != m.Exit || !strings.HasPrefix(text.String(), m.Headline+"\n") || !strings.Contains(text.String(), m.Conclusion) {
				t.Errorf("%s %s: %d %d %+v\n%s", command, name, one, two, m, text.String())
			}
			for _, c := range m.Checks {
				if !strings.Contains(text.String(), c.Name) || !strings.Contains(text.String(), c.Code) {
					t.Errorf("%s %s: %s %s is not in the text", command, name, c.Name, c.Code)
				}
			}
			if regexp.MustCompile(`\bVALID\b`).MatchString(text.String()) {
				t.Errorf("%s %s says valid", command, name)
			}
		}
	}
}

// The help of a command names every flag that it has, and every check.
func TestHelpIsComplete(t *testing.T) {
	for _, c := range commands() {
		inv := &invocation{command: c.name}
		inv.flags().VisitAll(func(f *flag.Flag) {
			if !strings.Contains(c.help, "--"+f.Name) {
				t.Errorf("help %s does not name --%s", c.name, f.Name)
			}
		})
		if c.name == "inspect" || strings.HasPrefix(c.name, "corpus") {
			continue
		}
		for _, name := range requirable(c.name) {
			if c.name == "bundle" && name == bundle.CheckSigner {
				continue
			}
			if !strings.Contains(c.help, "\n  "+name+" ") {
				t.Errorf("help %s does not name the check %s", c.name, name)
			}
		}
	}
	for _, key := range bundle.ExpectKeys() {
		if !regexp.MustCompile(`\b` + key + `\b`).MatchString(helpBundle) {
			t.Errorf("help bundle does not name --expect %s", key)
		}
	}
	for _, text := range []string{helpMain(), helpReceipt, helpBundle, helpConsistency, helpFork, helpLog, helpRun, helpCorpus, helpCorpusNew, helpInspect} {
		for _, line := range strings.Split(text, "\n") {
			if len(line) > 80 {
				t.Errorf("longer than 80: %q", line)
			}
		}
	}
}

// Any bytes, by every command: a status of the table, and only what the log
// holds ends 0.
func FuzzCommands(f *testing.F) {
	at := in(f)
	known := map[string]bool{}
	for name, data := range fixtures(f) {
		if strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".tlog-proof") || strings.HasSuffix(name, ".leaf") || name == "empty" {
			f.Add(data)
		}
		for _, command := range []string{"bundle", "receipt"} {
			known[statementOf(f, at, command, data)] = true
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, command := range []string{"bundle", "receipt"} {
			if s := statementOf(t, at, command, data); s != "" && !known[s] {
				t.Fatalf("%s verified %s", command, s)
			}
		}
		var stdout, stderr bytes.Buffer
		for _, args := range [][]string{{"fork", "--policy", at("none.policy"), "-"}, {"consistency", "--policy", at("none.policy"), "-", at("growth.txt")}} {
			if status := run(args, bytes.NewReader(data), &stdout, &stderr); status == 2 {
				t.Fatalf("%s: %s", args[0], stderr.String())
			}
		}
		stdout.Reset()
		if status := run([]string{"inspect", "-"}, bytes.NewReader(data), &stdout, &stderr); status == 2 || status > 3 || stdout.Len() == 0 {
			t.Fatalf("inspect: %d %s", status, stderr.String())
		}
	})
}

// statementOf returns the statement that a command verified, if it did.
func statementOf(t testing.TB, at func(string) string, command string, data []byte) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := run([]string{command, "--json", "--policy", at("none.policy"), "--trust", at("plain.trust"), "-"}, bytes.NewReader(data), &stdout, &stderr)
	if status == 2 {
		t.Fatalf("%s: %s", command, stderr.String())
	}
	if status != report.ExitVerified {
		return ""
	}
	_, rest, _ := strings.Cut(stdout.String(), `"name": "statement",`)
	_, rest, _ = strings.Cut(rest, `"value": "`)
	cid, _, _ := strings.Cut(rest, `"`)
	return cid
}

// Colours stress words and change none: without them the text is the same. A
// test's standard output is no terminal, so scripts show the rest.
func TestColoured(t *testing.T) {
	at := in(t)
	for _, file := range []string{"admit.receipt.json", "flipped.receipt.json", "bare.receipt.json"} {
		var stdout, stderr bytes.Buffer
		run([]string{"bundle", "--policy", at("log.policy"), "--trust", at("engines.trust"), at(file)}, nil, &stdout, &stderr)
		text := coloured(stdout.String())
		if bare := regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(text, ""); bare != stdout.String() {
			t.Errorf("%s changed:\n%s", file, bare)
		}
		for word, colour := range map[string]string{"verified ": green, "refuted ": red, "not checked ": yellow} {
			for line := range strings.Lines(stdout.String()) {
				if strings.HasPrefix(line, "  ") && strings.Contains(line, " "+word+" ") && !strings.Contains(text, colour+strings.TrimSpace(word)+plain) {
					t.Errorf("%s: %q is not painted", file, word)
				}
			}
		}
	}
}
