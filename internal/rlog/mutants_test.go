package rlog

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutantEnv names the mutant that this very process is.
const mutantEnv = "OBSTAT_MUTANT"

// A mutant is a fault planted in the engine's source: the package's own tests,
// built with it, have to fail.
type testMutant struct {
	name  string
	test  string // the tests that must notice
	edits []edit
}

// edit replaces one piece of a source file.
type edit struct{ file, old, new string }

var mutants = []testMutant{
	{"cut too much", "TestPowerCut$", []edit{{"recover.go", `		if !ok {
			break
		}
		if err := r.record(`, `		if ok && isLast && !first {
			if _, more, _ := s.peek(); !more {
				s.off, ok = f.at, false
			}
		}
		if !ok {
			break
		}
		if err := r.record(`}}},
	{"reuse of an index", "TestPowerCut$", []edit{{"sequencer.go", `	if err == nil {
		err = s.write(r)
	}
	if err == nil {
		s.release(head)
		return
	}
`, `	if err == nil {
		s.release(head) // before it is durable
		s.group, s.twins = s.group[:0], s.twins[:0]
		if err = s.write(r); err == nil {
			return
		}
	}
`}}},
	{"sign before recovery is checked", "TestEveryOperationFails$", []edit{{"open.go", `	number := r.lastIn.number + 1
`, `	number := r.lastIn.number
	if w.chunk != 0 { // go on where the last process was, which may be only in the page cache
		w.number, w.keyed, w.off, w.group, w.prev = number, r.lastIn.keyed, r.lastIn.off, last.group, r.last.sum
		f, err := r.cfg.FS.Append(r.lastIn.name)
		if err != nil {
			return w, err
		}
		r.segments = r.segments[:len(r.segments)-1]
		w.file = f
		return w, f.Truncate(w.off)
	}
`}}},
	{"forget old statements", "TestPowerCut$", []edit{{"open.go", "r.contents.eachBundle(0, size,", "r.contents.eachBundle(size, size,"}}},
	{"drop what was not published", "TestPowerCut$", []edit{
		{"publish.go", "whole := p.published.Size - p.published.Size%merkle.TileWidth", "whole := p.log.Size()"},
		{"publish.go", "	return p.drop()\n", "	return nil\n"},
		{"publish.go", "	head := *p.log.head.Load()\n", "	head := *p.log.head.Load()\n	if err := p.drop(); err != nil {\n		return err\n	}\n"},
		{"publish.go", "		if err := p.check(s); err != nil {\n			return err\n		}\n", "		_ = p.check\n"},
	}},
	{"drop two names at once", "TestPowerCut$", []edit{{"publish.go", `		if err := p.log.cfg.FS.SyncDir(segmentsDir); err != nil {
			return ioError("sync directory", segmentsDir, err)
		}
`, ""}}},
	{"checkpoint before its tiles", "TestSiteIsWholeAtEveryStep$", []edit{{"publish.go", `	if err := l.site.grow(p.published.Size,`,
		`	if err := l.site.setCheckpoint(head.Note); err != nil {
		return err
	}
	if err := l.site.grow(p.published.Size,`}}},
	{"cut below the checkpoint", "TestPublishedIsAFloor$", []edit{{"recover.go", "	if p.Size > r.last.size {", "	if p.Size > r.last.size && p.Size == 0 {"}}},
	{"keep a signature that was cut", "TestCutKeepsBytesWithoutSignature$", []edit{{"cut.go", "	clearNote(b, int(r.torn.noteLen), r.cfg.Origin)\n", ""}}},
	{"two leaves of one statement", "TestConcurrentDuplicates$", []edit{{"sequencer.go", "if s.seen[w.item.Statement] != nil {", "if false {"}}},
	{"believe the index as it was", "TestTwinWhileTheIndexGoesOn$", []edit{{"statements.go", "if s.store == nil || s.absorbed.Load() == seen {", "if s.store == nil || seen >= 0 {"}}},
	{"believe another tree's index", "TestIndexMadeAgain$", []edit{{"reading.go", "(covered == 0 || root == ours)", "(covered == 0 || root == ours || true)"}}},
	{"start without the anchors", "TestAnchors$", []edit{{"anchor.go", "r.holdAgainst(a.Name, head); err != nil {", "r.holdAgainst(a.Name, head); false && err != nil {"}}},
	{"go on after a failed sync", "TestFailStop$", []edit{
		{"sequencer.go", "if err := s.log.failed(); err != nil {", "if err := s.log.failed(); false && err != nil {"},
		{"log.go", "	if err := l.Err(); err != nil {\n		return nil, err\n	}\n", ""},
	}},
}

func TestMutants(t *testing.T) {
	if os.Getenv(mutantEnv) != "" {
		return
	}
	if testing.Short() || os.Getenv("OBSTAT_HEAVY") == "" {
		t.Skip("builds this package once for each mutant: set OBSTAT_HEAVY")
	}
	for _, m := range mutants {
		t.Run(strings.ReplaceAll(m.name, " ", "-"), func(t *testing.T) { m.run(t) })
	}
}

func (m testMutant) run(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for _, e := range m.edits {
		if sources[e.file] == "" {
			b, err := os.ReadFile(e.file)
			if err != nil {
				t.Fatal(err)
			}
			sources[e.file] = string(b)
		}
		if n := strings.Count(sources[e.file], e.old); n != 1 {
			t.Fatalf("%s has %d places like %q", e.file, n, e.old)
		}
		sources[e.file] = strings.Replace(sources[e.file], e.old, e.new, 1)
	}
	tmp := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, text := range sources {
		planted := filepath.Join(tmp, file)
		if err := os.WriteFile(planted, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(dir, file)] = planted
	}
	b, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(tmp, "overlay.json")
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "test", "-count=1", "-failfast", "-timeout=2m", "-vet=off", "-overlay="+file, "-run="+m.test, ".")
	cmd.Env = append(os.Environ(), mutantEnv+"="+m.name)
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		t.Error("nothing noticed")
	case !strings.Contains(string(out), "--- FAIL: "+strings.TrimSuffix(m.test, "$")):
		t.Errorf("it failed in another way: %s", out)
	default:
		lines := strings.SplitN(string(out), "\n", 3)
		t.Log(lines[min(1, len(lines)-1)])
	}
}
