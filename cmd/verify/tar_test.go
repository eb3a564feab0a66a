package main

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/report"
)

// archiveOf packs a directory as tar does.
func archiveOf(t testing.TB, dir string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	check(t, w.AddFS(os.DirFS(dir)))
	check(t, w.Close())
	return b.Bytes()
}

func auditOf(t testing.TB, at func(string) string, operand string, stdin []byte, flags ...string) (int, string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args := append([]string{"log", "--policy", at("log.policy"), "--trust", at("engines.trust")}, flags...)
	status := run(append(args, operand), bytes.NewReader(stdin), &stdout, &stderr)
	return status, stdout.String() + stderr.String()
}

// An archive has the answer of the directory that it was made of, as a file and
// on standard input.
func TestTarIsTheDirectory(t *testing.T) {
	at := in(t)
	for _, dir := range []string{"good", "site", "badsite"} {
		want, text := auditOf(t, at, at(dir), nil)
		file := filepath.Join(t.TempDir(), "x.tar")
		archive := archiveOf(t, at(dir))
		check(t, os.WriteFile(file, archive, 0o666))
		got, other := auditOf(t, at, file, nil)
		if got != want || text != other {
			t.Errorf("%s: %d, want %d:\n%s", dir, got, want, other)
		}
		work := t.TempDir()
		if got, other = auditOf(t, at, "-", archive, "--work", work); got != want || text != other {
			t.Errorf("%s on standard input: %d, want %d:\n%s", dir, got, want, other)
		}
		if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
			t.Errorf("%v stays, %v", left, err)
		}
	}
}

// An archive cut anywhere is never verified, unless only its end is missing.
func TestTarTruncated(t *testing.T) {
	at := in(t)
	archive := archiveOf(t, at("good"))
	file := filepath.Join(t.TempDir(), "x.tar")
	for n := 0; n < len(archive)-1024-512; n += 97 {
		check(t, os.WriteFile(file, archive[:n], 0o666))
		status, text := auditOf(t, at, file, nil)
		if status != 1 && status != 3 {
			t.Fatalf("%d of %d bytes: %d\n%s", n, len(archive), status, text)
		}
	}
}

func TestTarEntries(t *testing.T) {
	at := in(t)
	file := func(name string) tar.Header {
		return tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: 1}
	}
	huge := file("tile/0/000")
	huge.Size = 4 << 30
	for name, c := range map[string]struct {
		entries []tar.Header
		code    report.Code
	}{
		"twice":        {[]tar.Header{file("a"), file("a")}, report.CodeArchiveEntry},
		"dotted":       {[]tar.Header{file("a"), file("./a")}, report.CodeArchiveEntry},
		"up":           {[]tar.Header{file("../checkpoint")}, report.CodeArchiveEntry},
		"inside":       {[]tar.Header{file("a/../checkpoint")}, report.CodeArchiveEntry},
		"absolute":     {[]tar.Header{file("/checkpoint")}, report.CodeArchiveEntry},
		"symlink":      {[]tar.Header{{Name: "checkpoint", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}}, report.CodeArchiveEntry},
		"link":         {[]tar.Header{{Name: "checkpoint", Typeflag: tar.TypeLink, Linkname: "a"}}, report.CodeArchiveEntry},
		"fifo":         {[]tar.Header{{Name: "checkpoint", Typeflag: tar.TypeFifo}}, report.CodeArchiveEntry},
		"device":       {[]tar.Header{{Name: "checkpoint", Typeflag: tar.TypeChar}}, report.CodeArchiveEntry},
		"dir up":       {[]tar.Header{{Name: "../x/", Typeflag: tar.TypeDir}}, report.CodeArchiveEntry},
		"claims 4 GiB": {[]tar.Header{huge}, report.CodeArchive},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range c.entries {
			check(t, w.WriteHeader(&h))
			if h.Typeflag == tar.TypeReg && h.Size == 1 {
				_, err := w.Write([]byte("x"))
				check(t, err)
			}
		}
		_ = w.Flush() // what was claimed and not written is the point of one case
		path := filepath.Join(t.TempDir(), "x.tar")
		check(t, os.WriteFile(path, append(b.Bytes(), make([]byte, 1024)...), 0o666))
		status, text := auditOf(t, at, path, nil)
		if status != 1 || !strings.Contains(text, "archive                   refuted      "+string(c.code)) {
			t.Errorf("%s: %d\n%s", name, status, text)
		}
	}
	gzip := filepath.Join(t.TempDir(), "x.tar.gz")
	check(t, os.WriteFile(gzip, append([]byte{0x1f, 0x8b, 8}, bytes.Repeat([]byte{7}, 2000)...), 0o666))
	if status, text := auditOf(t, at, gzip, nil); status != 1 || !strings.Contains(text, "ARCHIVE-MALFORMED") {
		t.Errorf("compressed: %d\n%s", status, text)
	}
}

// A sparse file claims bytes that nobody sent.
func TestTarSparse(t *testing.T) {
	if _, err := entryName(&tar.Header{Name: "a", Typeflag: tar.TypeReg, PAXRecords: map[string]string{"GNU.sparse.major": "1"}}); report.CodeOf(err) != report.CodeArchiveEntry {
		t.Errorf("%v", err)
	}
	if _, err := entryName(&tar.Header{Name: "a", Typeflag: tar.TypeGNUSparse}); report.CodeOf(err) != report.CodeArchiveEntry {
		t.Errorf("%v", err)
	}
}

// FuzzTar: any bytes open or are refused with a code, and what opens reads.
func FuzzTar(f *testing.F) {
	at := in(f)
	f.Add(archiveOf(f, at("good")))
	f.Add([]byte{})
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := os.CreateTemp(dir, "")
		check(t, err)
		defer os.Remove(file.Name())
		defer file.Close()
		_, err = file.Write(data)
		check(t, err)
		site, err := openTar(file)
		if err != nil {
			if !slices.Contains([]report.Code{report.CodeArchive, report.CodeArchiveEntry, report.CodeInputEmpty}, report.CodeOf(err)) {
				t.Fatal(err)
			}
			return
		}
		for name := range site.files {
			if _, err := fs.ReadFile(site, name); err != nil {
				t.Fatal(err)
			}
		}
	})
}
