package rlog

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/report"
)

// threeSegments is a log that was opened three times and never closed, so that
// no checkpoint was published, of segments
//
//	1  group 1 (genesis)
//	2  copy of group 1, groups 2 to 4
//	3  copy of group 4, groups 5 to 7
//	4  copy of group 7, groups 8 to 10
func threeSegments(t testing.TB) (*faultfs.FS, Config) {
	disk := faultfs.New()
	cfg := testConfig(t, disk)
	create(t, cfg, "genesis")
	for round := range 3 {
		l := open(t, cfg)
		for i := range 3 {
			submit(t, l, fmt.Sprintf("statement %d-%d|some more bytes", round, i))
		}
		disk = disk.Kill()
		cfg.FS = disk
	}
	return disk, cfg
}

func readFile(t testing.TB, f durable.FS, name string) []byte {
	t.Helper()
	b, err := durable.ReadFile(f, name, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// records returns where the records of a segment begin, and its end.
func records(t testing.TB, cfg Config, number uint64) []int64 {
	t.Helper()
	s, err := openScanner(cfg.FS, number, cfg.Origin)
	if err != nil {
		t.Fatal(err)
	}
	defer s.file.Close()
	var at []int64
	for {
		f, ok, err := s.next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return append(at, s.off)
		}
		at = append(at, f.at)
	}
}

// Every byte of every segment is changed in turn. Where the byte is of a record
// that the next segment has superseded, nothing happens; where it is of the
// last record of all, and only there, one record is cut; anywhere else the log
// does not start and says where.
func TestEveryByteDamaged(t *testing.T) {
	clean, cfg := threeSegments(t)
	for number := uint64(1); number <= 4; number++ {
		name := segmentName(number)
		at := records(t, cfg, number)
		last := at[len(at)-2]
		for i := range readFile(t, clean, name) {
			if i%5 != 0 && i > segmentHeaderSize+recordHeaderSize || i%97 != 0 && int64(i) >= at[len(at)-1] {
				continue
			}
			disk := clean.Clone()
			if err := disk.Edit(name, func(b []byte) []byte { b[i] ^= 0x10; return b }); err != nil {
				t.Fatal(err)
			}
			cfg.FS = disk
			l, err := Open(cfg)
			switch {
			case i >= segmentHeaderSize && int64(i) >= last && number < 4: // superseded
				if err != nil || l.Size() != 10 {
					t.Fatalf("%s byte %d, superseded: %v", name, i, err)
				}
			case int64(i) >= at[len(at)-1] && number == 4: // the zeros behind it
				if err != nil || l.Size() != 10 {
					t.Fatalf("%s byte %d, behind the last record: %v", name, i, err)
				}
			case int64(i) >= last && number == 4: // the last record
				if err != nil || l.Size() != 9 {
					t.Fatalf("%s byte %d, last record: %v", name, i, err)
				}
			default:
				wantCode(t, err, report.CodeLogDamaged)
				if !strings.Contains(err.Error(), name+" byte ") {
					t.Fatalf("%s byte %d: the error does not say where: %v", name, i, err)
				}
			}
			if l != nil {
				l.Close()
			}
		}
	}
}

func TestSegmentsMissing(t *testing.T) {
	for missing, code := range map[uint64]report.Code{
		1: "", // segment 2 begins with the same record
		2: report.CodeLogLost,
		3: report.CodeLogLost,
		4: "", // a rollback: nothing inside the directory shows it, see anchors
	} {
		disk, cfg := threeSegments(t)
		if err := disk.Remove(segmentName(missing)); err != nil {
			t.Fatal(err)
		}
		l, err := Open(cfg)
		if code == "" {
			if err != nil {
				t.Errorf("segment %d missing: %v", missing, err)
			} else {
				l.Close()
			}
			continue
		}
		wantCode(t, err, code)
		t.Log(err)
	}
}

func TestForeign(t *testing.T) {
	_, cfg := threeSegments(t)
	other := cfg
	other.Signer = testSigner(t, "another key")
	_, err := Open(other)
	wantCode(t, err, report.CodeLogForeign)
	other = cfg
	other.Origin = "log.example/other"
	_, err = Open(other)
	wantCode(t, err, report.CodeLogConfig)
	seed := bytes.Repeat([]byte{7}, 32)
	other.Signer, err = checkpoint.NewSigner(other.Origin, checkpoint.TypeEd25519, ed25519.NewKeyFromSeed(seed))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(other)
	wantCode(t, err, report.CodeLogForeign)
	cfg.FS = faultfs.New()
	_, err = Open(cfg)
	wantCode(t, err, report.CodeLogAbsent)
}

// What is cut is kept, without any signature, in the segment and in the file.
func TestCutKeepsBytesWithoutSignature(t *testing.T) {
	for name, tear := range map[string]func(b []byte, at int64) []byte{
		"end lost":    func(b []byte, at int64) []byte { return b[:len(b)-40] },
		"end zero":    func(b []byte, at int64) []byte { clear(b[len(b)-40:]); return append(b, make([]byte, 5000)...) },
		"header lost": func(b []byte, at int64) []byte { clear(b[at : at+100]); return b },
		"only header": func(b []byte, at int64) []byte { return b[:at+recordHeaderSize+3] },
	} {
		t.Run(name, func(t *testing.T) {
			disk, cfg := threeSegments(t)
			starts := records(t, cfg, 4)
			at, end := starts[3], starts[4]
			if err := disk.Edit(segmentName(4), func(b []byte) []byte { return tear(b[:end], at) }); err != nil {
				t.Fatal(err)
			}
			l := open(t, cfg)
			if l.Size() != 9 {
				t.Fatalf("size %d", l.Size())
			}
			kept := readFile(t, disk, cutName(4, at))
			segment := readFile(t, disk, segmentName(4))
			if int64(len(segment)) != at {
				t.Errorf("segment 4 has %d bytes, its last whole record ends at %d", len(segment), at)
			}
			if bytes.Contains(kept, []byte("\u2014 "+testOrigin)) {
				t.Error("the kept bytes hold a signature line")
			}
			if strings.HasPrefix(name, "end") && !bytes.Contains(kept, []byte("statement 2-2|")) {
				t.Error("the kept bytes do not hold the leaf")
			}
			if r := submit(t, l, "statement 2-2|"); r.Repeat || r.Index != 9 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// More than one record's worth behind the last whole one is damage.
func TestTailIsDamage(t *testing.T) {
	for name, tear := range map[string]func(b []byte, at []int64) []byte{
		"record before the last": func(b []byte, at []int64) []byte { b[at[2]+5] ^= 1; return b },
		"its checksum":           func(b []byte, at []int64) []byte { b[at[3]-1] ^= 1; return b },
		"more behind the torn":   func(b []byte, at []int64) []byte { b[at[3]+200] ^= 1; return append(b, 1) },
		"an older record again":  func(b []byte, at []int64) []byte { return append(b, b[at[1]:at[2]]...) },
	} {
		disk, cfg := threeSegments(t)
		at := records(t, cfg, 4)
		if err := disk.Edit(segmentName(4), func(b []byte) []byte { return tear(b[:at[4]], at) }); err != nil {
			t.Fatal(err)
		}
		before := readFile(t, disk, segmentName(4))
		_, err := Open(cfg)
		if report.CodeOf(err) != report.CodeLogDamaged {
			t.Errorf("%s: %v", name, err)
		}
		if !bytes.Equal(before, readFile(t, disk, segmentName(4))) {
			t.Errorf("%s: a refused start changed the segment", name)
		}
		t.Log(name, err)
	}
}

// A leaf made to look like a record does not confuse recovery: it cannot know
// the segment's key.
func TestLeafThatLooksLikeARecord(t *testing.T) {
	disk, cfg := threeSegments(t)
	fake := readFile(t, disk, segmentName(4))[records(t, cfg, 4)[1]:]
	l := open(t, cfg)
	submit(t, l, "innocent|"+string(fake))
	disk = disk.Kill()
	cfg.FS = disk
	at := records(t, cfg, 5)
	if err := disk.Edit(segmentName(5), func(b []byte) []byte { clear(b[at[1] : at[1]+60]); return b }); err != nil {
		t.Fatal(err)
	}
	if l := open(t, cfg); l.Size() != 10 {
		t.Errorf("size %d", l.Size())
	}
}

// Temporary segments are discarded, strange names are not.
func TestStrangeFiles(t *testing.T) {
	disk, cfg := threeSegments(t)
	f, err := disk.Create(segmentName(9) + tempExt)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Append([]byte("half a segment")); err != nil {
		t.Fatal(err)
	}
	open(t, cfg).Close()
	names, err := disk.ReadDir(segmentsDir)
	if err != nil || slices.ContainsFunc(names, func(e fs.DirEntry) bool { return strings.HasSuffix(e.Name(), tempExt) }) {
		t.Errorf("%v %v", names, err)
	}
	if _, err := disk.Create(segmentsDir + "/notes.txt"); err != nil {
		t.Fatal(err)
	}
	_, err = Open(cfg)
	wantCode(t, err, report.CodeLogDamaged)
}

func FuzzSegment(f *testing.F) {
	disk, cfg := threeSegments(f)
	f.Add(readFile(f, disk, segmentName(1)))
	f.Add(readFile(f, disk, segmentName(4)))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		disk := faultfs.New()
		cfg.FS = disk
		if err := disk.Mkdir(segmentsDir); err != nil {
			t.Fatal(err)
		}
		if _, err := disk.Create(segmentName(1)); err != nil {
			t.Fatal(err)
		}
		if err := disk.Edit(segmentName(1), func([]byte) []byte { return b }); err != nil {
			t.Fatal(err)
		}
		l, err := Open(cfg)
		if err != nil {
			return
		}
		checkTree(t, cfg, l)
		l.Close()
	})
}
