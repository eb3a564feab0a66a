//go:build js || plan9

package main

// nonblocking does not exist where there are no named pipes to wait for.
const nonblocking = 0
