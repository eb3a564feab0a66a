//go:build !windows

package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

var errLocked = errors.New("locked")

func rename(from, to string) error { return os.Rename(from, to) }

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	if err := syncOpenDir(d); err != nil {
		d.Close()
		return err
	}
	return d.Close()
}

func syncOpenDir(d *os.File) error { return d.Sync() }

// lockFile takes flock, which belongs to the open file: a second open of the
// same process is refused too, and a dead process holds nothing.
func lockFile(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return errLocked
		default:
			return err
		}
	}
}
