package main

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// fake answers after a while, or fails.
type fake struct {
	takes time.Duration
	fails func(n int64) bool
	wrong error
	n     *atomic.Int64
}

func (f *fake) submit(context.Context, []byte) error {
	time.Sleep(f.takes)
	if n := f.n.Add(1); f.fails != nil && f.fails(n) {
		return errors.New("no answer")
	}
	return nil
}
func (f *fake) check() error { return f.wrong }
func (f *fake) close()       {}

// TestDrive: only answers within the window count, failures are told, and an
// answer that does not verify, or none at all, is no measurement.
func TestDrive(t *testing.T) {
	const warm, window = 100 * time.Millisecond, 200 * time.Millisecond
	always, third := func(int64) bool { return true }, func(n int64) bool { return n%3 == 0 }
	for _, test := range []struct {
		name      string
		fake      fake
		bodies    int
		wantErr   string
		exhausted bool
		failures  bool
	}{
		{name: "answers", fake: fake{takes: 10 * time.Millisecond}, bodies: 1000},
		{name: "some fail", fake: fake{takes: 10 * time.Millisecond, fails: third}, bodies: 1000, failures: true},
		{name: "all fail", fake: fake{takes: time.Millisecond, fails: always}, bodies: 1000, wantErr: "no answer"},
		{name: "a wrong answer", fake: fake{takes: time.Millisecond, wrong: errors.New("forged")}, bodies: 1000, wantErr: "forged"},
		{name: "bodies used up", fake: fake{takes: 10 * time.Millisecond}, bodies: 40, exhausted: true},
		{name: "used up too early", fake: fake{takes: time.Millisecond}, bodies: 10, wantErr: "nothing was answered"},
		{name: "slower than the window", fake: fake{takes: warm + 2*window}, bodies: 10, wantErr: "nothing was answered"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.fake.n = new(atomic.Int64)
			in := &instance{connect: func() caller { f := test.fake; return &f }}
			m, err := drive(t.Context(), in, 2, make([][]byte, test.bodies), warm, window)
			if test.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("%+v, %v, want an error that says %q", m, err, test.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			total := int(test.fake.n.Load())
			if m.Answered < 1 || m.Answered+m.Failed >= total {
				t.Errorf("%d answers and %d failures count, of %d: warm-up must not", m.Answered, m.Failed, total)
			}
			if m.P50 < test.fake.takes || m.P99 < m.P50 {
				t.Errorf("p50 %v, p99 %v, of answers that take %v", m.P50, m.P99, test.fake.takes)
			}
			if m.Exhausted != test.exhausted || (m.Window < window) != test.exhausted {
				t.Errorf("exhausted %v, window %v", m.Exhausted, m.Window)
			}
			if got := m.Failed > 0 && m.Failure == "no answer"; got != test.failures {
				t.Errorf("%d failures, %q", m.Failed, m.Failure)
			}
			if m.Checked < 1 || m.Checked > 2 {
				t.Errorf("%d callers were checked, of 2", m.Checked)
			}
		})
	}
}
