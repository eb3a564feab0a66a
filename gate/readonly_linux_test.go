package gate

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/obstat/obstat/receipt"
)

// Under a root that cannot be written to, the system says so, and nothing is
// applied.
func TestReadOnlyRoot(t *testing.T) {
	dir := realDir(t)
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // whom modes do not keep from writing
		if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
			t.Skipf("bind mount: %v", err)
		}
		t.Cleanup(func() {
			if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
			t.Skipf("read-only: %v", err)
		}
	} else {
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	}
	g, l := gated(t, says(admits, nil))
	for _, c := range []FileChange{{Path: "a", After: []byte("two")}, {Path: "b", After: []byte("two")}, {Path: "d/c", After: []byte("x")}} {
		f, err := PlanFiles(dir, c)
		if err != nil {
			t.Fatal(err)
		}
		out := commit(t, judged(t, g, f))
		if d, ok := out.Disposition.(receipt.Failed); !ok || d.Code != codeIOError || d.Restored != receipt.RestoredYes {
			t.Errorf("%s: %+v", c.Path, out.Disposition)
		}
		if !errors.Is(out.Err, unix.EROFS) && !errors.Is(out.Err, unix.EACCES) {
			t.Errorf("%s: %v", c.Path, out.Err)
		}
	}
	if got := listing(t, dir); !equal(got, map[string]string{"a": "one"}) {
		t.Errorf("tree is %v", got)
	}
	if left, err := g.cfg.Store.intents(); err != nil || len(left) != 0 {
		t.Errorf("intents %v, %v", left, err)
	}
	wants(t, l, "judgment admit", "outcome failed", "judgment admit", "outcome failed", "judgment admit", "outcome failed")
}
