package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/obstat/obstat/internal/keyfile"
	"github.com/obstat/obstat/report"
)

// overSocket asks the admin socket.
func overSocket(t *testing.T, socket, path string) (int, string) {
	t.Helper()
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	defer tr.CloseIdleConnections()
	return fetch(t, &http.Client{Transport: tr}, "http://admin"+path)
}

func fetch(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// operated is a server with an admin socket, in a directory of a short name,
// since a socket's path is short.
func operated(t *testing.T) (p *process, dir, socket string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no Unix sockets of this kind")
	}
	dir = filepath.Join(t.TempDir(), "d")
	if err := initialise(&Config{Dir: dir, Origin: "example.com/log", Keys: []Registered{{Role: "engine", Name: "ci"}}}, io.Discard); err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("", "o")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	socket = filepath.Join(short, "a")
	return relaunch(t, dir, "--admin-socket", socket, "--metrics-listen", "127.0.0.1:0"), dir, socket
}

func relaunch(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	p, err := launch(dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.end(os.Kill)
		}
	})
	return p
}

// TestMetrics: what dashboards and alerts ask for is there, what is there is
// described, and the numbers move.
func TestMetrics(t *testing.T) {
	p, dir, socket := operated(t)
	key, err := keyfile.Read(filepath.Join(dir, keyFileName(Registered{Role: "engine", Name: "ci"})), nil)
	if err != nil {
		t.Fatal(err)
	}
	env, err := opening("counted", key)
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]int{string(env.JSON()): 201, "{": 400} {
		resp, err := http.Post(p.url+"/v1/receipts", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != want {
			t.Fatalf("%d, want %d", resp.StatusCode, want)
		}
	}
	status, scrape := overSocket(t, socket, "/metrics")
	if status != 200 {
		t.Fatal(status, scrape)
	}
	for _, line := range []string{
		`obstat_log_size_leaves 2`, `obstat_log_leaves_total 1`, `obstat_log_group_leaves_count 1`,
		`obstat_http_requests_total{method="POST",route="/v1/receipts",status="201"} 1`,
		`obstat_http_refusals_total{code="DSSE-SYNTAX",route="/v1/receipts"} 1`,
		`obstat_submit_stage_duration_seconds_count{stage="sequence"} 1`,
		`obstat_submit_stage_duration_seconds_count{stage="answer"} 1`,
		`obstat_rollback_protection{state="none"} 1`, `obstat_log_stopped 0`, `obstat_registry_version 0`,
	} {
		if !strings.Contains(scrape, "\n"+line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	told := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\w+) (\w+)$`).FindAllStringSubmatch(scrape, -1) {
		told[m[1]] = true
		if m[2] == "histogram" {
			for _, part := range []string{"_bucket", "_sum", "_count"} {
				told[m[1]+part] = true
			}
		}
	}
	told["obstat_anchor_current"] = true // where there are anchors
	for _, file := range []string{"../../deploy/prometheus/obstat.rules.yml", "../../deploy/grafana/obstat.json", "../../docs/operation.md"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		asked := regexp.MustCompile(`\b(obstat|process)_[a-z_]+`).FindAllString(string(b), -1)
		if len(asked) == 0 {
			t.Errorf("%s asks for nothing", file)
		}
		for _, name := range asked {
			if !told[name] {
				t.Errorf("%s asks for %s, which no scrape has", file, name)
			}
		}
		if strings.HasSuffix(file, ".md") {
			for name := range told {
				if strings.HasPrefix(name, "obstat_") && !regexp.MustCompile(`_(bucket|sum|count)$`).MatchString(name) && !slices.Contains(asked, name) {
					t.Errorf("%s does not describe %s", file, name)
				}
			}
		}
	}
	// The address for Prometheus has that and nothing else; the log's has none.
	p2 := relaunchAt(t, p, dir, socket)
	at := regexp.MustCompile(`msg=metrics url=(\S+)/metrics`).FindStringSubmatch(p2.stderr.String())
	if at == nil {
		t.Fatalf("no address for metrics in\n%s", p2.stderr)
	}
}

// relaunchAt ends p and starts another with the same settings, whose standard
// error can be read since it has ended too.
func relaunchAt(t *testing.T, p *process, dir, socket string) *process {
	t.Helper()
	if err := p.end(syscall.SIGTERM); err != nil {
		t.Fatalf("%v\n%s", err, p.stderr)
	}
	if _, err := os.Lstat(socket); !os.IsNotExist(err) {
		t.Errorf("the socket is left behind: %v", err)
	}
	q := relaunch(t, dir, "--admin-socket", socket, "--metrics-listen", "127.0.0.1:0")
	for path, want := range map[string]int{"/metrics": 404, "/debug/pprof/": 404, "/status": 404} {
		if got, _ := fetch(t, http.DefaultClient, q.url+path); got != want {
			t.Errorf("%s of the log: %d, want %d", path, got, want)
		}
	}
	if err := q.end(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	return q
}

// TestMetricsAddress: the address for Prometheus answers metrics and nothing
// else.
func TestMetricsAddress(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	dir := filepath.Join(t.TempDir(), "d")
	if err := initialise(&Config{Dir: dir, Origin: "example.com/log", Keys: []Registered{{Role: "engine", Name: "ci"}}}, io.Discard); err != nil {
		t.Fatal(err)
	}
	relaunch(t, dir, "--metrics-listen", address)
	if status, body := fetch(t, http.DefaultClient, "http://"+address+"/metrics"); status != 200 || !strings.Contains(body, "obstat_log_size_leaves 1\n") || !strings.Contains(body, "obstat_build_info{") {
		t.Errorf("%d %s", status, body)
	}
	for _, path := range []string{"/", "/status", "/config", "/debug/pprof/", "/v1/limits"} {
		if status, _ := fetch(t, http.DefaultClient, "http://"+address+path); status != 404 {
			t.Errorf("%s: %d, want 404", path, status)
		}
	}
}

// TestAdminSocket: for its owner alone; what a killed process left behind is
// replaced, and what a living one uses is not.
func TestAdminSocket(t *testing.T) {
	p, dir, socket := operated(t)
	st, err := os.Stat(socket)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatal(st, err)
	}
	var o overview
	status, body := overSocket(t, socket, "/status")
	if err := json.Unmarshal([]byte(body), &o); err != nil || status != 200 {
		t.Fatal(status, body, err)
	}
	if o.Origin != "example.com/log" || o.Size != 1 || o.RollbackProtection != "none" || o.Stopped != "" {
		t.Errorf("%+v", o)
	}
	if status, body := overSocket(t, socket, "/config"); status != 200 || !strings.Contains(body, "socket = '"+socket+"'") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := overSocket(t, socket, "/debug/pprof/goroutine?debug=1"); status != 200 || !strings.Contains(body, "goroutine profile") {
		t.Errorf("%d %.100s", status, body)
	}
	if status, _ := overSocket(t, socket, "/v1/receipts"); status != 404 {
		t.Errorf("the log on the admin socket: %d", status)
	}

	other := filepath.Join(t.TempDir(), "other")
	if err := initialise(&Config{Dir: other, Origin: "example.com/other", Keys: []Registered{{Role: "engine", Name: "ci"}}}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if q, err := launch(other, "--admin-socket", socket); err == nil || !strings.Contains(err.Error(), string(report.CodeListenRefused)) {
		t.Errorf("a socket in use was taken: %v", err)
		_ = q.end(os.Kill)
	}
	_ = p.end(os.Kill)
	if _, err := os.Lstat(socket); err != nil {
		t.Fatal("a killed process leaves its socket:", err)
	}
	relaunch(t, dir, "--admin-socket", socket)
	if status, _ := overSocket(t, socket, "/status"); status != 200 {
		t.Errorf("%d", status)
	}
	file := filepath.Join(filepath.Dir(socket), "file")
	if err := os.WriteFile(file, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, "/" + strings.Repeat("x", 120), filepath.Join(filepath.Dir(socket), "none", "a")} {
		if q, err := launch(other, "--admin-socket", path); err == nil || !strings.Contains(err.Error(), "-") {
			t.Errorf("%s: %v", path, err)
			_ = q.end(os.Kill)
		}
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "mine" {
		t.Error("a file was replaced:", err)
	}
}

// TestRunbook: every alert names its page, which is there, and every page has
// its alert; the dashboard reads.
func TestRunbook(t *testing.T) {
	b, err := os.ReadFile("../../deploy/prometheus/obstat.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if err := yaml.UnmarshalWithOptions(b, &rules, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile("../../docs/runbook/README.md")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]bool{}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			page := "docs/runbook/" + r.Alert + ".md"
			if r.Expr == "" || r.For == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || !strings.HasSuffix(r.Annotations["runbook_url"], "/"+page) {
				t.Errorf("%s is not complete: %+v", r.Alert, r)
			}
			text, err := os.ReadFile("../../" + page)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, part := range []string{"# " + r.Alert, r.Expr, "## What it means", "## What to look at", "## What to do"} {
				if !strings.Contains(string(text), part) {
					t.Errorf("%s does not say %q", page, part)
				}
			}
			if !strings.Contains(string(index), "]("+r.Alert+".md)") {
				t.Errorf("the runbook does not list %s", r.Alert)
			}
			pages[r.Alert+".md"] = true
		}
	}
	entries, err := os.ReadDir("../../docs/runbook")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "README.md" && !pages[e.Name()] {
			t.Errorf("docs/runbook/%s is of no alert", e.Name())
		}
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if b, err = os.ReadFile("../../deploy/grafana/obstat.json"); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &dashboard); err != nil || len(dashboard.Panels) == 0 {
		t.Error(len(dashboard.Panels), err)
	}
}
