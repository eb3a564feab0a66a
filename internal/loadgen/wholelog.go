package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// WholeLog is what "verify log" does with a log that a load left, as a process.
// Its laws are held too where signatures are; those of a load are broken on
// purpose, since its statements are made up.
type WholeLog struct {
	Leaves     int     `json:"leaves"`
	Rate       float64 `json:"leaf_rate"`              // on every core: hashes, signatures, registry, laws
	Anonymous  int64   `json:"anonymous_bytes"`        // the most that was seen, of the same
	HashRate   float64 `json:"hash_leaf_rate_1_core"`  // --hashes --jobs 1
	Resumed    float64 `json:"resumed_leaf_rate"`      // with a state of nearly all of it
	HashMemory int64   `json:"hashes_anonymous_bytes"` // the most that was seen
	WorkRate   float64 `json:"sorted_leaf_rate"`       // with --work: laws and repeated statements sorted in files
	WorkMemory int64   `json:"sorted_anonymous_bytes"` // the most that was seen
}

func wholeLog(ctx context.Context, cfg *Config, work string) (WholeLog, error) {
	var w WholeLog
	level := cfg.Levels[len(cfg.Levels)-1]
	dir := filepath.Join(work, "log-whole")
	if _, err := loadOnce(ctx, cfg.Bin, dir, forms()[0], level); err != nil {
		return w, err
	}
	w.Leaves = level.Statements + 1
	state := filepath.Join(work, "audit.state")
	for _, m := range []struct {
		rate   *float64
		memory *int64
		held   string // the check that says that it was done
		flags  []string
	}{
		{&w.Rate, &w.Anonymous, "signatures", nil},
		{&w.HashRate, &w.HashMemory, "root", []string{"--hashes", "--jobs", "1"}},
		{&w.WorkRate, &w.WorkMemory, "signatures", []string{"--work", work}},
		{nil, nil, "signatures", []string{"--state", state}},
		{&w.Resumed, nil, "resume", []string{"--state", state}},
	} {
		var took []time.Duration
		for range cfg.Repeat {
			d, memory, err := verifyLog(ctx, cfg.Bin, dir, m.held, m.flags)
			if err != nil {
				return w, err
			}
			took = append(took, d)
			if m.memory != nil {
				*m.memory = max(*m.memory, memory)
			}
		}
		slices.Sort(took)
		if m.rate != nil {
			*m.rate = float64(w.Leaves) / took[len(took)/2].Seconds()
		}
	}
	return w, nil
}

// verifyLog runs the verifier over the site of a log, and holds that a check of
// it was verified.
func verifyLog(ctx context.Context, bin, dir, held string, flags []string) (time.Duration, int64, error) {
	args := append([]string{"log", "--json", "--policy", filepath.Join(dir, "log.policy"), "--trust", filepath.Join(dir, "trust")}, flags...)
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "verify"), append(args, filepath.Join(dir, "log", "site"))...)
	var out bytes.Buffer
	cmd.Stdout = &out
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	ended := make(chan struct{})
	memory := watch(cmd.Process.Pid, ended)
	err := cmd.Wait()
	took := time.Since(began)
	close(ended)
	if err != nil && cmd.ProcessState.ExitCode() != 4 {
		return 0, 0, fmt.Errorf("verify log: %w\n%s", err, &out)
	}
	var r struct {
		Checks []struct{ Name, Answer, Code string }
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return 0, 0, err
	}
	for _, c := range r.Checks {
		if c.Name == held && c.Answer == "verified" {
			return took, <-memory, nil
		}
	}
	return 0, 0, fmt.Errorf("verify log: %s is not verified\n%s", held, &out)
}

// watch returns the most anonymous memory that a process was seen to have until
// ended is closed; 0 where the system does not say.
func watch(pid int, ended <-chan struct{}) <-chan int64 {
	most := make(chan int64, 1)
	go func() {
		var top int64
		for {
			select {
			case <-ended:
				most <- top
				return
			case <-time.After(2 * time.Millisecond):
			}
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if err != nil {
				continue
			}
			for line := range bytes.Lines(b) {
				var kb int64
				if _, err := fmt.Sscanf(string(line), "RssAnon: %d kB", &kb); err == nil {
					top = max(top, kb<<10)
				}
			}
		}
	}()
	return most
}
