package rlog

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/merkle"
)

// siteDir is what any file server can serve as a C2SP tlog-tiles log.
const (
	siteDir        = "site"
	checkpointFile = siteDir + "/checkpoint"
)

// maxBundle is the size of the largest entry bundle: 256 entries of 65,535
// bytes with their lengths.
const maxBundle = merkle.TileWidth * (2 + merkle.MaxEntry)

// site is the tiles and bundles of a log as files.
type site struct {
	fs  durable.FS
	dir string // where it stands in fs

	// Owner: whoever writes the site, which is one goroutine.
	dirs map[string]bool // directories that this process has made sure of
	todo []string        // written and not yet under their final names
}

func newSite(f durable.FS, dir string) *site {
	return &site{fs: f, dir: dir, dirs: make(map[string]bool)}
}

// name is the name in fs of a path of the site.
func (s *site) name(p string) string { return path.Join(s.dir, p) }

// tile reads a hash tile of exactly its width.
func (s *site) tile(t merkle.Tile) ([]byte, error) {
	name := s.name(t.Path())
	b, err := durable.ReadFile(s.fs, name, merkle.TileWidth*merkle.HashSize)
	if err != nil {
		return nil, siteError(name, err)
	}
	if err := merkle.CheckTile(t, b); err != nil {
		return nil, damaged(name, int64(len(b)), fmt.Sprintf("%d hashes", t.Width), fmt.Sprintf("%d bytes", len(b)))
	}
	return b, nil
}

// bundle reads an entry bundle and splits it.
func (s *site) bundle(index uint64, width int) (raw []byte, entries [][]byte, err error) {
	name := s.name(merkle.EntriesPath(index, width))
	b, err := durable.ReadFile(s.fs, name, maxBundle)
	if err != nil {
		return nil, nil, siteError(name, err)
	}
	entries, err = merkle.ParseBundle(b, width)
	if err != nil {
		return nil, nil, damaged(name, 0, fmt.Sprintf("a bundle of %d entries", width), err.Error())
	}
	return b, entries, nil
}

// siteError tells a file that is missing, and must not be, from one that cannot
// be read now.
func siteError(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &refusal{lostFile(name), err}
	}
	return ioError("read", name, err)
}

// put writes a file under a temporary name, synced. finish gives all that was
// put their final names.
func (s *site) put(name string, data []byte) error {
	name = s.name(name)
	if err := s.mkdir(path.Dir(name)); err != nil {
		return err
	}
	tmp := name + durable.TempSuffix
	if err := s.fs.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return ioError("remove", tmp, err)
	}
	f, err := s.fs.Create(tmp)
	if err != nil {
		return ioError("create", tmp, err)
	}
	if err := f.Append(data); err != nil {
		f.Close()
		return ioError("write", tmp, err)
	}
	if err := f.SyncData(); err != nil {
		f.Close()
		return ioError("sync", tmp, err)
	}
	if err := f.Close(); err != nil {
		return ioError("close", tmp, err)
	}
	s.todo = append(s.todo, name)
	return nil
}

// finish renames what was put and syncs its directories.
func (s *site) finish() error {
	dirs := make(map[string]bool)
	for _, name := range s.todo {
		if err := s.fs.Rename(name+durable.TempSuffix, name); err != nil {
			return ioError("rename", name, err)
		}
		dirs[path.Dir(name)] = true
	}
	s.todo = s.todo[:0]
	for _, d := range sortedKeys(dirs) {
		if err := s.fs.SyncDir(d); err != nil {
			return ioError("sync directory", d, err)
		}
	}
	return nil
}

// mkdir makes a directory and those above it durable. One that is there already
// may have been made by a process that died before it synced.
func (s *site) mkdir(name string) error {
	if name == "." || s.dirs[name] {
		return nil
	}
	parent := path.Dir(name)
	if err := s.mkdir(parent); err != nil {
		return err
	}
	if err := s.fs.Mkdir(name); err != nil {
		return ioError("make", name, err)
	}
	if err := s.fs.SyncDir(parent); err != nil {
		return ioError("sync directory", parent, err)
	}
	s.dirs[name] = true
	return nil
}

// grow writes the tiles and bundles that a tree of size to has and one of size
// from had not, durable under their final names when it returns. tile and
// entries give the bytes.
func (s *site) grow(from, to uint64, tile func(merkle.Tile) ([]byte, error), entries func(uint64, int) ([]byte, error)) error {
	const batch = 512 // files between renames
	for t := range merkle.NewTiles(from, to) {
		b, err := tile(t)
		if err != nil {
			return err
		}
		if err := s.put(t.Path(), b); err != nil {
			return err
		}
		if t.Level == 0 {
			if b, err = entries(t.Index, t.Width); err != nil {
				return err
			}
			if err := s.put(merkle.EntriesPath(t.Index, t.Width), b); err != nil {
				return err
			}
		}
		if len(s.todo) >= batch {
			if err := s.finish(); err != nil {
				return err
			}
		}
	}
	return s.finish()
}

// setCheckpoint publishes a signed checkpoint whose tiles are all written.
func (s *site) setCheckpoint(note []byte) error {
	if err := s.mkdir(s.dir); err != nil {
		return err
	}
	if err := durable.WriteFile(s.fs, s.name("checkpoint"), note); err != nil {
		return ioError("write", s.name("checkpoint"), err)
	}
	return nil
}

// removePartials removes the partial tiles and bundles that a tree of size from
// had of tiles that are full in a tree of size to. They may be gone already. A
// power cut may bring them back; they are not wrong, only not needed.
func (s *site) removePartials(from, to uint64) error {
	for level := uint(0); level <= merkle.MaxLevel; level++ {
		index := from >> (8 * (level + 1))
		if w := merkle.TileWidthAt(level, index, from); w == 0 || merkle.TileWidthAt(level, index, to) < merkle.TileWidth {
			continue
		}
		full := merkle.Tile{Level: level, Index: index, Width: merkle.TileWidth}
		if err := s.removeDir(s.name(full.Path() + ".p")); err != nil {
			return err
		}
		if level == 0 {
			if err := s.removeDir(s.name(merkle.EntriesPath(index, merkle.TileWidth) + ".p")); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *site) removeDir(name string) error {
	entries, err := s.fs.ReadDir(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return ioError("list", name, err)
	}
	for _, e := range entries {
		if err := s.fs.Remove(name + "/" + e.Name()); err != nil {
			return ioError("remove", name+"/"+e.Name(), err)
		}
	}
	delete(s.dirs, name)
	if err := s.fs.Remove(name); err != nil {
		return ioError("remove", name, err)
	}
	return nil
}
