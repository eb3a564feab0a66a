package corpus

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/report"
)

func sum(b []byte) Digest { return sha256.Sum256(b) }

// TestNewGoesOn: a corpus is begun, its manifest is edited by hand, a file is
// added, and what was said stays said.
func TestNewGoesOn(t *testing.T) {
	fsys := small(t)
	m, err := Parse(fsys[ManifestName].Data)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Cases) != 2 || m.Cases[0].Name != "receipts/a" || m.Cases[0].Why != Unsaid || m.Cases[1].Command != AskReceipt {
		t.Fatalf("%+v", m.Cases)
	}
	edited := bytes.Replace(fsys[ManifestName].Data, []byte(Unsaid), []byte("a denial is genuine"), 1)
	fsys = with(fsys, map[string][]byte{ManifestName: edited, "receipts/c.leaf": fsys["receipts/b.leaf"].Data})
	l := testlog.New(t)
	l.Examples()
	for path, f := range l.Site(l.Size()) {
		fsys["logs/first/"+path] = f
	}
	if r := checkIt(t, fsys, Options{}); r.ExitCode() != 1 {
		t.Errorf("an edited manifest passes:\n%s", r.Text())
	}
	m, err = New(fsys, Beginning{Policy: "log.policy", Trust: "keys.trust"})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Cases) != 4 || m.Cases[0].Why != "a denial is genuine" || m.Cases[2].Name != "logs/first" || m.Cases[2].Command != AskLog || m.Cases[3].Name != "receipts/c" || m.Name != "small" {
		t.Fatalf("%+v", m.Cases)
	}
	fsys[ManifestName] = &fstest.MapFile{Data: m.Append(nil)}
	if r := checkIt(t, fsys, Options{}); r.ExitCode() != 0 {
		t.Errorf("\n%s", r.Text())
	}
	if _, err := New(fsys, Beginning{Release: true}); report.CodeOf(err) != report.CodeCorpusManifest || !strings.Contains(err.Error(), "logs/first") && !strings.Contains(err.Error(), "receipts/b") {
		t.Errorf("released with a case that nobody explained: %v", err)
	}
	fsys[ManifestName].Data = bytes.ReplaceAll(fsys[ManifestName].Data, []byte(Unsaid), []byte("said"))
	wrong := with(fsys, map[string][]byte{ManifestName: bytes.Replace(fsys[ManifestName].Data, []byte(`"answer": "verified", "code": "OK"`), []byte(`"answer": "refuted", "code": "CBOR-TAG", "check": "form"`), 1)})
	if _, err := New(wrong, Beginning{Release: true}); report.CodeOf(err) != report.CodeCorpusAnswer {
		t.Errorf("released with a case that does not hold: %v", err)
	}
	m, err = New(fsys, Beginning{Release: true})
	if err != nil || m.Status != Released {
		t.Fatalf("%v", err)
	}
	fsys[ManifestName] = &fstest.MapFile{Data: m.Append(nil)}
	if r := checkIt(t, fsys, Options{Digest: &m.Digest}); r.ExitCode() != 0 {
		t.Errorf("\n%s", r.Text())
	}
	if _, err := New(fsys, Beginning{}); report.CodeOf(err) != report.CodeCorpusManifest {
		t.Errorf("a released corpus was gone on with: %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	fsys := small(t)
	for _, c := range []struct {
		name  string
		files map[string][]byte
		n     Beginning
		code  report.Code
	}{
		{"no name", map[string][]byte{ManifestName: nil}, Beginning{}, report.CodeCorpusManifest},
		{"no such policy", map[string][]byte{ManifestName: nil}, Beginning{Name: "x", Policy: "nowhere"}, report.CodeCorpusManifest},
		{"a file of no kind", map[string][]byte{"notes.txt": []byte("x")}, Beginning{}, report.CodeCorpusManifest},
		{"a manifest that a shell emptied", map[string][]byte{ManifestName: {}}, Beginning{Name: "x"}, report.CodeInputEmpty},
		{"a case whose file is gone", map[string][]byte{"receipts/b.leaf": nil}, Beginning{}, report.CodeCorpusManifest},
	} {
		if m, err := New(with(fsys, c.files), c.n); m != nil || report.CodeOf(err) != c.code {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
