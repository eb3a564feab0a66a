//go:build race

package rlog

// raceBuild: the race detector looks for races, of which a crash at one step has
// as many as at another, and makes everything ten times slower.
const raceBuild = true
