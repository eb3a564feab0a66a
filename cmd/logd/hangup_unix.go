//go:build unix

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// hangups tells of every SIGHUP until ctx ends, instead of ending the process.
func hangups(ctx context.Context) <-chan struct{} {
	signals, told := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		defer signal.Stop(signals)
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
			}
			select {
			case <-ctx.Done():
				return
			case told <- struct{}{}:
			}
		}
	}()
	return told
}
