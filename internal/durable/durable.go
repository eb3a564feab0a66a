// Package durable is the only way this module makes bytes survive a power cut:
// no other package calls fsync, fdatasync, or syncs a directory.
//
// A caller sees a small file system, FS, rooted at one directory. OpenDir gives
// the real one; package faultfs gives one in memory that forgets at a power cut
// whatever was not synced, and fails on request.
//
// # What each failure leaves behind
//
// A power cut may keep any subset of the bytes and names that no successful
// sync covers, page by page and in any order. What each call leaves when it
// fails, or when power goes before the next sync:
//
//	Append      a prefix, any pages of it, or zeros where it would have stood;
//	            after an error the file's length is unknown
//	SyncData    after an error the appended bytes may or may not be on disk,
//	            and the page cache may show what the disk never got, for ever:
//	            the same file must not be trusted by syncing it again
//	Create      an empty file, a file of any length, or no name at all
//	Rename      the old name, the new one, or (between file systems that do
//	            not journal names) both; never a new name with half a file, as
//	            long as the file was synced before
//	SyncDir     after an error any of the creations, renames and removals in
//	            that directory since its last sync may be undone by a power cut
//	Remove      the file is there or not
//	Truncate    the old length or the new one
//	Preallocate nothing that is read: lengths do not change, or zeros follow
//
// So the rules for whoever writes are: never acknowledge before SyncData
// returned nil; after any failed sync write no more to that file; give a file
// its final name only after SyncData, and rely on the name only after SyncDir.
package durable

import (
	"io/fs"
)

// FS is a directory tree of one owner. Names are slash-separated and relative
// ("segments/00000001.seg"); "." is the root. Every method may be called from
// many goroutines. Errors wrap the operating system's (errors.Is with
// fs.ErrNotExist, fs.ErrExist, syscall.ENOSPC … works).
type FS interface {
	// String names the root for messages.
	String() string
	// Create makes a new file to append to and read from; fs.ErrExist where
	// there is one. Its name is durable after SyncDir of its directory.
	Create(name string) (File, error)
	// Append opens an existing file to append behind its present end.
	Append(name string) (File, error)
	// Open opens a file for reading only.
	Open(name string) (Reader, error)
	// ReadDir lists a directory, sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Mkdir makes a directory; nil if it is there already.
	Mkdir(name string) error
	// Rename replaces newname, in the same directory or another.
	Rename(oldname, newname string) error
	Remove(name string) error
	// SyncDir makes creations, renames and removals in a directory durable.
	SyncDir(name string) error
	// Lock takes the exclusive lock named by a file, without waiting. A lock
	// held by somebody else is a *LockedError.
	Lock(name string) (Lock, error)
}

// Reader is a file open for reading. ReadAt is as io.ReaderAt.
type Reader interface {
	ReadAt(p []byte, off int64) (int, error)
	// Size is the file's present length in bytes.
	Size() (int64, error)
	Close() error
}

// File is a file open for appending. One goroutine appends; ReadAt may run
// beside it.
type File interface {
	Reader
	// Append writes p at the end of what was appended before. It writes all
	// of p or returns an error.
	Append(p []byte) error
	// SyncData makes the bytes appended so far, and what is needed to read
	// them back, durable.
	SyncData() error
	// Preallocate asks for room for size bytes from the start of the file, so
	// that an Append within it needs no new blocks. The file's readable length
	// may become size, with zeros behind what was appended. A file system that
	// cannot is no error.
	Preallocate(size int64) error
	// Truncate sets the file's length to size bytes and the end of what was
	// appended with it.
	Truncate(size int64) error
}

// Lock is a lock that is held. Close releases it; so does the end of the process.
type Lock interface {
	Close() error
}

// LockedError says who holds a lock.
type LockedError struct {
	Name   string // the lock file
	Holder string // what the holder wrote into it, "pid 123"; empty where unknown
}

func (e *LockedError) Error() string {
	if e.Holder == "" {
		return "lock " + e.Name + " is held by another process"
	}
	return "lock " + e.Name + " is held by " + e.Holder
}
