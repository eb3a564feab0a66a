package gate

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exchange gives two files of a directory each other's names in one step, so
// that nothing which somebody puts there meanwhile is lost.
func exchange(dir *os.Root, a, b string, step func(string)) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	err = unix.Renameat2(int(d.Fd()), a, int(d.Fd()), b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		return exchangeInSteps(dir, a, b, step) // a file system that cannot
	}
	if err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}
