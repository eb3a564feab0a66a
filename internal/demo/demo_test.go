package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// programs builds what make demo builds.
func programs(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("the demo is about a git repository, and this system has no git")
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin, "./cmd/logd", "./cmd/verify")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// play plays the demo with little patience in a temporary folder of the test.
func play(t *testing.T, cfg config) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cfg.patience = 200 * time.Millisecond
	status = perform(t.Context(), cfg, &out, &errs)
	return status, out.String(), errs.String()
}

func TestDemo(t *testing.T) {
	bin := programs(t)
	t.Run("as it is", func(t *testing.T) {
		temp := t.TempDir()
		t.Setenv("TMPDIR", temp)
		// What a person has set up at home must not be seen by the session.
		t.Setenv("GIT_DIR", "/nowhere")
		t.Setenv("GIT_AUTHOR_NAME", "")
		status, out, errs := play(t, config{bin: bin})
		if status != exitDone || errs != "" {
			t.Fatalf("exit %d\n%s\n%s", status, errs, out)
		}
		for line := range strings.Lines(out) {
			line = strings.TrimRight(line, "\n")
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("%d columns: %s", n, line)
			}
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("control characters: %q", line)
			}
		}
		for _, want := range []string{
			`0 +1 +- +run-open +- +- +yes`,
			`1, 2 +2, 3 +exec +git init +admit +committed +yes, yes`,
			`3, 4 +4, 5 +files +write README, src/main\.txt +admit +committed +yes, yes`,
			`7, 8 +8, 9 +exec +git commit -q -m First +admit +committed +yes, yes`,
			`9, 10 +10, 11 +exec +git ls-files +admit +committed +yes, yes`,
			`11 +12 +exec +git rm -rf src +deny +- +yes`,
			`12, 13 +13, 14 +exec +git tag v1 \(red\) +escalate +expired +yes, yes`,
			`14, 15 +15, 16 +exec +git branch keep +admit +diverged +yes, yes`,
			`16, 17 +17, 18 +files +write README, src/more\.txt +admit +stale +yes, yes`,
			`18, 19 +19, 20 +exec +git commit -q -m Nothing +admit +failed +yes, yes`,
			`20 +21 +- +run-close +- +- +yes`,
		} {
			if !regexp.MustCompile(`(?m)^ +` + want + `$`).MatchString(out) {
				t.Errorf("the table has no line %s\n%s", want, out)
			}
		}
		if n := strings.Count(out, "refuted by: signature SIGNATURE-INVALID, inclusion PROOF-INVALID\n"); n != 2 || strings.Contains(out, "FAILED") {
			t.Errorf("%d forgeries were refuted\n%s", n, out)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
	t.Run("kept, where no network can be taken away", func(t *testing.T) {
		only := t.TempDir() // a PATH on which there is git and nothing else
		git, err := exec.LookPath("git")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(git, filepath.Join(only, "git")); err != nil {
			t.Skip(err)
		}
		t.Setenv("PATH", only)
		dir := filepath.Join(t.TempDir(), "kept")
		status, out, errs := play(t, config{bin: bin, dir: dir})
		if status != exitDone || !strings.Contains(out, "network not taken away") || !strings.Contains(out, "Kept: ") {
			t.Fatalf("exit %d\n%s\n%s", status, errs, out)
		}
		bundles, err := filepath.Glob(filepath.Join(dir, "receipts", "*.receipt.json"))
		if err != nil || len(bundles) != 21 {
			t.Errorf("%d receipts were kept, %v", len(bundles), err)
		}
		if status, _, errs := play(t, config{bin: bin, dir: dir}); status != exitFailed || !strings.Contains(errs, "not empty") {
			t.Errorf("a second demo in one folder: exit %d, %s", status, errs)
		}
	})
	// The demo is worth something only if it can fail.
	for name, lie := range map[string]string{
		"that verifies everything":                   `echo '{"overall":"verified","checks":[]}'; exit 0`,
		"that refutes everything":                    `echo '{"overall":"refuted","checks":[{"name":"form","answer":"refuted","code":"X"}]}'; exit 1`,
		"that says one thing and exits with another": `"` + bin + `/verify" "$@"; exit 0`,
		"that crashes":                               `exit 2`,
	} {
		t.Run("with a verifier "+name, func(t *testing.T) {
			status, out, errs := play(t, config{bin: fake(t, bin, "verify", lie)})
			if status != exitFailed || errs == "" {
				t.Errorf("exit %d\n%s\n%s", status, errs, out)
			}
		})
	}
	t.Run("with a log that does not start", func(t *testing.T) {
		status, _, errs := play(t, config{bin: fake(t, bin, "logd", `[ $1 = init ] && exec "`+bin+`/logd" "$@"; echo no disk >&2; exit 1`)})
		if status != exitFailed || !strings.Contains(errs, "no disk") {
			t.Errorf("exit %d, %s", status, errs)
		}
	})
}

// fake is a directory of programs in which one is a shell script.
func fake(t *testing.T, bin, name, script string) string {
	t.Helper()
	dir := t.TempDir()
	for _, p := range []string{"logd", "verify"} {
		if p == name {
			continue
		}
		if err := os.Symlink(filepath.Join(bin, p), filepath.Join(dir, p)); err != nil {
			t.Skip(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, name), fmt.Appendf(nil, "#!/bin/sh\n%s\n", script), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
	}{
		{nil, exitUsage}, {[]string{"--bin", "x", "y"}, exitUsage}, {[]string{"--colour"}, exitUsage},
		{[]string{"--help"}, exitDone}, {[]string{"--bin", t.TempDir()}, exitFailed},
	} {
		var out, errs bytes.Buffer
		if got := run(t.Context(), c.args, &out, &errs); got != c.status || out.Len()+errs.Len() == 0 {
			t.Errorf("%q: exit %d, %s%s", c.args, got, out.String(), errs.String())
		}
	}
}
