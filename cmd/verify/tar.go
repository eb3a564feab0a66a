package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/obstat/obstat/report"
)

// maxTarFiles is how many files an archive may have, which bounds memory: enough
// for a log of a hundred million leaves.
const maxTarFiles = 1 << 20

// tarFS is the files of an uncompressed tar archive, read where they lie in it.
// It is safe for concurrent use, and holds nothing of the archive but names and
// places.
type tarFS struct {
	archive io.ReaderAt
	files   map[string]tarFile
}

type tarFile struct{ at, size int64 }

var (
	_ fs.FS     = (*tarFS)(nil)
	_ fs.StatFS = (*tarFS)(nil)
)

// openTar reads the archive once from end to end. An error that says something
// about its content is ARCHIVE-MALFORMED, ARCHIVE-ENTRY or INPUT-EMPTY.
func openTar(f *os.File) (*tarFS, error) {
	t := &tarFS{archive: f, files: map[string]tarFile{}}
	in := &atReader{f: f}
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() == 0 {
		return nil, &report.Error{Code: report.CodeInputEmpty, Expected: "an archive", Actual: "0 bytes"}
	}
	r := tar.NewReader(in)
	for {
		h, err := r.Next()
		switch {
		case in.err != nil:
			return nil, in.err
		case err == io.EOF:
			return t, nil
		case err != nil:
			return nil, malformedTar(in.at, err)
		}
		name, err := entryName(h)
		if err != nil {
			return nil, err
		}
		if name == "" {
			continue
		}
		if _, twice := t.files[name]; twice {
			return nil, badEntry(h, "each name once", "a second time")
		}
		if len(t.files) == maxTarFiles {
			return nil, badEntry(h, fmt.Sprintf("at most %d files", maxTarFiles), "more")
		}
		t.files[name] = tarFile{in.at, h.Size}
		if in.at+h.Size > st.Size() {
			return nil, malformedTar(in.at, io.ErrUnexpectedEOF)
		}
	}
}

func malformedTar(at int64, err error) error {
	return &report.Error{Code: report.CodeArchive, Where: fmt.Sprintf("byte %d", at), Expected: "an uncompressed tar archive, whole", Actual: err.Error()}
}

func badEntry(h *tar.Header, expected, actual string) error {
	return &report.Error{Code: report.CodeArchiveEntry, Where: fmt.Sprintf("%q", h.Name), Expected: expected, Actual: actual}
}

// entryName returns the path of a file in the site; "" for a directory.
func entryName(h *tar.Header) (string, error) {
	for key := range h.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return "", badEntry(h, "files without holes", "a sparse one")
		}
	}
	name := strings.TrimPrefix(h.Name, "./")
	switch h.Typeflag {
	case tar.TypeDir:
		if clean := strings.TrimSuffix(name, "/"); clean != "" && clean != "." && !fs.ValidPath(clean) {
			return "", badEntry(h, "a path inside the archive", "another")
		}
		return "", nil
	case tar.TypeReg:
		if !fs.ValidPath(name) || name == "." {
			return "", badEntry(h, "a path inside the archive", "another")
		}
		return name, nil
	case tar.TypeGNUSparse:
		return "", badEntry(h, "files without holes", "a sparse one")
	}
	return "", badEntry(h, "files and directories", fmt.Sprintf("an entry of type %q", h.Typeflag))
}

// atReader reads a file from its beginning and knows how far it came. It can
// seek, so that contents are passed over and not read.
type atReader struct {
	f   *os.File
	at  int64
	err error // of reading, and no matter of content
}

func (r *atReader) Read(p []byte) (int, error) {
	n, err := r.f.ReadAt(p, r.at)
	r.at += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

func (r *atReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += r.at
	default:
		st, err := r.f.Stat()
		if err != nil {
			return 0, err
		}
		offset += st.Size()
	}
	if offset < 0 {
		return 0, fs.ErrInvalid
	}
	r.at = offset
	return r.at, nil
}

// Open opens a file of the archive.
func (t *tarFS) Open(name string) (fs.File, error) {
	at, ok := t.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &openFile{io.NewSectionReader(t.archive, at.at, at.size), tarInfo{path.Base(name), at.size}}, nil
}

// Stat describes a file of the archive.
func (t *tarFS) Stat(name string) (fs.FileInfo, error) {
	at, ok := t.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return tarInfo{path.Base(name), at.size}, nil
}

type openFile struct {
	*io.SectionReader
	info tarInfo
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

type tarInfo struct {
	name string
	size int64
}

func (i tarInfo) Name() string     { return i.name }
func (i tarInfo) Size() int64      { return i.size }
func (tarInfo) Mode() fs.FileMode  { return 0o444 }
func (tarInfo) ModTime() time.Time { return time.Time{} }
func (tarInfo) IsDir() bool        { return false }
func (tarInfo) Sys() any           { return nil }

// spool copies standard input to a file of the work directory that has no name
// any more, since an archive is read here and there.
func spool(in io.Reader, work string) (_ *os.File, err error) {
	if work == "" {
		return nil, errors.New("an archive from standard input is kept in a file while it is read: --work DIR says where")
	}
	f, err := os.CreateTemp(work, "tar-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if err := os.Remove(f.Name()); err != nil {
		return nil, err
	}
	if _, err := io.Copy(f, in); err != nil {
		return nil, err
	}
	return f, nil
}
