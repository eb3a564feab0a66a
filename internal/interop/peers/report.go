package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat/internal/durable"
)

// report is what a run found, and the JSON that is written.
type report struct {
	Time       time.Time
	Machine    machine
	Rounds     int
	Window     time.Duration // in nanoseconds, as all durations
	Systems    []described
	Results    []*result
	Primitives primitives
}

type machine struct {
	OS, Arch, Go string
	CPUs         int
	GOMAXPROCS   int
	LoadAverage  string `json:",omitempty"` // before anything ran: what else did
}

type described struct {
	Name, Waits, Version, Notes string
	Command                     []string
	BodyBytes                   int // of the first body, HTTP head included where there is one
}

// result is one system with one number of callers.
type result struct {
	System  string
	Callers int
	// Medians of the rounds.
	Rate     float64
	P50, P99 time.Duration
	Failed   int // in all rounds
	Rounds   []*measured
}

// primitives is what the disk did, in the folder of the logs, before the run.
type primitives struct {
	AppendSync time.Duration // append of 4 KiB and fdatasync, median
}

func newReport(c *config, dir string, systems []*system) (*report, error) {
	r := &report{Time: time.Now().UTC().Truncate(time.Second), Rounds: c.rounds, Window: c.window, Machine: machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version(), CPUs: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0),
	}}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil { // Linux has one
		r.Machine.LoadAverage = strings.Join(strings.Fields(string(b))[:3], " ")
	}
	for _, s := range systems {
		body, err := makeBody(s, "size", 0)
		if err != nil {
			return nil, err
		}
		r.Systems = append(r.Systems, described{s.name, s.waits, s.version, s.notes, s.command, len(body)})
	}
	var err error
	r.Primitives.AppendSync, err = appendSync(dir)
	return r, err
}

// appendSync measures what one group costs at least.
func appendSync(dir string) (time.Duration, error) {
	fs, err := durable.OpenDir(dir)
	if err != nil {
		return 0, err
	}
	f, err := fs.Create("primitive")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	took := make([]time.Duration, 500)
	block := make([]byte, 4096)
	for i := range took {
		begin := time.Now()
		if err := f.Append(block); err != nil {
			return 0, err
		}
		if err := f.SyncData(); err != nil {
			return 0, err
		}
		took[i] = time.Since(begin)
	}
	return median(took), nil
}

// add takes one measurement and makes the medians new.
func (r *report) add(system string, callers int, m *measured) {
	x := r.find(system, callers)
	if x == nil {
		x = &result{System: system, Callers: callers}
		r.Results = append(r.Results, x)
	}
	x.Rounds = append(x.Rounds, m)
	x.Failed += m.Failed
	var rates []float64
	var p50, p99 []time.Duration
	for _, m := range x.Rounds {
		rates, p50, p99 = append(rates, m.Rate), append(p50, m.P50), append(p99, m.P99)
	}
	x.Rate, x.P50, x.P99 = median(rates), median(p50), median(p99)
}

func (r *report) find(system string, callers int) *result {
	i := slices.IndexFunc(r.Results, func(x *result) bool { return x.System == system && x.Callers == callers })
	if i < 0 {
		return nil
	}
	return r.Results[i]
}

func (r *report) write(file string) error {
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644)
}

// print tells a person. The first system is ours.
func (r *report) print(w io.Writer) {
	m := r.Machine
	fmt.Fprintf(w, "%s/%s, %d CPUs, GOMAXPROCS %d, %s", m.OS, m.Arch, m.CPUs, m.GOMAXPROCS, m.Go)
	if m.LoadAverage != "" {
		fmt.Fprintf(w, ", load average before %s", m.LoadAverage)
	}
	fmt.Fprintf(w, "\nappend 4 KiB + fdatasync: p50 %s\n", ms(r.Primitives.AppendSync))
	fmt.Fprintf(w, "callers on the same CPUs; medians of %d windows of %v; every caller's last answer was verified\n", r.Rounds, r.Window)
	for _, s := range r.Systems {
		fmt.Fprintf(w, "\n%s %s\n  %s\n  answer: %s\n  %s; %d bytes a submission\n", s.Name, s.Version,
			strings.Join(s.Command, " "), s.Waits, s.Notes, s.BodyBytes)
	}
	ours := r.Systems[0].Name
	fmt.Fprintf(w, "\n%8s  %-20s %12s %12s %12s %9s %9s\n", "callers", "", "answers/s", "p50", "p99", "failed", ours+" is")
	slices.SortStableFunc(r.Results, func(a, b *result) int { return a.Callers - b.Callers })
	for _, x := range r.Results {
		times := ""
		if o := r.find(ours, x.Callers); o != x && x.Rate > 0 {
			times = fmt.Sprintf("%.1f ×", o.Rate/x.Rate)
		}
		fmt.Fprintf(w, "%8d  %-20s %12.0f %12s %12s %9d %9s\n", x.Callers, x.System, x.Rate, ms(x.P50), ms(x.P99), x.Failed, times)
		for _, m := range x.Rounds {
			if m.Failure != "" {
				fmt.Fprintf(w, "          a failure: %.200s\n", m.Failure)
			}
			if m.Exhausted {
				fmt.Fprintf(w, "          all bodies were used after %v\n", m.Window.Round(time.Millisecond))
			}
		}
	}
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }
