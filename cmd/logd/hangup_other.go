//go:build !unix

package main

import "context"

// hangups never tells: this system has no such signal.
func hangups(context.Context) <-chan struct{} { return nil }
