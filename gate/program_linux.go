package gate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// held is an open file that nobody can write to until it runs: by a lease, by
// its owner and mode, or because it is a sealed copy.
type held struct {
	file   *os.File
	leased bool
	// breaking is how long the kernel holds a writer off once it has come.
	breaking time.Duration
}

// leastBreak is the least time for which a writer must be held off, for a
// lease to be relied on: starting a program takes milliseconds.
const leastBreak = 5 * time.Second

// hold takes f over, unless it fails.
func hold(f *os.File, pin Pin) (held, error) {
	if err := regular(f); err != nil {
		return held{}, err
	}
	if pin == PinCopy {
		return sealedCopy(f)
	}
	breaking, leaseErr := lease(f)
	if leaseErr == nil {
		return held{f, true, breaking}, nil
	}
	st, err := f.Stat()
	if err != nil {
		return held{}, err
	}
	switch {
	case os.Geteuid() != 0 && superuserOnly(st): // whoever could rewrite it could do anything
		return held{file: f}, nil
	case pin == PinInPlace:
		return held{}, fmt.Errorf("it cannot be held as it is until it runs: %w", leaseErr)
	}
	return sealedCopy(f)
}

// lease takes a read lease: the kernel grants it only while nobody has the file
// open for writing, or mapped from such an opening, and from then on stops
// whoever opens it for writing or truncates it until the lease is given back or
// breaking has passed. It needs the file's owner, or CAP_LEASE, and a file
// system that has leases.
func lease(f *os.File) (breaking time.Duration, err error) {
	text, err := os.ReadFile("/proc/sys/fs/lease-break-time")
	if err != nil {
		return 0, err
	}
	seconds, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, err
	}
	if breaking = time.Duration(seconds) * time.Second; breaking < leastBreak {
		return 0, fmt.Errorf("fs.lease-break-time is %v, too short to rely on", breaking)
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		return 0, fmt.Errorf("read lease: %w", err)
	}
	return breaking, nil
}

// intact says whether nobody has asked to write since the file was held.
func (h held) intact() error {
	if !h.leased {
		return nil
	}
	kind, err := unix.FcntlInt(h.file.Fd(), unix.F_GETLEASE, 0)
	if err == nil && kind != unix.F_RDLCK {
		err = errors.New("somebody is about to write to the program file")
	}
	return err
}

// sealedCopy is f's bytes in memory, where nobody writes any more, this process
// included. It closes f.
func sealedCopy(f *os.File) (held, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("obstat-program", flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // a kernel before 6.3
		fd, err = unix.MemfdCreate("obstat-program", flags)
	}
	if err != nil {
		return held{}, fmt.Errorf("copy in memory: %w", err)
	}
	memory := os.NewFile(uintptr(fd), "obstat-program")
	_, err = io.Copy(memory, io.NewSectionReader(f, 0, 1<<62))
	if err == nil {
		_, err = unix.FcntlInt(memory.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err != nil {
		return held{}, errors.Join(err, memory.Close())
	}
	return held{file: memory}, f.Close()
}

func (h held) close() error { return h.file.Close() } // and with it the lease

// start makes cmd run the very file that was hashed, by its descriptor, so that
// a file put in its place under the same name meanwhile is not run. The child
// executes its copy of the descriptor, which that closes.
func (h held) start(cmd *exec.Cmd) error {
	cmd.Path = "/proc/self/fd/" + strconv.Itoa(int(h.file.Fd()))
	if err := h.intact(); err != nil {
		return err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	// From here on the kernel refuses to open the file for writing, since it runs.
	if h.leased && time.Since(began) >= h.breaking {
		return errors.Join(errUnsure, cmd.Process.Kill(), cmd.Wait())
	}
	return nil
}

// workingDir names the open directory to the child, which has a copy of the
// descriptor until it executes the program.
func workingDir(_ string, dir *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) }
