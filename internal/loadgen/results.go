package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Results is bench.json. Times are in seconds, rates in items a second.
type Results struct {
	At         string     `json:"at"`
	Machine    Machine    `json:"machine"`
	Primitives Primitives `json:"primitives"`
	Loads      []Load     `json:"loads"`
	Offline    Offline    `json:"offline"`
	WholeLog   WholeLog   `json:"whole_log"`
	Gate       GateCost   `json:"gate"`
	Ratios     []Ratio    `json:"ratios"`
	Goals      []Goal     `json:"goals"`
}

// Machine is where it was measured.
type Machine struct {
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	System     string `json:"system"`
	Go         string `json:"go"`
	FileSystem string `json:"file_system"`
	Busy       string `json:"load_average"` // of the minute before: what else was going on
}

// Primitives is what the machine can do, measured in the same run.
type Primitives struct {
	AppendSync4K   float64 `json:"append_4k_fdatasync_p50"`
	AppendSync256K float64 `json:"append_256k_fdatasync_p50"`
	Verify1        float64 `json:"ed25519_verify_rate_1_core"`
	Verify2        float64 `json:"ed25519_verify_rate_2_cores"`
	Sign           float64 `json:"ed25519_sign_rate_1_core"`
	SHA256         float64 `json:"sha256_1200_bytes"`
	Node           float64 `json:"sha256_interior_node"`
	BLAKE3         float64 `json:"blake3_1024_bytes"`
}

// Load is one level of load: the median run by rate, and the rates of all.
type Load struct {
	Form       string    `json:"form"`
	Callers    int       `json:"callers"`
	Statements int       `json:"statements"`
	Body       int       `json:"body_bytes"` // on average
	Failed     int       `json:"failed"`     // answers other than 201
	Seconds    float64   `json:"seconds"`
	Rate       float64   `json:"rate"`
	P50        float64   `json:"p50"`
	P99        float64   `json:"p99"`
	ServerCPU  float64   `json:"server_cpu"` // a statement, start and end of the process included
	Rates      []float64 `json:"rates"`
}

// Offline is what verifying costs without a log.
type Offline struct {
	Bundles   int     `json:"bundles"`
	Rate1     float64 `json:"bundle_rate_1_core"` // registry chain and checkpoint checked anew for each
	Rate2     float64 `json:"bundle_rate_2_cores"`
	ColdStart float64 `json:"verify_bundle_cold_start_p50"`
}

// Ratio is a figure over a figure of the same run, which is what can be
// compared between machines.
type Ratio struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Goal is a bound that the project has set itself.
type Goal struct {
	Name  string  `json:"name"`
	Bound float64 `json:"bound"`
	Most  bool    `json:"at_most"` // else at least
	Value float64 `json:"value"`
	Met   bool    `json:"met"`
	Known bool    `json:"measured"` // false where this run did not measure it
}

const (
	goalOne        = "one caller: p50 over one append of 4 KiB and fdatasync"
	goal64         = "64 callers: statements a second"
	goal256        = "256 callers: statements a second"
	goalCold       = "verify bundle, cold start: seconds"
	goalLog        = "verify log, all cores: rate over Ed25519 verify on two cores"
	goalHash       = "verify log --hashes, one core: leaves a second"
	goalHashMemory = "verify log --hashes: bytes of anonymous memory"
	goalWorkMemory = "verify log --work: bytes of anonymous memory"
	goalGate       = "strict gate: p50 over two bare submits, seconds"
	goalRelaxed    = "relaxed gate: p50 added, seconds"
)

func goals() []Goal {
	return []Goal{
		{Name: goalOne, Bound: 2.5, Most: true},
		{Name: goal64, Bound: 10_000},
		{Name: goal256, Bound: 13_000},
		{Name: goalCold, Bound: 0.010, Most: true},
		{Name: goalLog, Bound: 0.85},
		{Name: goalHash, Bound: 465_000},
		{Name: goalHashMemory, Bound: 64 << 20, Most: true},
		{Name: goalWorkMemory, Bound: 64 << 20, Most: true},
		{Name: goalGate, Bound: 0.0004, Most: true},
		{Name: goalRelaxed, Bound: 0.0003, Most: true},
	}
}

