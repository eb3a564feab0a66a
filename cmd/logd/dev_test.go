package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDev: every command that logd dev prints works as it stands there, and the
// refusal is one; what was not to be kept is gone.
func TestDev(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("builds programs")
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	bin := t.TempDir()
	for _, program := range []string{"gate", "logd", "verify"} {
		if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, program), "../"+program).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, kept := range []bool{false, true} {
		args := []string{"dev"}
		if kept {
			args = append(args, "--dir", filepath.Join(t.TempDir(), "log"))
		}
		var again string
		for range 2 {
			again = tryDev(t, filepath.Join(bin, "logd"), args, kept && again != "")
			if !kept {
				break
			}
		}
	}
}

// tryDev runs logd dev and what it prints, and returns where its log was. On a
// second start the run's name is taken, so another one is opened.
func tryDev(t *testing.T, logd string, args []string, second bool) string {
	t.Helper()
	cmd := exec.Command(logd, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	defer func() {
		if !ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}()
	var text strings.Builder
	for in := bufio.NewScanner(out); in.Scan(); {
		text.WriteString(in.Text() + "\n")
		if strings.Contains(in.Text(), "http://x/status") || strings.Contains(in.Text(), "verify log") && !strings.Contains(text.String(), "admin.sock") && len(args) == 3 {
			break
		}
	}
	dir := regexp.MustCompile(`in (\S+), with keys`).FindStringSubmatch(text.String())
	if dir == nil {
		t.Fatal(text.String())
	}
	work := t.TempDir()
	for _, line := range regexp.MustCompile(`(?m)^  (\S.*)$`).FindAllStringSubmatch(text.String(), -1) {
		command := line[1]
		if strings.HasPrefix(command, "curl ") {
			if _, err := exec.LookPath("curl"); err != nil {
				continue
			}
			command = strings.Replace(command, "curl ", "curl -sf ", 1)
		}
		if second {
			command = strings.Replace(command, "run open first", "run open second", 1)
		}
		run := func() (*exec.Cmd, []byte, error) {
			c := exec.Command("sh", "-c", command)
			c.Dir = work
			b, err := c.CombinedOutput()
			return c, b, err
		}
		c, b, err := run()
		// The index and the tiles are written behind the log.
		behind := func() bool {
			return strings.Contains(command, "verdict=deny") && strings.Contains(string(b), `"leaves":[]`) ||
				strings.Contains(command, "verify log ") && strings.Contains(string(b), "a log of 1 leaves")
		}
		for end := time.Now().Add(time.Minute); behind() && time.Now().Before(end); c, b, err = run() {
			time.Sleep(50 * time.Millisecond)
		}
		got, want := 0, 0
		if err != nil {
			got = c.ProcessState.ExitCode()
		}
		if strings.Contains(command, "git push") {
			want = 126
		}
		if strings.Contains(command, "verify log ") && got == 3 {
			continue // a law about time is not checked without a witness
		}
		if got != want {
			t.Errorf("%s: exit %d, want %d\n%s", command, got, want, b)
		}
		if behind() {
			t.Errorf("%s does not show what happened: %s", command, b)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	ended = true
	_, err = os.Stat(dir[1])
	if gone := os.IsNotExist(err); gone != (len(args) == 1) {
		t.Errorf("%s is gone: %v", dir[1], gone)
	}
	return dir[1]
}
