package gate

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// marker is what this test's own executable prints when it is started under
// another name; an attacker changes its last byte in the file.
var marker = []byte("obstat-marker-in-the-program:A")

const markerEnv = "OBSTAT_PRINT_MARKER=1"

func init() {
	if os.Getenv("OBSTAT_PRINT_MARKER") == "1" {
		self, err := os.Readlink("/proc/self/exe")
		os.Stdout.Write(append(marker[len(marker)-1:], (" " + self)...))
		for fd := range 64 {
			if to, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil && to == self {
				fmt.Printf(" has itself open as %d", fd)
			}
		}
		if err != nil {
			os.Exit(3)
		}
		os.Exit(0)
	}
}

// marked is a copy of this test's executable, and where its marker ends.
func marked(t *testing.T) (path string, at int64) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	i := bytes.Index(b, marker)
	if i < 0 || bytes.Contains(b[i+1:], marker) {
		t.Fatal("the marker does not stand in the executable once")
	}
	path = filepath.Join(realDir(t), "prog")
	if err := os.WriteFile(path, b, 0o700); err != nil {
		t.Fatal(err)
	}
	return path, int64(i + len(marker) - 1)
}

// digests is what each of the two programs prints, by the digest of the request
// to run it.
func digests(t *testing.T, path string, at int64) map[receipt.Digest]byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[receipt.Digest]byte{}
	for _, c := range []byte("AB") {
		b[at] = c
		req := request(nil)
		p, err := req.preview(Plan{
			Intent: preview.Exec{
				Root: filepath.Dir(path), Dir: filepath.Dir(path), Program: path, File: preview.ContentOf(b),
				Argv: []string{"prog"}, Env: []string{markerEnv},
			},
			Effects: []preview.Effect{{On: preview.OnExec, Target: path}},
		})
		if err != nil {
			t.Fatal(err)
		}
		rho, err := p.Seal(secret(t))
		if err != nil {
			t.Fatal(err)
		}
		all[rho.Digest()] = c
	}
	return all
}

// rewrite turns the program at path into its other self and back, in place,
// until the test ends, with a pause between, which may be changed meanwhile. Each
// time it opens the file anew, unless keep.
func rewrite(t *testing.T, path string, at int64, keep bool, pause *atomic.Int64) (writes *atomic.Int64) {
	t.Helper()
	writes = new(atomic.Int64)
	stop, done := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-done })
	open := func() *os.File {
		// Not blocking: who holds the lease is this very process.
		f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NONBLOCK, 0)
		if err != nil {
			return nil
		}
		return f
	}
	var kept *os.File
	if keep {
		if kept = open(); kept == nil {
			t.Fatal("the attacker cannot open the file")
		}
	}
	go func() {
		defer close(done)
		for b := byte('B'); ; b ^= 'A' ^ 'B' {
			select {
			case <-stop:
				if kept != nil {
					kept.Close()
				}
				return
			default:
			}
			f := kept
			if f == nil {
				if f = open(); f == nil {
					time.Sleep(100 * time.Microsecond)
					continue
				}
			}
			if _, err := f.WriteAt([]byte{b}, at); err == nil {
				writes.Add(1)
			}
			if kept == nil {
				f.Close()
			}
			time.Sleep(time.Duration(pause.Load()))
		}
	}()
	return writes
}

// A program that somebody rewrites in place, all the time, never runs as
// anything but what was judged.
func TestProgramRewrittenInPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		pin   Pin
		keep  bool // the file is open for writing all the time
		pause time.Duration
	}{
		{"auto", PinAuto, false, 5 * time.Millisecond}, {"in place", PinInPlace, false, 25 * time.Millisecond},
		{"copy", PinCopy, false, time.Millisecond}, {"auto, written to already", PinAuto, true, time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, at := marked(t)
			g, _ := gated(t, says(admits, nil))
			prints := digests(t, path, at)
			var pause atomic.Int64
			pause.Store(int64(c.pause))
			writes := rewrite(t, path, at, c.keep, &pause)
			e := &Exec{
				Root: filepath.Dir(path), Dir: filepath.Dir(path), Program: path, Argv: []string{"prog"}, Env: []string{markerEnv}, Pin: c.pin,
			}
			ran, other := 0, 0
			for until := time.Now().Add(250 * time.Millisecond); time.Now().Before(until) || (ran == 0 || writes.Load() == 0) && time.Now().Before(until.Add(time.Minute)); {
				j, err := g.Judge(t.Context(), request(e))
				if errors.As(err, new(*FaultError)) {
					other++
					if ran == 0 {
						pause.Store(min(pause.Load()*5/4, int64(time.Second)))
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if out := commit(t, j); out.Disposition.Word() != "committed" {
					other++
					if ran == 0 { // a busy machine is slower than the attacker
						pause.Store(min(pause.Load()*5/4, int64(time.Second)))
					}
				} else if ran++; prints[j.Digest()] != out.Result.Process.Stdout[0] {
					t.Fatalf("the program that prints %q was judged, and %q ran", prints[j.Digest()], out.Result.Process.Stdout)
				}
			}
			if writes.Load() == 0 || ran == 0 {
				t.Fatalf("%d writes, %d runs: nothing was tried", writes.Load(), ran)
			}
			t.Logf("%d writes; %d ran, %d did not", writes.Load(), ran, other)
		})
	}
}

// What is written to all the time is not run in place.
func TestInPlaceRefusesWhatIsWrittenTo(t *testing.T) {
	path, at := marked(t)
	var pause atomic.Int64
	pause.Store(int64(time.Millisecond))
	rewrite(t, path, at, true, &pause)
	if p, err := openProgram(path, PinInPlace); err == nil {
		p.close()
		t.Fatal("a program that is open for writing was held")
	}
}

// A program that runs in place finds itself there, and gets no descriptor of
// the gate's; a copy does not.
func TestWhereAProgramRuns(t *testing.T) {
	path, _ := marked(t)
	for pin, want := range map[Pin]string{PinAuto: "A " + path, PinInPlace: "A " + path, PinCopy: "A /memfd:obstat-program (deleted)"} {
		p, err := openProgram(path, pin)
		if err != nil {
			t.Fatal(err)
		}
		e, _, err := (&process{program: p, argv: []string{"prog"}, env: []string{markerEnv}, dir: "/"}).run(t.Context(), opened(t, "/"))
		if err := errors.Join(err, p.close()); err != nil || string(e.stdout.kept) != want {
			t.Errorf("%q: %q, %v; want %q", pin, e.stdout.kept, err, want)
		}
	}
}