// relate computes the ratios and holds the goals against them. Goals are about
// the leaf form.
func (r *Results) relate() {
	reach := func(name string, value float64) {
		for i := range r.Goals {
			if g := &r.Goals[i]; g.Name == name {
				g.Value, g.Known, g.Met = value, true, g.Most == (value <= g.Bound)
			}
		}
	}
	for _, l := range r.Loads {
		name := fmt.Sprintf("%s, %d callers", l.Form, l.Callers)
		if l.Callers == 1 {
			ratio := l.P50 / r.Primitives.AppendSync4K
			r.Ratios = append(r.Ratios, Ratio{name + ": p50 over append 4 KiB + fdatasync", ratio})
			if l.Form == forms()[0].name {
				reach(goalOne, ratio)
			}
			continue
		}
		r.Ratios = append(r.Ratios, Ratio{name + ": rate over Ed25519 verify on two cores", l.Rate / r.Primitives.Verify2})
		if l.Form == forms()[0].name && l.Failed == 0 {
			reach(map[int]string{64: goal64, 256: goal256}[l.Callers], l.Rate)
		}
	}
	r.Ratios = append(r.Ratios, Ratio{"bundle verified offline over Ed25519 verify, one core", r.Offline.Rate1 / r.Primitives.Verify1})
	reach(goalCold, r.Offline.ColdStart)
	log := r.WholeLog.Rate / r.Primitives.Verify2
	r.Ratios = append(r.Ratios,
		Ratio{"verify log, signatures and laws, over Ed25519 verify on two cores", log},
		Ratio{"verify log --hashes over SHA-256 of 1,200 bytes, one core", r.WholeLog.HashRate * r.Primitives.SHA256})
	reach(goalLog, log)
	reach(goalHash, r.WholeLog.HashRate)
	reach(goalHashMemory, float64(r.WholeLog.HashMemory))
	reach(goalWorkMemory, float64(r.WholeLog.WorkMemory))
	reach(goalGate, r.Gate.OverBareP50)
	reach(goalRelaxed, r.Gate.RelaxedP50)
}

func (r *Results) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }
	m, p := r.Machine, r.Primitives
	row("%s\t%d cores, %s, %s, %s, load %s", m.CPU, m.Cores, m.System, m.Go, m.FileSystem, m.Busy)
	row("\nappend 4 KiB + fdatasync\t%s", short(p.AppendSync4K))
	row("append 256 KiB + fdatasync\t%s", short(p.AppendSync256K))
	row("Ed25519 verify, 1 core; 2 cores\t%.0f/s; %.0f/s", p.Verify1, p.Verify2)
	row("Ed25519 sign\t%.0f/s", p.Sign)
	row("SHA-256 of 1,200 bytes; of a node\t%s; %s", short(p.SHA256), short(p.Node))
	row("BLAKE3 of 1,024 bytes\t%s", short(p.BLAKE3))
	row("\nsubmit, proof in the answer\tbody\trate\tp50\tp99\tfailed\tserver CPU")
	for _, l := range r.Loads {
		row("%d callers, %s\t%d B\t%.0f/s\t%s\t%s\t%d of %d\t%s", l.Callers, l.Form, l.Body, l.Rate, short(l.P50), short(l.P99), l.Failed, l.Statements, short(l.ServerCPU))
	}
	row("\nbundle verified offline, 1 core; 2 cores\t%.0f/s; %.0f/s", r.Offline.Rate1, r.Offline.Rate2)
	row("verify bundle, a process\t%s", short(r.Offline.ColdStart))
	whole := r.WholeLog
	row("verify log, %d leaves, all cores\t%.0f leaves/s, %d MiB of anonymous memory", whole.Leaves, whole.Rate, whole.Anonymous>>20)
	row("the same, laws sorted in files\t%.0f leaves/s, %d MiB of anonymous memory", whole.WorkRate, whole.WorkMemory>>20)
	row("the same, going on from a state\t%.0f leaves/s", whole.Resumed)
	row("verify log --hashes, 1 core\t%.0f leaves/s, %d MiB of anonymous memory", whole.HashRate, whole.HashMemory>>20)
	g := r.Gate
	row("\nan effect that does nothing, under a gate\tp50\tp99")
	row("one submit by the client, sent and checked\t%s\t%s", short(g.BareP50), short(g.BareP99))
	row("strict: two statements, kept on disk, sent and checked\t%s\t%s", short(g.SubmitP50), short(g.SubmitP99))
	row("strict: added to them\t%s\t%s", short(g.StrictP50), short(g.StrictP99))
	row("strict: the whole over two bare submits\t%s", short(g.OverBareP50))
	row("relaxed: added, one after the other, %.0f statements/s drained\t%s\t%s", g.Drained, short(g.RelaxedP50), short(g.RelaxedP99))
	row("relaxed: added, one every %s\t%s\t%s", gatePace, short(g.PacedP50), short(g.PacedP99))
	row("\nratio, of this run")
	for _, x := range r.Ratios {
		row("%s\t%.2f", x.Name, x.Value)
	}
	row("\ngoal\tbound\tmeasured")
	for _, g := range r.Goals {
		bound, verdict := fmt.Sprintf("at least %g", g.Bound), "not met"
		if g.Most {
			bound = fmt.Sprintf("at most %g", g.Bound)
		}
		if g.Met {
			verdict = "met"
		}
		if g.Known {
			row("%s\t%s\t%.4g, %s", g.Name, bound, g.Value, verdict)
		} else {
			row("%s\t%s\tnot measured", g.Name, bound)
		}
	}
	t.Flush()
}

// short prints a time of three digits.
func short(seconds float64) string {
	d := time.Duration(seconds * 1e9)
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}
