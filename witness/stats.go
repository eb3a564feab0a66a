package witness

import (
	"maps"
	"sort"
	"sync"

	"github.com/obstat/obstat/report"
)

// LogStats is a reading of one log. Counters start at 0 with Open.
type LogStats struct {
	Origin   string
	Size     uint64 // cosigned last
	Time     uint64 // when, in Unix seconds; 0: never
	Cosigned uint64 // checkpoints cosigned, repeats too
	Grown    uint64 // of those, larger than the one before
	Forks    uint64 // signed checkpoints that contradict what was cosigned
	Kept     int    // files of evidence
}

// Stats is a reading of a witness.
type Stats struct {
	Logs    []LogStats             // by origin
	Answers map[report.Code]uint64 // requests by how they were answered
	Stopped bool
}

// counts counts answers by code.
type counts struct {
	mu sync.Mutex
	n  map[report.Code]uint64 // guarded by mu
}

func (c *counts) add(code report.Code) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[report.Code]uint64{}
	}
	c.n[code]++
}

// Stats reads.
func (w *Witness) Stats() Stats {
	w.mu.Lock()
	states := make([]*state, 0, len(w.logs))
	for _, st := range w.logs {
		states = append(states, st)
	}
	out := Stats{Stopped: w.failure != nil}
	w.mu.Unlock()
	for _, st := range states {
		st.mu.Lock()
		l := st.metrics
		l.Origin, l.Size, l.Time, l.Kept = st.origin, st.head.Size, st.time, st.kept[forkExt]+st.kept[refusedExt]
		st.mu.Unlock()
		out.Logs = append(out.Logs, l)
	}
	sort.Slice(out.Logs, func(i, j int) bool { return out.Logs[i].Origin < out.Logs[j].Origin })
	w.counts.mu.Lock()
	defer w.counts.mu.Unlock()
	out.Answers = maps.Clone(w.counts.n)
	return out
}
