// Package faultfs is a file system in memory that does to its user what disks
// do: it fails the nth operation, writes short, and at a power cut forgets, tears
// or reorders whatever no successful sync covers. It is for tests.
package faultfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"sync"

	"github.com/obstat/obstat/internal/durable"
)

// ErrPowerCut is what every operation returns once power is gone.
var ErrPowerCut = errors.New("faultfs: power is cut")

// Kind is a kind of operation.
type Kind string

const (
	Create      Kind = "create"
	Append      Kind = "append"
	SyncData    Kind = "sync"
	Truncate    Kind = "truncate"
	Preallocate Kind = "preallocate"
	Rename      Kind = "rename"
	Remove      Kind = "remove"
	Mkdir       Kind = "mkdir"
	SyncDir     Kind = "syncdir"
	Read        Kind = "read" // not a step: it changes nothing
)

// Op is one operation. Steps are those that change something or sync.
type Op struct {
	Step int // 0, 1, …; that of the next step for Read
	Kind Kind
	Name string
	Len  int // bytes of an Append or Read
}

func (o Op) String() string { return fmt.Sprintf("step %d: %s %s", o.Step, o.Kind, o.Name) }

// Fault is what happens to one operation instead of success.
type Fault struct {
	Err     error // what it returns; ErrPowerCut cuts the power, too
	Partial int   // an Append writes so many bytes first
	Applied bool  // its effect takes place all the same
}

// Hook decides the fate of an operation; nil lets it succeed. It is called
// without the file system's lock and may block.
type Hook func(Op) *Fault

// Mutant makes the file system, or rather its user, worse: syncs that return
// nil and do nothing.
type Mutant struct {
	NoSyncData bool
	NoSyncDir  bool
}

// FS is a durable.FS in memory.
type FS struct {
	mu     sync.Mutex
	root   *dir
	hook   Hook
	mutant Mutant
	ops    []Op
	dead   bool
	locks  map[string]bool
}

// dir and inode are what the cache shows and what the disk holds, and between
// them what waits for a sync. All fields are guarded by FS.mu.
type dir struct {
	cache map[string]any // *inode or *dir
	disk  map[string]any
	pend  []nameOp
}

// nameOp sets name to node (nil removes it) and, in a rename, removes old.
type nameOp struct {
	name, old string
	node      any
}

type inode struct {
	cache, disk []byte
	pend        []write
	doomed      []write // of a failed sync: no later sync covers them
}

type write struct {
	off  int64
	data []byte
	trim bool // sets the length to off
}

// New returns an empty file system.
func New() *FS {
	return &FS{root: newDir(), locks: map[string]bool{}}
}

func newDir() *dir { return &dir{cache: map[string]any{}, disk: map[string]any{}} }

// SetHook replaces the hook, SetMutant the mutant.
func (f *FS) SetHook(h Hook) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = h
}

func (f *FS) SetMutant(m Mutant) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mutant = m
}

// Ops lists the steps so far.
func (f *FS) Ops() []Op {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Op(nil), f.ops...)
}

func (f *FS) String() string { return "faultfs" }

// step records an operation and asks the hook. f.mu is held, and given up in
// between.
func (f *FS) step(kind Kind, name string, n int) (*Fault, error) {
	if f.dead {
		return nil, ErrPowerCut
	}
	op := Op{Step: len(f.ops), Kind: kind, Name: name, Len: n}
	if kind != Read {
		f.ops = append(f.ops, op)
	}
	hook := f.hook
	if hook == nil {
		return nil, nil
	}
	f.mu.Unlock()
	fault := hook(op)
	f.mu.Lock()
	if fault == nil {
		return nil, nil
	}
	if errors.Is(fault.Err, ErrPowerCut) {
		f.dead = true
	}
	return fault, &fs.PathError{Op: string(kind), Path: name, Err: fault.Err}
}

