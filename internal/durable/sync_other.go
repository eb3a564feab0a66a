//go:build !linux && !windows

package durable

import "os"

// syncData is os.File.Sync, which on darwin is fcntl(F_FULLFSYNC): plain fsync
// there leaves the data in the drive's own cache.
func syncData(f *os.File) error { return f.Sync() }
