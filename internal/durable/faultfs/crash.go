package faultfs

import (
	"io/fs"
	"math/rand/v2"
	"path"
	"sort"
)

// PageSize is the unit in which the disk keeps or forgets bytes.
const PageSize = 4096

// Fate is what a power cut does to one unsynced page of one write.
type Fate uint8

const (
	Lost  Fate = iota // as if it was never written
	Kept              // on disk
	Torn              // the first half of its 512-byte sectors is on disk
	Zeros             // the file is as long as if it were kept, and holds zeros there
)

// Keep decides what of the unsynced survives. A nil function loses everything.
type Keep struct {
	Page func(name string, page, pages int) Fate // in the order of writing
	Name func(dir string, op, ops int) bool      // in the order of the operations
}

// The plain ways for power to go.
func LoseAll() Keep { return Keep{} }
func KeepAll() Keep {
	return Keep{
		Page: func(string, int, int) Fate { return Kept },
		Name: func(string, int, int) bool { return true },
	}
}

// TearLast keeps everything but the last page of every file, which is torn.
func TearLast() Keep {
	k := KeepAll()
	k.Page = func(_ string, page, pages int) Fate {
		if page == pages-1 {
			return Torn
		}
		return Kept
	}
	return k
}

// LoseFirst keeps everything but the first page of every file's unsynced bytes:
// the later was written before the earlier.
func LoseFirst() Keep {
	k := KeepAll()
	k.Page = func(_ string, page, _ int) Fate {
		if page == 0 {
			return Zeros
		}
		return Kept
	}
	return k
}

// NamesOnly keeps every name and no unsynced byte.
func NamesOnly() Keep { return Keep{Name: KeepAll().Name} }

// BytesOnly keeps every byte and no unsynced name.
func BytesOnly() Keep { return Keep{Page: KeepAll().Page} }

// Random draws every fate.
func Random(seed uint64) Keep {
	r := rand.New(rand.NewPCG(seed, 1))
	return Keep{
		Page: func(string, int, int) Fate { return Fate(r.IntN(4)) },
		Name: func(string, int, int) bool { return r.IntN(2) == 0 },
	}
}

// PowerCut returns what the disk holds after the power went and came back, as a
// new file system. The old one is dead from now on.
func (f *FS) PowerCut(k Keep) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = true
	out := New()
	out.root = k.dir(".", f.root, map[*inode]*inode{})
	return out
}

// Kill returns the file system as it is after the process died and the machine
// did not: everything written is there, synced or not, and stays unsynced. Hook,
// mutant and the count of steps go on. The old one is dead from now on.
func (f *FS) Kill() *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead = true
	out := New()
	out.root, out.hook, out.mutant, out.ops = f.root, f.hook, f.mutant, f.ops
	return out
}

// Clone returns a copy that shares nothing, with the unsynced lost.
func (f *FS) Clone() *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := New()
	out.root = LoseAll().dir(".", f.root, map[*inode]*inode{})
	return out
}

// dir returns the disk's state of d.
func (k Keep) dir(name string, d *dir, done map[*inode]*inode) *dir {
	names := map[string]any{}
	for n, v := range d.disk {
		names[n] = v
	}
	for i, op := range d.pend {
		if k.Name != nil && k.Name(name, i, len(d.pend)) {
			op.apply(names)
		}
	}
	out := newDir()
	order := make([]string, 0, len(names))
	for n := range names {
		order = append(order, n)
	}
	sort.Strings(order) // so that a seed means the same every time
	for _, n := range order {
		var node any
		switch v := names[n].(type) {
		case *dir:
			node = k.dir(path.Join(name, n), v, done)
		case *inode:
			if done[v] == nil {
				done[v] = k.inode(path.Join(name, n), v)
			}
			node = done[v]
		}
		out.cache[n], out.disk[n] = node, node
	}
	return out
}

// piece is a write within one page.
type piece struct {
	off  int64
	data []byte
}

func (k Keep) inode(name string, n *inode) *inode {
	disk := append([]byte(nil), n.disk...)
	var pieces []piece
	trim := int64(-1)
	for _, w := range append(append([]write(nil), n.doomed...), n.pend...) {
		if w.trim {
			trim = w.off
			continue
		}
		for off, data := w.off, w.data; len(data) > 0; {
			m := min(int64(len(data)), PageSize-off%PageSize)
			pieces = append(pieces, piece{off, data[:m]})
			off, data = off+m, data[m:]
		}
	}
	if trim >= 0 && k.Name != nil && k.Name(name, 0, 1) {
		disk = write{off: trim, trim: true}.apply(disk)
	}
	for i, p := range pieces {
		fate := Lost
		if k.Page != nil {
			fate = k.Page(name, i, len(pieces))
		}
		switch fate {
		case Kept:
			disk = write{off: p.off, data: p.data}.apply(disk)
		case Torn:
			half := min(len(p.data), (len(p.data)/2+511)/512*512)
			disk = write{off: p.off, data: p.data[:half]}.apply(disk)
		case Zeros:
			disk = extend(disk, p.off+int64(len(p.data)))
		}
	}
	return &inode{cache: disk, disk: append([]byte(nil), disk...)}
}

// Edit replaces the bytes of a file, in the cache and on the disk, as bit rot
// or a person does.
func (f *FS) Edit(name string, edit func([]byte) []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, base, err := f.find(name)
	if err != nil {
		return err
	}
	n, ok := d.cache[base].(*inode)
	if !ok {
		return &fs.PathError{Op: "edit", Path: name, Err: fs.ErrNotExist}
	}
	n.cache = edit(append([]byte(nil), n.cache...))
	n.disk, n.pend, n.doomed = append([]byte(nil), n.cache...), nil, nil
	return nil
}

// Peek returns a copy of what the cache shows now, for a look from outside.
func (f *FS) Peek() *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := New()
	out.root = peek(f.root)
	return out
}

func peek(d *dir) *dir {
	out := newDir()
	for n, v := range d.cache {
		var node any
		switch v := v.(type) {
		case *dir:
			node = peek(v)
		case *inode:
			node = &inode{cache: append([]byte(nil), v.cache...)}
		}
		out.cache[n] = node
	}
	return out
}
