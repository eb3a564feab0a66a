// Package index keeps what is derived from the leaves of a log and can be made
// again from them: statement → leaf, receipt → leaves, the statements of a run,
// and leaves by kind, verdict, disposition, code and engine, with counters
// (spec/log.md#index).
//
// It is never the truth. Origin, covered tree size and root are written in the
// same batch as the entries; whoever opens it compares them with the log and
// begins again on a mismatch. Every answer names the size that it covers, and
// so is a hint and no proof of absence.
//
// The store is Pebble. An index of a log takes random keys, two a leaf, for
// ever: measured, a log-structured merge tree takes them at a fifth of the CPU
// of bbolt's B+tree, which rewrites a page for nearly every one and keeps
// growing slower. Its write-ahead log is not synced: what a power cut takes is
// absorbed again.
package index
