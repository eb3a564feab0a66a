package main

import (
	"bufio"
	"os"
	"runtime"
	"strings"
)

// machine says where this is measured, as far as Linux tells.
func machine(dir string) Machine {
	m := Machine{CPU: "unknown processor", Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
		FileSystem: fileSystem(dir), Busy: "unknown"}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				m.CPU = strings.TrimSpace(value)
				break
			}
		}
	}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.System += " " + strings.TrimSpace(string(b))
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Busy, _, _ = strings.Cut(string(b), " ")
	}
	return m
}

// fileSystem names the type of the file system that dir is on: a load measured
// on tmpfs measured no disk.
func fileSystem(dir string) string {
	at, err := os.Getwd()
	if err != nil {
		return "unknown file system"
	}
	if !strings.HasPrefix(dir, "/") {
		dir = at + "/" + dir
	}
	f, err := os.Open("/proc/self/mounts")
	if err != nil {
		return "unknown file system"
	}
	defer f.Close()
	best, kind := "", "unknown file system"
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) < 3 {
			continue
		}
		mount := strings.TrimSuffix(fields[1], "/")
		if strings.HasPrefix(dir, mount+"/") && len(mount) >= len(best) {
			best, kind = mount, fields[2]
		}
	}
	return kind
}
