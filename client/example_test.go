package client_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

// ctx, dir, key and log are what an engine has: of a real log that runs beside
// the example, with a clock that everybody can read.
var (
	ctx = context.Background()
	key = servertest.Key(servertest.Engine)
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// beside is the test that a log beside an example believes to be in.
type beside struct {
	testing.TB
	ends []func()
}

func (b *beside) Helper()           {}
func (b *beside) Cleanup(f func())  { b.ends = append(b.ends, f) }
func (b *beside) Fatal(args ...any) { panic(fmt.Sprint(args...)) }
func (b *beside) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

// logAndDir starts a log and makes a directory; end takes both away.
func logAndDir() (log *servertest.Log, dir string, end func()) {
	b := &beside{}
	dir, err := os.MkdirTemp("", "example")
	check(err)
	return servertest.New(b), dir, func() {
		for _, f := range b.ends {
			f()
		}
		check(os.RemoveAll(dir))
	}
}

// opened is a client and a run that has said its run-open.
func opened(log *servertest.Log, dir string) (*client.Client, *client.Run) {
	c, err := client.New(client.Config{URL: log.URL, Policy: log.Policy, Engines: log.Engines})
	check(err)
	run, err := client.Create(c, client.RunConfig{Dir: filepath.Join(dir, "build-7"), Name: "build-7", Key: key, Now: time.Now})
	check(err)
	_, err = run.Record(ctx, client.Entry{Receipt: receipt.RunOpen{
		Engine:     receipt.Engine{Name: "builder", Version: "3"},
		Vocabulary: receipt.StandardVocabulary().Digest(),
		Logs:       []receipt.Name{c.Origin()},
	}})
	check(err)
	return c, run
}

func fault() client.Entry {
	return client.Entry{Receipt: receipt.Fault{Stage: receipt.StageEvaluate, Code: "INTERNAL", Posture: receipt.FailClosed{}}}
}

// A run says what happened, each time with the log's proof in hand.
func Example() {
	log, dir, end := logAndDir()
	defer end()

	c, err := client.New(client.Config{URL: log.URL, Policy: log.Policy, Engines: log.Engines})
	check(err)
	defer c.Close()
	run, err := client.Create(c, client.RunConfig{
		Dir: filepath.Join(dir, "build-7"), Name: "build-7", Key: key, Now: time.Now,
	})
	check(err)
	defer run.Close()

	open, err := run.Record(ctx, client.Entry{Receipt: receipt.RunOpen{
		Engine:     receipt.Engine{Name: "builder", Version: "3"},
		Vocabulary: receipt.StandardVocabulary().Digest(),
		Logs:       []receipt.Name{c.Origin()},
	}})
	check(err)
	fmt.Println("leaf", open.Index, "of", c.Origin(), "by the word of", open.Level)

	check(os.WriteFile(filepath.Join(dir, "open.receipt.json"), open.JSON, 0o644)) // for verify bundle
	closed, err := run.CloseRun(ctx)
	check(err)
	fmt.Println("leaf", closed.Index, "closes it")
	// Output:
	// leaf 1 of test.example/log by the word of promise
	// leaf 2 closes it
}

// After a crash a run goes on where it stopped, and says nothing twice.
func ExampleOpen() {
	log, dir, end := logAndDir()
	defer end()
	c, run := opened(log, dir)
	defer c.Close()
	_, err := run.Keep(ctx, fault()) // on its way when the process ends
	check(err)
	check(run.Close())

	run, err = client.Open(c, client.RunConfig{
		Dir: filepath.Join(dir, "build-7"), Name: "build-7", Key: key, Now: time.Now,
	})
	check(err)
	defer run.Close()
	check(run.Flush(ctx)) // sends the very bytes that have no answer yet
	for st, err := range run.Statements(ctx) {
		check(err)
		fmt.Println(st.Statement.Call.Seq, st.Statement.Receipt.Kind())
	}
	// Output:
	// 0 run-open
	// 1 fault
}

// An engine that may not wait keeps statements, and sends them beside itself.
func ExampleRun_Keep() {
	log, dir, end := logAndDir()
	defer end()
	c, run := opened(log, dir)
	defer c.Close()

	var beside sync.WaitGroup
	draining, stop := context.WithCancel(ctx)
	beside.Go(func() { check(run.Drain(draining)) })

	kept, err := run.Keep(ctx, fault()) // returns before the log was asked
	check(err)
	fmt.Println("seq", kept.Statement.Call.Seq, "is kept")

	var full *client.FullError
	if errors.As(err, &full) {
		fmt.Println("wait, or use Offer, which drops and says so:", full.Waiting)
	}
	check(run.Flush(ctx)) // at the end of the work: everything is in the log
	stop()
	beside.Wait()
	now, err := run.Standing()
	check(err)
	fmt.Println(now.Unanswered, "wait for the log")
	check(run.Close())
	// Output:
	// seq 1 is kept
	// 0 wait for the log
}

// A promise is kept once a checkpoint stands for it that the whole policy accepts.
func ExampleRun_CheckPromises() {
	log, dir, end := logAndDir()
	defer end()
	c, run := opened(log, dir)
	defer c.Close()
	defer run.Close()

	left, err := run.CheckPromises(ctx)
	var broken *client.ProofError
	switch {
	case errors.As(err, &broken):
		fmt.Println("keep run/evidence, and stop trusting this log:", broken.Code)
	case err != nil:
		fmt.Println("could not look; ask again later:", err)
	default:
		fmt.Println(left, "answers are the log's word alone")
	}
	// Output:
	// 0 answers are the log's word alone
}

// What went wrong decides what to do: send again, ask somebody, or stop trusting.
func ExampleClient_Submit() {
	log, dir, end := logAndDir()
	defer end()
	c, run := opened(log, dir)
	defer c.Close()
	defer run.Close()
	log.HandOver()

	_, err := run.Record(ctx, fault())
	var (
		silent  *client.UnansweredError
		late    *client.UnwitnessedError
		refused *client.RefusedError
		lies    *client.ProofError
	)
	switch {
	case errors.As(err, &silent):
		fmt.Println("may be in the log; ask again after", silent.After)
	case errors.As(err, &late):
		fmt.Println("in the log; its witnesses have not cosigned:", late.Promise.Index)
	case errors.As(err, &lies):
		fmt.Println("proves nothing, kept as evidence:", lies.Code)
	case report.CodeOf(err) == report.CodeLogFrozen:
		z, ended, err := c.Frozen(ctx) // the registrars' word, and not the log's
		check(err)
		fmt.Println("ended:", ended, "goes on as", z.Heir.Log)
	case errors.As(err, &refused):
		fmt.Println("refused for good:", refused.Status)
	}
	// Output:
	// ended: true goes on as test.example/heir
}

// Where its log ended, a run goes on in the log that the registrars name.
func ExampleConfig_successions() {
	log, dir, end := logAndDir()
	defer end()
	c, run := opened(log, dir)
	heir, evidence := log.HandOver()
	_, err := run.Record(ctx, fault())
	fmt.Println(report.CodeOf(err))
	c.Close()
	check(run.Close())
	file := evidence.Append(nil)

	succession, err := bundle.ParseSuccession(file) // *.succession.json, of the registrars
	check(err)
	c, err = client.New(client.Config{
		URL: heir.URL, Policy: log.Policy, Engines: log.Engines, // trust in the log that ended
		Successions: []*bundle.Succession{succession},
	})
	check(err)
	defer c.Close()
	run, err = client.Open(c, client.RunConfig{
		Dir: filepath.Join(dir, "build-7"), Name: "build-7", Key: key, Now: time.Now,
	})
	check(err)
	defer run.Close()
	check(run.Flush(ctx)) // what was kept goes there, unchanged
	fmt.Println("goes on in", c.Origin())
	// Output:
	// LOG-FROZEN
	// goes on in test.example/heir
}
