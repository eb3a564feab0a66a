//go:build !js && !plan9

package main

import "syscall"

// nonblocking keeps an open from waiting for the other end of a pipe.
const nonblocking = syscall.O_NONBLOCK
