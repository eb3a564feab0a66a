package client

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

func keyID(key ed25519.PrivateKey) receipt.KeyID {
	return receipt.KeyID(dsse.IDOf(key.Public().(ed25519.PublicKey)))
}

func runConfig(dir, name string) RunConfig {
	return RunConfig{Dir: dir, Name: receipt.Name(name), Key: servertest.Key(servertest.Engine), Now: time.Now}
}

func create(t *testing.T, c *Client, dir, name string) *Run {
	t.Helper()
	r, err := Create(c, runConfig(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func fault(code string) Entry {
	return Entry{Receipt: receipt.Fault{Stage: receipt.StageEvaluate, Code: receipt.Code(code), Posture: receipt.FailClosed{}}}
}

func open(version string) Entry { return Entry{Receipt: runOpen(version)} }

func TestRunChains(t *testing.T) {
	l := servertest.New(t)
	r := create(t, dial(t, l, nil), filepath.Join(t.TempDir(), "run"), "chain")
	var prev *Recorded
	for i, e := range []Entry{open("1"), fault("RULE-FAILED"), fault("INTERNAL")} {
		rec, err := r.Record(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		c := rec.Statement.Statement.Call
		if c.Seq != uint64(i) || c.Run != "chain" || c.By != keyID(servertest.Key(servertest.Engine)) {
			t.Errorf("call %d: %+v", i, c)
		}
		if prev != nil && (c.Prev != prev.Statement.CID || c.Seen.Size != prev.Index+1 || rec.Index <= prev.Index) {
			t.Errorf("call %d does not follow the one before it: %+v, index %d", i, c, rec.Index)
		}
		prev = rec
	}
	rec, err := r.CloseRun(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if tally, ok := rec.Statement.Statement.Receipt.(receipt.RunClose); !ok || tally.Faults != 2 || tally.Statements() != 4 {
		t.Errorf("run-close says %+v", rec.Statement.Statement.Receipt)
	}
	if _, err := r.Record(t.Context(), fault("INTERNAL")); err == nil {
		t.Error("something was said after the run-close")
	}
}

func TestRunKeepsBeforeItSends(t *testing.T) {
	l := servertest.New(t)
	dir := filepath.Join(t.TempDir(), "run")
	b := &between{before: func(n int64) (*http.Response, error) {
		past, err := Look(dir)
		if err != nil {
			return nil, fmt.Errorf("sent before it was kept: %w", err)
		}
		if s := past.Standing(); s.Statements != uint64(n) || s.Unanswered != 1 {
			return nil, fmt.Errorf("sent before it was kept: %+v", s)
		}
		if _, err := os.Stat(filepath.Join(dir, "secret")); err != nil {
			return nil, fmt.Errorf("sent before the secret was kept: %w", err)
		}
		return nil, nil
	}}
	r := create(t, dial(t, l, b), dir, "keep")
	rec, err := r.Record(t.Context(), open("1"))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(dir, "000000.receipt.json"))
	if err != nil || string(kept) != string(rec.JSON) {
		t.Errorf("the answer is not kept as it came: %v", err)
	}
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the run's directory is %v, %v", st.Mode(), err)
	}
}

// lost lets requests through and loses the answers while on is true.
func lost(on *bool) *between {
	return &between{after: func(_ int64, body []byte) []byte {
		if *on {
			return nil
		}
		return body
	}}
}

func TestRunSaysTheSameAgain(t *testing.T) {
	l := servertest.New(t)
	losing := false
	c := dial(t, l, lost(&losing))
	dir := filepath.Join(t.TempDir(), "run")
	r := create(t, c, dir, "again")
	if _, err := r.Record(t.Context(), open("1")); err != nil {
		t.Fatal(err)
	}
	losing = true
	if _, err := r.Record(t.Context(), fault("RULE-FAILED")); err == nil {
		t.Fatal("an answer that never came was believed")
	}
	size := l.Server.Head().Size

	// In this process: an equal receipt is the same statement.
	losing = false
	rec, err := r.Record(t.Context(), fault("RULE-FAILED"))
	if err != nil || rec.Index != 2 || l.Server.Head().Size != size {
		t.Fatalf("again: %+v, %v; the log has %d leaves, had %d", rec, err, l.Server.Head().Size, size)
	}
	if rec, err = r.Record(t.Context(), fault("RULE-FAILED")); err != nil || rec.Index != 3 {
		t.Fatalf("once more, after it was answered, is another statement: %+v, %v", rec, err)
	}

	// After a crash: what was stored is sent as it is, before anything else.
	losing = true
	if _, err := r.Record(t.Context(), fault("INTERNAL")); err == nil {
		t.Fatal("an answer that never came was believed")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	losing = false
	r, err = Open(c, runConfig(dir, "again"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if rec, err = r.Record(t.Context(), fault("LOG-UNAVAILABLE")); err != nil || rec.Index != 5 || rec.Statement.Statement.Call.Seq != 4 {
		t.Fatalf("after a crash: %+v, %v", rec, err)
	}
	rec, err = r.CloseRun(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if tally := rec.Statement.Statement.Receipt.(receipt.RunClose); tally.Faults != 4 {
		t.Errorf("the tally did not survive: %+v", tally)
	}
	for seq := range 6 {
		if _, err := os.Stat(filepath.Join(dir, answerName(uint64(seq)))); err != nil {
			t.Error(err)
		}
	}
}

func TestRunSpeaksInOnePlaceOnly(t *testing.T) {
	l := servertest.New(t)
	c := dial(t, l, nil)
	dir := filepath.Join(t.TempDir(), "run")
	r := create(t, c, dir, "one")
	var locked *durable.LockedError
	if _, err := Open(c, runConfig(dir, "one")); !errors.As(err, &locked) || report.CodeOf(err) != report.CodeRunLocked {
		t.Errorf("a second speaker: %v, want a LockedError", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Record(t.Context(), open("1")); err == nil {
		t.Error("a closed run speaks")
	}
	if _, err := Create(c, runConfig(dir, "one")); report.CodeOf(err) != report.CodeRunExists {
		t.Errorf("a run in the place of another: %v", err)
	}
	if _, err := Open(c, runConfig(t.TempDir(), "one")); err == nil {
		t.Error("a run was opened that is not there")
	}
}

func TestRunTakesTurns(t *testing.T) {
	l := servertest.New(t)
	r := create(t, dial(t, l, nil), filepath.Join(t.TempDir(), "run"), "turns")
	if _, err := r.Record(t.Context(), open("1")); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	seqs := make([]uint64, 16)
	for i := range seqs {
		wg.Go(func() {
			rec, err := r.Record(t.Context(), fault("RULE-FAILED"))
			if err != nil {
				t.Error(err)
				return
			}
			if rec.Index != rec.Statement.Statement.Call.Seq+1 {
				t.Errorf("seq %d stands at %d", rec.Statement.Statement.Call.Seq, rec.Index)
			}
			seqs[i] = rec.Statement.Statement.Call.Seq
		})
	}
	wg.Wait()
	seen := map[uint64]bool{}
	for _, s := range seqs {
		seen[s] = true
	}
	if len(seen) != len(seqs) {
		t.Errorf("places %v", seqs)
	}
}

// A statement that the log refuses stays the next thing to be said.
func TestRunStopsAtARefusal(t *testing.T) {
	l := servertest.New(t)
	refusing := true
	b := &between{before: func(int64) (*http.Response, error) {
		if refusing {
			return answer(403, nil, `{"code":"KEY-ENDED"}`), nil
		}
		return nil, nil
	}}
	r := create(t, dial(t, l, b), filepath.Join(t.TempDir(), "run"), "refused")
	for range 2 {
		if _, err := r.Record(t.Context(), open("1")); report.CodeOf(err) != report.CodeKeyEnded {
			t.Fatal(err)
		}
	}
	if err := r.Flush(t.Context()); err == nil {
		t.Error("flushed nothing into a log that refuses")
	}
	refusing = false
	if err := r.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rec, err := r.Record(t.Context(), fault("INTERNAL")); err != nil || rec.Statement.Statement.Call.Seq != 1 {
		t.Errorf("%v, %v", rec, err)
	}
}

func TestOpenRefusesADamagedDirectory(t *testing.T) {
	l := servertest.New(t)
	c := dial(t, l, nil)
	fill := func(t *testing.T) (dir, name string) {
		dir = filepath.Join(t.TempDir(), "run")
		name = "damaged-" + filepath.Base(filepath.Dir(filepath.Dir(dir)))
		r := create(t, c, dir, name)
		for _, e := range []Entry{open("1"), fault("INTERNAL"), fault("RULE-FAILED")} {
			if _, err := r.Record(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		return dir, name
	}
	// edit writes the journal anew, record by record, with true sums.
	edit := func(dir string, change func(n int, r *record) bool) error {
		tree, err := durable.OpenDir(dir)
		if err != nil {
			return err
		}
		var all []record
		if _, err := readJournal(tree, func(r record) error { all = append(all, r); return nil }); err != nil {
			return err
		}
		if err := createJournal(tree); err != nil {
			return err
		}
		n := int64(len(journalMagic))
		j, err := openJournal(tree, read{n, n, false}, 0)
		if err != nil {
			return err
		}
		for n, r := range all {
			if !change(n, &r) {
				continue
			}
			if _, err := j.append(r.kind, r.body); err != nil {
				return err
			}
		}
		return j.file.Close()
	}
	resign := func(leaf []byte, change func(*receipt.Statement)) []byte {
		e, err := dsse.ParseLeaf(leaf)
		if err != nil {
			t.Fatal(err)
		}
		d, err := receipt.Decode(e.Payload)
		if err != nil {
			t.Fatal(err)
		}
		s := d.Statement
		change(&s)
		payload, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if e, err = dsse.Sign(dsse.ReceiptType, payload, servertest.Key(servertest.Engine)); err != nil {
			t.Fatal(err)
		}
		if leaf, err = e.Leaf(); err != nil {
			t.Fatal(err)
		}
		return leaf
	}
	bytesOf := func(dir string, change func(b []byte)) error {
		name := filepath.Join(dir, journalName)
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		change(b)
		return os.WriteFile(name, b, 0o600)
	}
	// Records: S A S A S A, each answer behind its statement.
	for name, harm := range map[string]func(dir string) error{
		"a statement gone": func(dir string) error {
			return edit(dir, func(n int, _ *record) bool { return n != 2 })
		},
		"a statement and its answer gone": func(dir string) error {
			return edit(dir, func(n int, _ *record) bool { return n != 2 && n != 3 })
		},
		"one twice": func(dir string) error {
			var second []byte
			return edit(dir, func(n int, r *record) bool {
				if n == 2 {
					second = r.body
				}
				if n == 4 {
					r.body = second
				}
				return true
			})
		},
		"another past": func(dir string) error {
			return edit(dir, func(n int, r *record) bool {
				if n == 4 {
					r.body = resign(r.body, func(s *receipt.Statement) { s.Call.Prev = otherCID(t) })
				}
				return true
			})
		},
		"an answer to another": func(dir string) error {
			return edit(dir, func(n int, r *record) bool {
				if n == 5 {
					r.body[7]++
				}
				return true
			})
		},
		"a bit in the middle":     func(dir string) error { return bytesOf(dir, func(b []byte) { b[400] ^= 1 }) },
		"another file":            func(dir string) error { return bytesOf(dir, func(b []byte) { b[0] ^= 1 }) },
		"no journal":              func(dir string) error { return os.Remove(filepath.Join(dir, journalName)) },
		"cut below what is known": func(dir string) error { return bytesOf(dir, func(b []byte) { clear(b[30:60]) }) },
		"no secret":               func(dir string) error { return os.Remove(filepath.Join(dir, "secret")) },
		"half a secret":           func(dir string) error { return os.Truncate(filepath.Join(dir, "secret"), 32) },
	} {
		t.Run(name, func(t *testing.T) {
			dir, run := fill(t)
			if err := harm(dir); err != nil {
				t.Fatal(err)
			}
			r, err := Open(c, runConfig(dir, run))
			if err == nil {
				r.Close()
				t.Fatal("it was opened")
			}
			t.Log(err)
		})
	}
	t.Run("half an answer to the last", func(t *testing.T) {
		dir, run := fill(t)
		past, err := Look(dir)
		if err != nil {
			t.Fatal(err)
		}
		last := past.ledger.promises[2]
		if err := bytesOf(dir, func(b []byte) { clear(b[last.off+int64(last.n)/2:]) }); err != nil {
			t.Fatal(err)
		}
		r, err := Open(c, runConfig(dir, run))
		if err != nil {
			t.Fatal(err) // an answer that was not synced is asked for again
		}
		defer r.Close()
		if s, err := r.Standing(); err != nil || s.Unanswered != 1 || s.Statements != 3 {
			t.Fatalf("%+v, %v", s, err)
		}
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s, err := r.Standing(); err != nil || s.Unanswered != 0 {
			t.Fatalf("%+v, %v", s, err)
		}
	})
	t.Run("another run's", func(t *testing.T) {
		dir, _ := fill(t)
		if _, err := Open(c, runConfig(dir, "mine")); report.CodeOf(err) != report.CodeRunStore {
			t.Error(err)
		}
	})
	t.Run("another key's", func(t *testing.T) {
		dir, run := fill(t)
		cfg := runConfig(dir, run)
		cfg.Key = servertest.Key(servertest.Engine2)
		if _, err := Open(c, cfg); report.CodeOf(err) != report.CodeRunStore {
			t.Error(err)
		}
	})
}

// A secret is in no text that a run or its errors make.
func TestRunDoesNotTellItsSecret(t *testing.T) {
	l := servertest.New(t)
	dir := filepath.Join(t.TempDir(), "run")
	r := create(t, dial(t, l, nil), dir, "secret")
	secret, err := os.ReadFile(filepath.Join(dir, "secret"))
	if err != nil || len(secret) != 64 {
		t.Fatal(err)
	}
	if s := fmt.Sprintf("%v %+v %#v", r.Secret(), r.Secret(), r.Secret()); strings.Contains(s, string(secret)) {
		t.Error("it prints")
	}
	if err := os.WriteFile(filepath.Join(dir, "secret"), append(secret[:63], 'x'), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dial(t, l, nil), runConfig(dir, "secret")); err == nil || strings.Contains(err.Error(), string(secret[:8])) {
		t.Errorf("%v", err)
	}
}

// Whatever is lost on the way, and however often the engine starts again, what
// was said stands in the log once each, in order, unbroken.
func TestRunUnderLossProperty(t *testing.T) {
	l := servertest.New(t)
	n := 0
	base := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		n++
		dir, name := filepath.Join(base, fmt.Sprint(n)), fmt.Sprintf("loss-%d", n)
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{"say", "lose answer", "lose request", "restart"}), 1, 8).Draw(rt, "steps")
		loseRequest, loseAnswer := false, false
		b := &between{
			before: func(int64) (*http.Response, error) {
				if loseRequest {
					return nil, io.ErrUnexpectedEOF
				}
				return nil, nil
			},
			after: func(_ int64, body []byte) []byte {
				if loseAnswer {
					return body[:len(body)/2]
				}
				return body
			},
		}
		c := dial(t, l, b)
		first := l.Server.Head().Size
		r, err := Create(c, runConfig(dir, name))
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { r.Close() }()
		said := uint64(0)
		say := func() error {
			e := fault("INTERNAL")
			if said == 0 {
				e = open("1")
			}
			_, err := r.Record(t.Context(), e)
			if err == nil {
				said++
			}
			return err
		}
		for _, s := range steps {
			loseRequest, loseAnswer = s == "lose request", s == "lose answer"
			if s == "restart" {
				if err := r.Close(); err != nil {
					rt.Fatal(err)
				}
				if r, err = Open(c, runConfig(dir, name)); err != nil {
					rt.Fatal(err)
				}
				continue
			}
			if err := say(); (err == nil) != (s == "say") {
				rt.Fatalf("%s: %v", s, err)
			}
		}
		loseRequest, loseAnswer = false, false
		if said == 0 {
			if err := say(); err != nil {
				rt.Fatal(err)
			}
		}
		rec, err := r.CloseRun(t.Context())
		if err != nil {
			rt.Fatal(err)
		}
		// "lose" steps repeat the statement that is on its way, so exactly what
		// was acknowledged is there, one statement that a restart set free at
		// most once, and the run-close.
		call := rec.Statement.Statement.Call
		tally := rec.Statement.Statement.Receipt.(receipt.RunClose)
		if got := l.Server.Head().Size - first; got != call.Seq+1 || tally.Statements() != call.Seq+1 {
			rt.Fatalf("%d leaves for %d places, tally of %d", got, call.Seq+1, tally.Statements())
		}
		if call.Seq < said || call.Seq > said+1 {
			rt.Fatalf("%d places for %d acknowledged", call.Seq, said)
		}
	})
}

// otherCID is the name of a statement that is none of a run's.
func otherCID(t *testing.T) receipt.CID {
	t.Helper()
	d, err := receipt.Decode(envelope(t, "elsewhere").Payload)
	if err != nil {
		t.Fatal(err)
	}
	return d.CID
}
