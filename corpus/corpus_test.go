package corpus

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/report"
)

// load reads a corpus of this repository into memory.
func load(t testing.TB, dir string) fstest.MapFS {
	t.Helper()
	out := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
		out[path] = &fstest.MapFile{Data: b}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// versions are the corpora beside this file.
func versions(t testing.TB) []string {
	t.Helper()
	all, err := filepath.Glob("v*")
	if err != nil || len(all) == 0 {
		t.Fatalf("%v, %v", all, err)
	}
	return all
}

func checkIt(t testing.TB, fsys fs.FS, o Options) *report.Report {
	t.Helper()
	r, err := Check(fsys, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCorpora holds every corpus of this repository.
func TestCorpora(t *testing.T) {
	for _, dir := range versions(t) {
		r := checkIt(t, os.DirFS(dir), Options{})
		if r.Overall() != report.AllVerified {
			t.Errorf("%s:\n%s", dir, r.Text())
		}
	}
}

// TestReleasedNeverChanges: the digest of every released corpus stands in
// testdata/released, once and for all, and nothing else does.
func TestReleasedNeverChanges(t *testing.T) {
	list, err := os.ReadFile(filepath.Join("testdata", "released"))
	if err != nil {
		t.Fatal(err)
	}
	pinned := map[string]string{}
	for line := range strings.Lines(string(list)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		digest, dir, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			t.Fatalf("%q is no digest and directory", line)
		}
		pinned[dir] = digest
	}
	for _, dir := range versions(t) {
		b, err := os.ReadFile(filepath.Join(dir, ManifestName))
		if err != nil {
			t.Fatal(err)
		}
		m, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		switch want, released := pinned[dir]; {
		case released && m.Digest.String() != want:
			t.Errorf("%s was released with the digest %s and has %s", dir, want, m.Digest)
		case released != (m.Status == Released):
			t.Errorf("%s is %s, and testdata/released says otherwise", dir, m.Status)
		}
		delete(pinned, dir)
	}
	for dir := range pinned {
		t.Errorf("%s was released and is not there", dir)
	}
}

// small is a corpus of two cases and a file that both share.
func small(t testing.TB) fstest.MapFS {
	t.Helper()
	l := testlog.New(t)
	at := l.Examples()
	fsys := fstest.MapFS{
		"log.policy":              {Data: testlog.PolicyFile("none")},
		"keys.trust":              {Data: l.PlainEngines().Bytes()},
		"receipts/a.receipt.json": {Data: l.Bundle(at["judgment-deny"], l.Size()).Append(nil)},
		"receipts/b.leaf":         {Data: l.Leaves[at["run-open"]]},
	}
	m, err := New(fsys, Beginning{Name: "small", Policy: "log.policy", Trust: "keys.trust"})
	if err != nil {
		t.Fatal(err)
	}
	fsys[ManifestName] = &fstest.MapFile{Data: m.Append(nil)}
	return fsys
}

// with returns the corpus with files replaced, or (nil) left out.
func with(fsys fstest.MapFS, files map[string][]byte) fstest.MapFS {
	out := maps.Clone(fsys)
	for path, data := range files {
		if data == nil {
			delete(out, path)
		} else {
			out[path] = &fstest.MapFile{Data: data}
		}
	}
	return out
}

// manifestOf changes the manifest and gives it a digest that fits.
func manifestOf(t testing.TB, fsys fstest.MapFS, change func(*Manifest)) []byte {
	t.Helper()
	m, err := Parse(fsys[ManifestName].Data)
	if err != nil {
		t.Fatal(err)
	}
	change(m)
	return m.Append(nil)
}

// TestCheckFinds: what a corpus can have wrong, its code, and the case or the
// file that the report names.
func TestCheckFinds(t *testing.T) {
	good := small(t)
	a, b := good["receipts/a.receipt.json"].Data, good["receipts/b.leaf"].Data
	other := Digest{1}
	for _, c := range []struct {
		name  string
		fsys  fs.FS
		o     Options
		exit  int
		check string
		code  report.Code
		names string
	}{
		{"good", good, Options{}, 0, CheckCases, report.CodeOK, "2 of 2 cases asked"},
		{"one case", good, Options{Only: "receipts/a"}, 0, CheckCases, report.CodeOK, "1 of 2 cases asked"},
		{"no such case", good, Options{Only: "receipts/c"}, 3, CheckCases, report.CodeCorpusMissing, "receipts/c"},
		{"pinned to another digest", good, Options{Digest: &other}, 1, CheckManifest, report.CodeCorpusDigest, other.String()},
		{"no manifest", with(good, map[string][]byte{ManifestName: nil}), Options{}, 3, CheckManifest, report.CodeCorpusMissing, ManifestName},
		{"empty manifest", with(good, map[string][]byte{ManifestName: {}}), Options{}, 3, CheckManifest, report.CodeInputEmpty, ""},
		{"next version", with(good, map[string][]byte{ManifestName: bytes.Replace(good[ManifestName].Data, []byte("corpus.v1"), []byte("corpus.v2"), 1)}), Options{}, 3, CheckManifest, report.CodeVersionUnknown, "v2"},
		{"manifest that is no JSON", with(good, map[string][]byte{ManifestName: []byte("{")}), Options{}, 1, CheckManifest, report.CodeJSONSyntax, ""},
		{"manifest changed", with(good, map[string][]byte{ManifestName: bytes.Replace(good[ManifestName].Data, []byte(`"small"`), []byte(`"large"`), 1)}), Options{}, 1, CheckManifest, report.CodeCorpusDigest, "the digest that it states"},
		{"file changed", with(good, map[string][]byte{"receipts/b.leaf": append(bytes.Clone(b), 0)}), Options{}, 1, CheckFiles, report.CodeCorpusFile, "of the case receipts/b"},
		{"shared file changed", with(good, map[string][]byte{"keys.trust": []byte("# ours\n")}), Options{}, 1, CheckFiles, report.CodeCorpusFile, "of the case receipts/a and of 1 more"},
		{"file missing", with(good, map[string][]byte{"receipts/a.receipt.json": nil}), Options{}, 1, CheckFiles, report.CodeCorpusMissing, "of the case receipts/a"},
		{"file that is not listed", with(good, map[string][]byte{"receipts/c.leaf": b}), Options{}, 1, CheckFiles, report.CodeCorpusExtra, "the file receipts/c.leaf belongs to no case"},
		{"directory of nothing", fstest.MapFS(maps.Collect(maps.All(with(good, map[string][]byte{"empty/x": {}})))), Options{}, 1, CheckFiles, report.CodeCorpusExtra, "the file empty belongs to no case"},
		{"another answer", with(good, map[string][]byte{ManifestName: manifestOf(t, good, func(m *Manifest) {
			m.Cases[0].Answer, m.Cases[0].Found = Refuted, []Finding{{"form", Refuted, report.CodeDSSESyntax}}
		})}), Options{}, 1, CheckCases, report.CodeCorpusAnswer, "case receipts/a: verify bundle --policy log.policy --trust keys.trust receipts/a.receipt.json"},
		{"another code", with(good, map[string][]byte{
			"receipts/a.receipt.json": a[:len(a)-1],
			ManifestName: manifestOf(t, good, func(m *Manifest) {
				m.Files["receipts/a.receipt.json"] = sum(a[:len(a)-1])
				m.Cases[0].Answer, m.Cases[0].Found = Refuted, []Finding{{"form", Refuted, report.CodeJSONTrailing}}
			}),
		}), Options{}, 1, CheckCases, report.CodeCorpusAnswer, "form refuted JSON-SYNTAX"},
		{"a finding besides", with(good, map[string][]byte{
			"receipts/a.receipt.json": a[:len(a)-1],
			ManifestName: manifestOf(t, good, func(m *Manifest) {
				m.Files["receipts/a.receipt.json"] = sum(a[:len(a)-1])
				m.Cases[0].Answer, m.Cases[0].Found = Refuted, []Finding{{"form", Refuted, report.CodeJSONSyntax}, {"schema", Refuted, report.CodeSchemaWord}}
			}),
		}), Options{}, 1, CheckCases, report.CodeCorpusAnswer, "case receipts/a"},
		{"trust file that is none", with(good, map[string][]byte{
			"keys.trust": []byte("# ours\n"),
			ManifestName: manifestOf(t, good, func(m *Manifest) { m.Files["keys.trust"] = sum([]byte("# ours\n")) }),
		}), Options{}, 1, CheckCases, report.CodeCorpusAnswer, "TRUST-SYNTAX"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := checkIt(t, c.fsys, c.o)
			x, ok := r.Find(c.check)
			if r.ExitCode() != c.exit || !ok || x.Code != c.code || !strings.Contains(x.Expected+x.Actual+x.Note, c.names) {
				t.Errorf("exit %d, %+v; want exit %d, %s naming %q", r.ExitCode(), x, c.exit, c.code, c.names)
			}
			if report.Meaning[x.Code] == "" {
				t.Errorf("%s means nothing", x.Code)
			}
		})
	}
}

// TestParseRefuses: each edit of a good manifest, whose digest is made to fit.
func TestParseRefuses(t *testing.T) {
	good := string(small(t)[ManifestName].Data)
	for _, c := range []struct{ name, old, new string }{
		{"unknown member", `"status"`, `"note": "x", "status"`},
		{"status", `"draft"`, `"final"`},
		{"no cases", good[strings.Index(good, `"cases"`):], `"cases": []` + "\n}\n"},
		{"path that leads out", `"keys.trust": "`, `"../keys.trust": "`},
		{"the manifest as a file", `"keys.trust": "`, `"manifest.json": "`},
		{"file that no case names", `"files": {`, `"files": {"z": "` + strings.Repeat("ab", 32) + `",`},
		{"case without its file", `"artifact": "receipts/b.leaf"`, `"artifact": "receipts/c.leaf"`},
		{"name in upper case", `"name": "receipts/a"`, `"name": "receipts/A"`},
		{"name twice", `"name": "receipts/b"`, `"name": "receipts/a"`},
		{"area of another name", `"area": "receipts"`, `"area": "other"`},
		{"command that is none", `"command": "bundle"`, `"command": "bless"`},
		{"part that the command has not", `"policy": "log.policy"`, `"newer": "log.policy"`},
		{"answer that is none", `"answer": "verified"`, `"answer": "fine"`},
		{"code of a verified case", `"code": "OK"`, `"code": "CBOR-TAG"`},
		{"refuted without a check", `"answer": "verified", "code": "OK"`, `"answer": "refuted", "code": "CBOR-TAG"`},
		{"refuted by a check that was not made", `"answer": "verified", "code": "OK"`, `"answer": "refuted", "code": "CBOR-TAG", "check": "form", "also": [{"check": "x", "answer": "shrug", "code": "Y"}]`},
		{"worse than its checks", `"answer": "verified", "code": "OK"`, `"answer": "not checked", "code": "CBOR-TAG", "check": "form", "also": [{"check": "x", "answer": "refuted", "code": "Y"}]`},
		{"section that is none", `"spec": "`, `"spec": "../../etc/passwd#`},
		{"two lines", `"why": "`, `"why": "x\ny`},
		{"expectation that is none", `"answer": "verified"`, `"ask": {"expect": ["verdict"]}, "answer": "verified"`},
		{"question that the command has not", `"answer": "verified"`, `"ask": {"now": 1}, "answer": "verified"`},
		{"empty ask", `"answer": "verified"`, `"ask": {}, "answer": "verified"`},
	} {
		if !strings.Contains(good, c.old) {
			t.Fatalf("%s: no %q in\n%s", c.name, c.old, good)
		}
		doc := resealed(t, []byte(strings.Replace(good, c.old, c.new, 1)))
		m, err := Parse(doc)
		if m != nil || report.CodeOf(err) != report.CodeCorpusManifest {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// resealed gives a manifest the digest that it has.
func resealed(t testing.TB, doc []byte) []byte {
	t.Helper()
	at := bytes.Index(doc, []byte(`"digest": "`)) + len(`"digest": "`)
	copy(doc[at:at+64], strings.Repeat("0", 64))
	d := sum(doc)
	return append(append(bytes.Clone(doc[:at]), d.String()...), doc[at+64:]...)
}

func FuzzParse(f *testing.F) {
	good := small(f)[ManifestName].Data
	f.Add(good)
	f.Add([]byte(`{"mediaType":"` + MediaType + `"}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		m, err := Parse(doc)
		if (m == nil) == (err == nil) {
			t.Fatalf("%v, %v", m, err)
		}
		if err != nil {
			var e *report.Error
			if !errors.As(err, &e) || report.Meaning[e.Code] == "" {
				t.Fatal(err)
			}
			return
		}
		again, err := Parse(m.Append(nil))
		if err != nil || !bytes.Equal(again.Append(nil), m.Append(nil)) {
			t.Fatalf("%v", err)
		}
	})
}

// seed of the samples: printed, and given again by OBSTAT_SEED.
func seed(t testing.TB) *rand.Rand {
	t.Helper()
	n := uint64(time.Now().UnixNano())
	if s := os.Getenv("OBSTAT_SEED"); s != "" {
		var err error
		if n, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d; OBSTAT_SEED=%d draws the same again", n, n)
	return rand.New(rand.NewPCG(n, 1))
}

// TestFlips: one flipped bit in any file of a corpus is found, and the report
// names that file or its case.
func TestFlips(t *testing.T) {
	for _, dir := range versions(t) {
		fsys := load(t, dir)
		m, err := Parse(fsys[ManifestName].Data)
		if err != nil {
			t.Fatal(err)
		}
		r := seed(t)
		paths := keys(fsys)
		for range 100 {
			path := paths[r.IntN(len(paths))]
			if r.IntN(5) == 0 {
				path = ManifestName
			}
			data := bytes.Clone(fsys[path].Data)
			if len(data) == 0 {
				continue
			}
			at, bit := r.IntN(len(data)), r.IntN(8)
			data[at] ^= 1 << bit
			found := checkIt(t, with(fsys, map[string][]byte{path: data}), Options{})
			if found.ExitCode() == 0 {
				t.Fatalf("%s: bit %d of byte %d of %s is not found", dir, bit, at, path)
			}
			if c, _ := found.Find(CheckFiles); path != ManifestName && (c.Code != report.CodeCorpusFile || !strings.Contains(c.Expected, path) || !strings.Contains(c.Note, "of the case ")) {
				t.Fatalf("%s: %s: %+v", dir, path, c)
			}
		}
		if os.Getenv("OBSTAT_HEAVY") != "" {
			everyFlip(t, dir, m, fsys)
		}
	}
}

// everyFlip: every bit of every file of up to four kilobytes, by what Check asks
// of each file; and every bit of a small manifest.
func everyFlip(t *testing.T, dir string, m *Manifest, fsys fstest.MapFS) {
	tried := 0
	for path := range m.Files {
		data := bytes.Clone(fsys[path].Data)
		if len(data) > 4096 {
			continue
		}
		one := fstest.MapFS{path: {Data: data}}
		for i := range data {
			for bit := range 8 {
				data[i] ^= 1 << bit
				if bad, err := m.file(one, path); bad == nil || err != nil {
					t.Fatalf("%s: bit %d of byte %d of %s: %v, %v", dir, bit, i, path, bad, err)
				}
				data[i] ^= 1 << bit
				tried++
			}
		}
		if bad, err := m.file(one, path); bad != nil || err != nil {
			t.Fatalf("%s: %v, %v", path, bad, err)
		}
	}
	doc := bytes.Clone(small(t)[ManifestName].Data)
	for i := range doc {
		for bit := range 8 {
			doc[i] ^= 1 << bit
			if _, err := Parse(doc); err == nil {
				t.Fatalf("bit %d of byte %d of a manifest is not found", bit, i)
			}
			doc[i] ^= 1 << bit
			tried++
		}
	}
	t.Logf("%s: %d flips, all found", dir, tried)
}
