// Package importrules holds the picture of the module as tests: which package
// may import which, what the kernel may not touch, and what the offline
// verifier may not reach on any platform. It has no code of its own.
package importrules
