package durable_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/durable/faultfs"
)

func onDisk(t *testing.T) durable.FS {
	t.Helper()
	f, err := durable.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The real file system and the one of the tests answer alike.
func TestBothFileSystems(t *testing.T) {
	for name, f := range map[string]durable.FS{"disk": onDisk(t), "memory": faultfs.New()} {
		t.Run(name, func(t *testing.T) { conformance(t, f) })
	}
}

func conformance(t *testing.T, f durable.FS) {
	must(t, f.Mkdir("d"))
	must(t, f.Mkdir("d"))
	w, err := f.Create("d/a")
	must(t, err)
	if _, err := f.Create("d/a"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("create again: %v", err)
	}
	must(t, w.Append([]byte("hello ")))
	must(t, w.Append([]byte("world")))
	must(t, w.SyncData())
	b := make([]byte, 5)
	if n, err := w.ReadAt(b, 6); n != 5 || err != nil || string(b) != "world" {
		t.Errorf("%d %v %q", n, err, b)
	}
	if n, err := w.ReadAt(b, 8); n != 3 || err != io.EOF {
		t.Errorf("short read: %d %v", n, err)
	}
	if err := durable.ReadFull(w, b, 8); err != io.ErrUnexpectedEOF {
		t.Errorf("short full read: %v", err)
	}
	must(t, w.Preallocate(4096))
	must(t, w.Append([]byte("!")))
	must(t, w.Truncate(12))
	must(t, w.Append([]byte("?")))
	must(t, w.Close())
	must(t, f.Rename("d/a", "d/b"))
	must(t, f.SyncDir("d"))
	got, err := durable.ReadFile(f, "d/b", 100)
	if err != nil || string(got) != "hello world!?" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := durable.ReadFile(f, "d/b", 3); err == nil {
		t.Error("read over the limit")
	}
	a, err := f.Append("d/b")
	must(t, err)
	must(t, a.Append([]byte("more")))
	must(t, a.Close())
	must(t, durable.WriteFile(f, "d/c", []byte("one")))
	must(t, durable.WriteFile(f, "d/c", []byte("two")))
	if got, err := durable.ReadFile(f, "d/c", 100); err != nil || string(got) != "two" {
		t.Errorf("%q %v", got, err)
	}
	entries, err := f.ReadDir("d")
	if err != nil || len(entries) != 2 || entries[0].Name() != "b" || entries[1].Name() != "c" {
		t.Errorf("%v %v", entries, err)
	}
	must(t, f.Remove("d/c"))
	for _, err := range []error{f.Remove("d/c"), second(f.Open("d/c")), second(f.Append("no/such")), second(f.ReadDir("e"))} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v", err)
		}
	}
	if _, err := f.Open("../up"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a name that leads out: %v", err)
	}
	l, err := f.Lock("LOCK")
	must(t, err)
	var held *durable.LockedError
	if _, err := f.Lock("LOCK"); !errors.As(err, &held) {
		t.Errorf("second lock: %v", err)
	}
	must(t, l.Close())
	l, err = f.Lock("LOCK")
	must(t, err)
	must(t, l.Close())
}

func second[T any](_ T, err error) error { return err }

// A lock is held against another process, which learns by whom, and is free
// when its holder is dead.
func TestLockBetweenProcesses(t *testing.T) {
	if dir := os.Getenv("OBSTAT_LOCK_DIR"); dir != "" {
		f, err := durable.OpenDir(dir)
		must(t, err)
		_, err = f.Lock("LOCK")
		must(t, err)
		os.Stdout.WriteString("locked\n")
		_, _ = io.Copy(io.Discard, os.Stdin) // until killed
		return
	}
	f := onDisk(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestLockBetweenProcesses$")
	cmd.Env = append(os.Environ(), "OBSTAT_LOCK_DIR="+f.String())
	in, err := cmd.StdinPipe()
	must(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	b := make([]byte, 7)
	if _, err := io.ReadFull(out, b); err != nil || string(b) != "locked\n" {
		t.Fatalf("%q %v", b, err)
	}
	_, err = f.Lock("LOCK")
	var held *durable.LockedError
	if !errors.As(err, &held) || !strings.HasPrefix(held.Holder, "pid ") {
		t.Errorf("got %v", err)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	l, err := f.Lock("LOCK")
	must(t, err)
	must(t, l.Close())
}

// After a failed sync a later one does not save what the failed one lost.
func TestFailedSyncIsForEver(t *testing.T) {
	f := faultfs.New()
	w, err := f.Create("a")
	must(t, err)
	must(t, f.SyncDir("."))
	must(t, w.Append([]byte("first ")))
	f.SetHook(func(op faultfs.Op) *faultfs.Fault {
		if op.Kind == faultfs.SyncData {
			return &faultfs.Fault{Err: syscall.EIO}
		}
		return nil
	})
	if err := w.SyncData(); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	f.SetHook(nil)
	must(t, w.SyncData())
	if b, err := durable.ReadFile(f, "a", 100); err != nil || string(b) != "first " {
		t.Errorf("the page cache shows %q, %v", b, err)
	}
	if b, err := durable.ReadFile(f.PowerCut(faultfs.LoseAll()), "a", 100); err != nil || len(b) != 0 {
		t.Errorf("the disk holds %q, %v", b, err)
	}
}

// WriteFile is all or nothing, wherever the power goes.
func TestWriteFileIsAtomic(t *testing.T) {
	count := 0
	for step := 0; ; step++ {
		f := faultfs.New()
		must(t, durable.WriteFile(f, "a", []byte("old")))
		from := len(f.Ops())
		f.SetHook(func(op faultfs.Op) *faultfs.Fault {
			if op.Step == from+step && op.Kind != faultfs.Read {
				return &faultfs.Fault{Err: faultfs.ErrPowerCut, Applied: true}
			}
			return nil
		})
		done := durable.WriteFile(f, "a", make([]byte, 10_000)) == nil
		for seed := range uint64(50) {
			b, err := durable.ReadFile(f.PowerCut(faultfs.Random(seed)), "a", 1<<20)
			if err != nil || string(b) != "old" && string(b) != string(make([]byte, 10_000)) {
				t.Fatalf("step %d: %d bytes, %v", step, len(b), err)
			}
			if done && len(b) == 3 {
				t.Fatal("done and not there")
			}
			count++
		}
		if done {
			break
		}
	}
	if count < 200 {
		t.Fatalf("only %d power cuts", count)
	}
}
