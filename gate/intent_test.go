package gate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat/receipt"
)

// Where a system exchanges names in steps, a crash leaves one of these; each is
// taken to the one or the other side.
func TestRecoverFromAnExchangeInSteps(t *testing.T) {
	const aside = ".obstat-0000000000000000-0"
	for name, c := range map[string]struct {
		left map[string]string
		want map[string]string
		word string
	}{
		"before the first": {map[string]string{"a": "one", aside: "two"}, map[string]string{"a": "one"}, "failed"},
		"after the first":  {map[string]string{"a": "one", aside: "two", aside + ".old": "one"}, map[string]string{"a": "one"}, "failed"},
		"after the second": {map[string]string{"a": "two", aside + ".old": "one"}, map[string]string{"a": "two"}, "committed"},
		"after the third":  {map[string]string{"a": "two", aside: "one"}, map[string]string{"a": "two"}, "committed"},
		"done":             {map[string]string{"a": "two"}, map[string]string{"a": "two"}, "committed"},
		"nothing yet":      {map[string]string{"a": "one"}, map[string]string{"a": "one"}, "failed"},
		"half a file":      {map[string]string{"a": "one", aside: "tw"}, map[string]string{"a": "one"}, "failed"},
		"somebody else":    {map[string]string{"a": "three", aside: "one"}, map[string]string{"a": "three", aside: "one"}, "unobserved"},
		"and gone":         {map[string]string{aside: "one"}, map[string]string{aside: "one"}, "unobserved"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, tr := scratch(t, c.left)
			set := &changeset{tree: tr, items: []item{{path: "a", before: sum("one"), after: sum("two"), mode: 0o644, oldMode: 0o644, aside: aside}}}
			record, err := set.encode(dir, receipt.Digest{1})
			if err != nil {
				t.Fatal(err)
			}
			back, request, err := resume(record)
			if err != nil || request != (receipt.Digest{1}) {
				t.Fatal(request, err)
			}
			defer back.tree.close()
			r := back.recover()
			if r.Done != nil {
				if err := r.Done(); err != nil {
					t.Error(err)
				}
			}
			if got := listing(t, dir); !equal(got, c.want) {
				t.Errorf("tree is %v", got)
			}
			word := "committed"
			switch e := r.Err.(type) {
			case *FailedError:
				if word = "failed"; e.Restored != receipt.RestoredYes {
					t.Errorf("restored %s: %v", e.Restored, e)
				}
			case *UnobservedError:
				if word = "unobserved"; !strings.Contains(e.Error(), aside) {
					t.Errorf("it does not say where the old content is: %v", e)
				}
			}
			if word != c.word {
				t.Errorf("%s, want %s: %v", word, c.word, r.Err)
			}
		})
	}
}

// A record that somebody has damaged settles nothing and touches nothing.
func FuzzResume(f *testing.F) {
	dir, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "outside"), []byte("keep"), 0o644); err != nil {
		f.Fatal(err)
	}
	good := intentRecord{Version: 1, Request: strings.Repeat("00", 32), Root: []byte(root), Made: [][]byte{[]byte("d")}, Items: []intentItem{
		{Path: []byte("d/a"), Aside: []byte("d/.obstat-1"), After: hexOf(sum("two")), Mode: 0o644},
	}}
	add := func(change func(*intentRecord)) {
		r := good
		r.Items = append([]intentItem(nil), good.Items...)
		change(&r)
		b, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	add(func(*intentRecord) {})
	add(func(r *intentRecord) {
		r.Items[0].Path, r.Items[0].Aside = []byte("../outside"), []byte("../.obstat-1")
	})
	add(func(r *intentRecord) { r.Items[0].Path, r.Items[0].Aside = []byte("/outside"), []byte("/.obstat-1") })
	add(func(r *intentRecord) { r.Made = [][]byte{[]byte("/")} })
	add(func(r *intentRecord) { r.Items[0].Aside = []byte("d/a") })
	f.Fuzz(func(t *testing.T, record []byte) {
		c, _, err := resume(record)
		if err != nil {
			return
		}
		defer c.tree.close()
		if c.tree.root.Name() != root { // not what is fuzzed, and the world of somebody
			return
		}
		c.recover()
		if b, err := os.ReadFile(filepath.Join(dir, "outside")); err != nil || string(b) != "keep" {
			t.Fatalf("%q, %v", b, err)
		}
	})
}
