package gate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/gate/sinktest"
	"github.com/obstat/obstat/preview"
)

// dir is a new directory by the name that no link leads to.
func dir(t *testing.T) string {
	t.Helper()
	d, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func put(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// tree is everything below root, directories left out.
func tree(t *testing.T, root string) func() string {
	return func() string {
		var b strings.Builder
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			read := os.ReadFile
			if d.Type()&fs.ModeSymlink != 0 {
				read = func(p string) ([]byte, error) { to, err := os.Readlink(p); return []byte(to), err }
			}
			text, err := read(p)
			info, err2 := d.Info()
			if err := errors.Join(err, err2); err != nil {
				return err
			}
			rel, _ := filepath.Rel(root, p)
			fmt.Fprintf(&b, "%s %v %q\n", rel, info.Mode(), text)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
}

func TestFilesConform(t *testing.T) {
	sinktest.Test(t, func() sinktest.World {
		root := dir(t)
		put(t, root, map[string]string{"a": "one", "b": "two", "x": "prog"})
		f, err := gate.PlanFiles(root,
			gate.FileChange{Path: "a", After: []byte("uno")}, gate.FileChange{Path: "b", Delete: true},
			gate.FileChange{Path: "d/c", After: []byte("tre")}, gate.FileChange{Path: "x", After: []byte("prog"), Mode: preview.ModeProgram})
		if err != nil {
			t.Fatal(err)
		}
		return sinktest.World{
			Effect: f, Look: tree(t, root),
			Tamper: []func(){
				func() { f.Changes[0].After[0] = 'x' }, func() { f.Changes[0].Path = "z"; f.Changes[0].Before = preview.Content{} },
				func() { f.Changes[1].Delete = false }, func() { f.Changes[2].Mode = preview.ModeProgram },
				func() { f.Changes = f.Changes[1:] }, func() { f.Changes[0].Before = preview.ContentOf([]byte("else")) },
				func() { f.Root = dir(t) },
			},
			Move: func() { put(t, root, map[string]string{"d/c": "theirs"}) },
			Undo: func(delta []byte) error { return gate.ApplyDelta(delta) },
		}
	})
}

func TestUndoConforms(t *testing.T) {
	sinktest.Test(t, func() sinktest.World {
		root := dir(t)
		put(t, root, map[string]string{"a": "one", "b": "two"})
		u, err := gate.UndoneOnce(t, root, gate.FileChange{Path: "a", After: []byte("uno")}, gate.FileChange{Path: "c", After: []byte("tre")})
		if err != nil {
			t.Fatal(err)
		}
		return sinktest.World{
			Effect: u, Look: tree(t, root),
			Tamper: []func(){
				func() { u.Files().Changes[0].After[0] = 'x' }, func() { u.Outcome[10] ^= 1 },
			},
			Move: func() { put(t, root, map[string]string{"a": "theirs"}) },
			Undo: func(delta []byte) error { return gate.ApplyDelta(delta) },
		}
	})
}

func TestExecConforms(t *testing.T) {
	shell, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Skip("no sh on this system")
	}
	sinktest.Test(t, func() sinktest.World {
		root := dir(t)
		put(t, root, map[string]string{"sub/counter": ""})
		e := &gate.Exec{
			Root: root, Dir: filepath.Join(root, "sub"), Program: shell, Argv: []string{"sh", "-c", `cat >> counter; echo "$0 $A" >> counter`, "zero"},
			Env: []string{"A=b", "PATH=" + os.Getenv("PATH")}, Stdin: []byte("in\n"),
		}
		return sinktest.World{
			Effect: e, Look: tree(t, root),
			Tamper: []func(){
				func() { e.Argv[3] = "one" }, func() { e.Env[0] = "A=c" }, func() { e.Stdin[0] = 'x' }, func() { e.Dir = root },
				func() { e.Program = "/bin/cat" }, func() { e.Argv = e.Argv[:3] }, func() { e.Env = append(e.Env, "LD_PRELOAD=/tmp/x.so") },
			},
			Move: func() {
				if err := errors.Join(os.Rename(filepath.Join(root, "sub"), filepath.Join(root, "bus")), os.Symlink(os.TempDir(), filepath.Join(root, "sub"))); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { os.Remove(filepath.Join(root, "sub")) })
			},
		}
	})
}

func TestHTTPConforms(t *testing.T) {
	sinktest.Test(t, func() sinktest.World {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var got strings.Builder
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				b := make([]byte, 4096)
				n, _ := c.Read(b)
				mu.Lock()
				got.Write(b[:n])
				mu.Unlock()
				_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
				c.Close()
			}
		})
		t.Cleanup(func() { l.Close(); wg.Wait() })
		h := &gate.HTTP{
			Method: "POST", URL: "http://h.example/a", Address: l.Addr().String(), Body: []byte("body"),
			Headers: []preview.Header{{Name: "A", Value: "b"}},
		}
		return sinktest.World{
			Effect: h,
			Look: func() string {
				mu.Lock()
				defer mu.Unlock()
				return got.String()
			},
			Tamper: []func(){
				func() { h.Method = "PUT" }, func() { h.URL += "b" }, func() { h.Body[0] = 'B' }, func() { h.Headers[0].Value = "c" },
				func() { h.Address = "192.0.2.1:80" },
			},
		}
	})
}

func TestToolConforms(t *testing.T) {
	sinktest.Test(t, func() sinktest.World {
		definition, calls := []byte("v1"), ""
		tool := &gate.Tool{
			Server: "s", Name: "t", Arguments: []byte(`{"a": 1}`),
			Definition: func() ([]byte, error) { return definition, nil },
			Call: func(_ context.Context, arguments []byte) ([]byte, error) {
				calls += string(arguments) + "\n"
				return nil, nil
			},
		}
		return sinktest.World{
			Effect: tool, Look: func() string { return calls },
			Tamper: []func(){
				func() { tool.Arguments[6] = '2' }, func() { definition[1] = '2' }, func() { tool.Name = "u" }, func() { tool.Server = "r" },
			},
		}
	})
}