// find returns the directory of name and its last element. f.mu is held.
func (f *FS) find(name string) (*dir, string, error) {
	if !fs.ValidPath(name) {
		return nil, "", &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	d := f.root
	parent, base := path.Split(name)
	if err := walk(&d, path.Clean(parent)); err != nil {
		return nil, "", &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return d, base, nil
}

func walk(d **dir, name string) error {
	for _, e := range split(name) {
		next, ok := (*d).cache[e].(*dir)
		if !ok {
			return fs.ErrNotExist
		}
		*d = next
	}
	return nil
}

func split(name string) []string {
	if name == "." || name == "" {
		return nil
	}
	parent, base := path.Split(name)
	return append(split(path.Clean(parent)), base)
}

// Create implements durable.FS.
func (f *FS) Create(name string) (durable.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fault, ferr := f.step(Create, name, 0)
	if ferr != nil && (fault == nil || !fault.Applied) {
		return nil, ferr
	}
	d, base, err := f.find(name)
	if err != nil {
		return nil, err
	}
	if _, ok := d.cache[base]; ok {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	n := &inode{}
	d.cache[base] = n
	d.pend = append(d.pend, nameOp{name: base, node: n})
	if ferr != nil {
		return nil, ferr
	}
	return &file{fs: f, n: n, name: name}, nil
}

// Append implements durable.FS.
func (f *FS) Append(name string) (durable.File, error) {
	n, err := f.lookup(name)
	if err != nil {
		return nil, err
	}
	return &file{fs: f, n: n, name: name, end: int64(len(n.cache))}, nil
}

// Open implements durable.FS.
func (f *FS) Open(name string) (durable.Reader, error) {
	n, err := f.lookup(name)
	if err != nil {
		return nil, err
	}
	return &file{fs: f, n: n, name: name}, nil
}

func (f *FS) lookup(name string) (*inode, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return nil, ErrPowerCut
	}
	d, base, err := f.find(name)
	if err != nil {
		return nil, err
	}
	n, ok := d.cache[base].(*inode)
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return n, nil
}

// ReadDir implements durable.FS.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return nil, ErrPowerCut
	}
	d := f.root
	if err := walk(&d, name); err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	var out []fs.DirEntry
	for k, v := range d.cache {
		_, isDir := v.(*dir)
		out = append(out, entry{name: k, dir: isDir})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name() < out[j].Name() })
	return out, nil
}

// Mkdir implements durable.FS.
func (f *FS) Mkdir(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, base, err := f.find(name)
	if err != nil {
		return err
	}
	if _, ok := d.cache[base].(*dir); ok {
		return nil
	}
	if fault, err := f.step(Mkdir, name, 0); err != nil && (fault == nil || !fault.Applied) {
		return err
	}
	if _, ok := d.cache[base]; ok {
		return &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrExist}
	}
	n := newDir()
	d.cache[base] = n
	d.pend = append(d.pend, nameOp{name: base, node: n})
	return nil
}

// Rename implements durable.FS, within one directory.
func (f *FS) Rename(oldname, newname string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	fault, ferr := f.step(Rename, newname, 0)
	if ferr != nil && (fault == nil || !fault.Applied) {
		return ferr
	}
	d, from, err := f.find(oldname)
	if err != nil {
		return err
	}
	d2, to, err := f.find(newname)
	if err != nil {
		return err
	}
	n, ok := d.cache[from]
	if !ok || d != d2 {
		return &fs.PathError{Op: "rename", Path: oldname, Err: fs.ErrNotExist}
	}
	d.cache[to] = n
	delete(d.cache, from)
	d.pend = append(d.pend, nameOp{name: to, old: from, node: n})
	return ferr
}

// Remove implements durable.FS.
func (f *FS) Remove(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, base, err := f.find(name)
	if err != nil {
		return err
	}
	if _, ok := d.cache[base]; !ok {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	fault, ferr := f.step(Remove, name, 0)
	if ferr != nil && (fault == nil || !fault.Applied) {
		return ferr
	}
	delete(d.cache, base)
	d.pend = append(d.pend, nameOp{name: base})
	return ferr
}

// SyncDir implements durable.FS.
func (f *FS) SyncDir(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	fault, ferr := f.step(SyncDir, name, 0)
	if ferr != nil && (fault == nil || !fault.Applied) {
		return ferr
	}
	d := f.root
	if err := walk(&d, name); err != nil {
		return err
	}
	if f.mutant.NoSyncDir {
		return ferr
	}
	for _, op := range d.pend {
		op.apply(d.disk)
	}
	d.pend = nil
	return ferr
}

func (o nameOp) apply(m map[string]any) {
	if o.old != "" {
		delete(m, o.old)
	}
	if o.node == nil {
		delete(m, o.name)
		return
	}
	m[o.name] = o.node
}

// Lock implements durable.FS.
func (f *FS) Lock(name string) (durable.Lock, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return nil, ErrPowerCut
	}
	if f.locks[name] {
		return nil, &durable.LockedError{Name: name, Holder: "this process"}
	}
	f.locks[name] = true
	return &lock{fs: f, name: name}, nil
}

type lock struct {
	fs   *FS
	name string
}

func (l *lock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	delete(l.fs.locks, l.name)
	return nil
}

type entry struct {
	name string
	dir  bool
}

func (e entry) Name() string               { return e.name }
func (e entry) IsDir() bool                { return e.dir }
func (e entry) Info() (fs.FileInfo, error) { return nil, fs.ErrInvalid }
func (e entry) Type() fs.FileMode {
	if e.dir {
		return fs.ModeDir
	}
	return 0
}
