package main

import "runtime/debug"

// version says what was built, from what the toolchain recorded.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "verify, of an unknown build"
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	return "verify " + v + " " + info.GoVersion
}
