package importrules

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/obstat/obstat"

// kernel is bytes in, values out. A package may import those before it.
var kernel = []string{
	"report",
	"verdict",
	"merkle",
	"internal/dagcbor",
	"internal/jcs",
	"preview",
	"receipt",
	"receipt/laws",
	"dsse",
	"checkpoint",
	"trust",
	"bundle",
	"audit",
	"corpus",
}

// outside is network, disk and time. A package may import the kernel and those
// before it.
var outside = []string{
	"internal/durable",
	"internal/keyfile",
	"internal/sshkey",
	"internal/proposal",
	"witness",
	"internal/index",
	"internal/rlog",
	"internal/server",
	"client",
	"gate",
	"gate/policy",
	"gate/sinktest",
	"gate/render",
}

// programs stand above both.
var programs = []string{
	"cmd/gate",
	"cmd/logd",
	"cmd/monitor",
	"cmd/verify",
	"internal/demo",
	"internal/loadgen",
}

// testOnly serves tests; no other code imports these.
var testOnly = []string{
	"internal/corpusgen",
	"internal/durable/faultfs",
	"internal/gatecorpus",
	"internal/importrules",
	"internal/readme",
	"internal/secondreader",
	"internal/server/servertest",
	"internal/testlog",
	"internal/vectors",
	"receipt/receipttest",
	"spec",
}

// alone import nothing of this module.
var alone = []string{"report", "verdict"}

// kernelBans: the kernel has no network, disk, clock, chance or log.
var kernelBans = []string{"net", "os", "time", "math/rand", "math/rand/v2", "crypto/rand", "log", "log/slog"}

// verifierBans: the offline verifier has no networking code. crypto/x509
// imports net; os/exec could start something that has it.
var verifierBans = []string{"net", "net/http", "crypto/tls", "crypto/x509", "os/exec"}

var platforms = []struct{ os, arch string }{
	{"linux", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"js", "wasm"},
}

type pkg struct {
	ImportPath string
	Imports    []string
	Dir        string
	GoFiles    []string
}

func list(t *testing.T, goos, goarch string, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-e", "-json=ImportPath,Imports,Dir,GoFiles"}, args...)...)
	cmd.Dir = moduleRoot(t)
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	var errb bytes.Buffer
	cmd.Stderr = &errb
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, errb.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) == 0 {
		t.Fatal("go list named no package")
	}
	return pkgs
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func set(names ...[]string) map[string]int {
	m := map[string]int{}
	for _, list := range names {
		for _, n := range list {
			m[n] = len(m)
		}
	}
	return m
}

func TestArrowsGoOneWay(t *testing.T) {
	order := set(kernel, outside)
	isKernel, isProgram, isTest, isAlone := set(kernel), set(programs), set(testOnly), set(alone)
	for _, p := range list(t, "linux", "amd64", "./...") {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		rank, placed := order[name]
		_, program := isProgram[name]
		_, test := isTest[name]
		if !placed && !program && !test {
			t.Errorf("%s has no place in the picture: add it to a list in this test, with a reason in the commit", name)
			continue
		}
		for _, imp := range p.Imports {
			if _, in := isKernel[name]; in {
				for _, ban := range kernelBans {
					if imp == ban {
						t.Errorf("%s is kernel and imports %s; pass it in as a parameter", name, imp)
					}
				}
			}
			dep, ours := strings.CutPrefix(imp, module+"/")
			if !ours {
				continue
			}
			if _, in := isAlone[name]; in {
				t.Errorf("%s imports %s; it imports nothing of this module", name, dep)
			}
			if _, in := isTest[dep]; in && !test {
				t.Errorf("%s imports %s, which serves tests only", name, dep)
			}
			if _, in := isProgram[dep]; in {
				t.Errorf("%s imports the program %s", name, dep)
			}
			if at, in := order[dep]; in && placed && at >= rank {
				t.Errorf("%s imports %s, which stands after it", name, dep)
			}
		}
	}
}

func TestVerifierReachesNoNetwork(t *testing.T) {
	for _, pl := range platforms {
		t.Run(pl.os+"-"+pl.arch, func(t *testing.T) {
			reached := map[string]bool{}
			outsiders := 0
			for _, p := range list(t, pl.os, pl.arch, "-deps", "./cmd/verify") {
				reached[p.ImportPath] = true
				if strings.Contains(p.ImportPath, ".") && !strings.HasPrefix(p.ImportPath, module) && !strings.HasPrefix(p.ImportPath, "vendor/") {
					outsiders++
				}
			}
			for _, ban := range verifierBans {
				if reached[ban] {
					t.Errorf("cmd/verify reaches %s", ban)
				}
			}
			if !reached["crypto/ed25519"] {
				t.Error("cmd/verify does not reach crypto/ed25519: the list is not what it should be")
			}
			t.Logf("%d packages, %d of them from outside the standard library and this module", len(reached), outsiders)
		})
	}
}

// TestKernelHasNoGoroutine reads the kernel's own source for go statements.
func TestKernelHasNoGoroutine(t *testing.T) {
	root := moduleRoot(t)
	for _, name := range kernel {
		eachFile(t, filepath.Join(root, filepath.FromSlash(name)), func(path string, f *ast.File, fset *token.FileSet) {
			ast.Inspect(f, func(n ast.Node) bool {
				if g, ok := n.(*ast.GoStmt); ok {
					t.Errorf("%s: the kernel starts no goroutine; take a runner from the caller", fset.Position(g.Pos()))
				}
				return true
			})
		})
	}
}

// TestOnlyDurableSyncs: what is on disk is decided in one package.
func TestOnlyDurableSyncs(t *testing.T) {
	root := moduleRoot(t)
	for _, p := range list(t, "linux", "amd64", "./...") {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		if strings.HasPrefix(name, "internal/durable") {
			continue
		}
		eachFile(t, filepath.Join(root, filepath.FromSlash(name)), func(path string, f *ast.File, fset *token.FileSet) {
			ast.Inspect(f, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if pkg, ok := sel.X.(*ast.Ident); ok && (pkg.Name == "unix" || pkg.Name == "syscall") {
					switch sel.Sel.Name {
					case "Fsync", "Fdatasync", "Sync", "SyncFileRange", "FlushFileBuffers":
						t.Errorf("%s: %s.%s outside internal/durable", fset.Position(sel.Pos()), pkg.Name, sel.Sel.Name)
					}
				}
				return true
			})
		})
	}
}

func eachFile(t *testing.T, dir string, do func(string, *ast.File, *token.FileSet)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		do(path, f, fset)
	}
}
