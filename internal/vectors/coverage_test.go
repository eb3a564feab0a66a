package vectors

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// notBuilt lists the case files of parts that do not exist yet, each with why.
var notBuilt = map[string]string{}

// notCases are files that describe cases and hold none.
func notCases(name string) bool {
	switch filepath.Ext(name) {
	case ".md":
		return true
	}
	return false
}

// TestEveryCaseFileIsRead holds that every file in the folder of cases is read
// by some test of this module, or stands in notBuilt. A test reads a file when
// the file's name, or a folder above it, stands as a literal in a call of this
// package or in a Table.
func TestEveryCaseFileIsRead(t *testing.T) {
	root, ok := Root()
	if !ok {
		t.Skipf("no test cases: %s is not set and ../shared/vectors does not exist", Env)
	}
	readers := literals(t)
	for name := range notBuilt {
		if where, read := readers[name]; read {
			t.Errorf("%s stands as not built, and %s reads it", name, where)
		}
	}
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files = append(files, filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(files)
	n := 0
	for _, name := range files {
		if notCases(name) || notBuilt[name] != "" {
			continue
		}
		read := false
		for at := name; at != "." && !read; at = filepath.ToSlash(filepath.Dir(at)) {
			_, read = readers[at]
		}
		if !read {
			t.Errorf("no test reads %s: read it, or list it in notBuilt with the reason", name)
		}
		n++
	}
	t.Logf("vectors: %d case files, all read; %d areas not built yet", n, len(notBuilt))
}

// literals returns every string literal in the module's tests that looks like
// the name of a case file or folder, with the test file it stands in.
func literals(t *testing.T) map[string]string {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") || filepath.Base(filepath.Dir(path)) == "vectors" {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && ofThisPackage(call) {
				for _, arg := range call.Args {
					if s, ok := text(arg); ok { // a whole area, such as "tiles"
						found[s] = filepath.ToSlash(rel)
					}
				}
			}
			if s, ok := text(n); ok && strings.Contains(s, "/") && !strings.ContainsAny(s, " \n") {
				found[s] = filepath.ToSlash(rel)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func text(n ast.Node) (string, bool) {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return strings.TrimSuffix(s, "/"), err == nil
}

// ofThisPackage reports whether call is vectors.Something(...), with or without
// type arguments.
func ofThisPackage(call *ast.CallExpr) bool {
	fun := call.Fun
	if ix, ok := fun.(*ast.IndexExpr); ok {
		fun = ix.X
	}
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "vectors"
}
