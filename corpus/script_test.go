package corpus

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestScript: check.sh, which other projects run over their corpora, and what
// the action runs, which is the same.
func TestScript(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("check.sh needs a shell")
	}
	dir := t.TempDir()
	verify := filepath.Join(dir, "verify")
	if out, err := exec.Command("go", "build", "-o", verify, "../cmd/verify").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	good := filepath.Join(dir, "good")
	fsys := small(t)
	for path, f := range fsys {
		at := filepath.Join(good, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	broken := filepath.Join(dir, "broken")
	if err := os.CopyFS(broken, os.DirFS(good)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(broken, "keys.trust")); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o777); err != nil {
		t.Fatal(err)
	}
	m, err := Parse(fsys[ManifestName].Data)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, digest string
		dirs         []string
		status       int
	}{
		{"good", "", []string{good}, 0},
		{"good and pinned", m.Digest.String(), []string{good}, 0},
		{"pinned to another", strings.Repeat("1", 64), []string{good}, 1},
		{"broken", "", []string{good, broken, good}, 1},
		{"not there", "", []string{good, filepath.Join(dir, "nowhere")}, 2},
		{"no manifest", "", []string{empty, good}, 3},
		{"the worst of all", "", []string{empty, filepath.Join(dir, "nowhere"), broken, good}, 1},
		{"one digest for two", m.Digest.String(), []string{good, good}, 2},
		{"nothing", "", nil, 2},
	} {
		cmd := exec.Command("sh", append([]string{"check.sh"}, c.dirs...)...)
		cmd.Env = append(os.Environ(), "VERIFY="+verify, "DIGEST="+c.digest)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != c.status {
			t.Errorf("%s: status %d, want %d\n%s", c.name, got, c.status, out)
		}
	}
}

// TestAction: the action runs this script with the inputs that it declares.
func TestAction(t *testing.T) {
	b, err := os.ReadFile("action.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, must := range []string{"using: composite", "inputs.dirs", "inputs.digest", "action_path }}/check.sh", "./cmd/verify"} {
		if !strings.Contains(string(b), must) {
			t.Errorf("action.yml has no %q", must)
		}
	}
}
