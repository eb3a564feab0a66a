// Package index keeps what is derived from the leaves of a log and can be made
// again from them: statement → leaf, receipt → leaves, the statements of a run
// in order, and leaves by kind, verdict, disposition, code and engine, with
// counters (spec/log.md#index).
//
// It is never the truth. Origin, covered tree size and root are written in the
// same batch as the entries; what is of another origin or format, or cannot be
// read, begins again at Open, and a root that the log's tree does not have is
// for the caller to compare (Covered, Reset). Every answer names the size that
// it covers: a hint, and no proof of absence.
//
// # What is required of the disk
//
// Nothing is synced for the sake of an answer, and there is no write-ahead log:
// the log is one. A batch is in the store whole or not at all, and batches are
// lost from the end only: a process or a machine that dies loses what was not
// yet in a table, up to some 40,000 leaves. Covered is then smaller after the
// next Open, and those leaves are absorbed again, in about a second. So a caller
// is exact about duplicates if it keeps the statements of every leaf at or
// behind the covered size in memory, and lets go of them after Absorb returned.
//
// # The store
//
// Pebble (github.com/cockroachdb/pebble/v2). A log brings two random keys a
// leaf for ever, and nearly every look-up is for a statement that is not there.
// Measured with the keys of this package on two hyperthreads, one million leaves
// in batches of 1,024, CPU of all threads: Pebble 2.1.7 takes 9 µs a leaf,
// compaction included, and 1.1.5 the same; bbolt 1.5.0, though it synced
// nothing, 42 µs (29 µs at 300,000 leaves, so that it grows), and three times the
// disk, since it writes a page of its tree for nearly every key. bbolt looks up
// faster, 2 µs against 3, and at ten million leaves under full load 18 µs; that
// is a third of a signature check. Keys hold whole digests: cutting them to
// 16 bytes saves one microsecond, and would ask for a proof that nobody makes two
// statements with one beginning. Lists of leaves are kept per batch: a key for
// each took 17 µs where this took 12, in one busy run.
//
// All of Absorb, the leaves read and hashed, takes 22 to 30 µs at one million
// leaves and 32 µs at ten million, of which EntryOf is 10 µs; 150 bytes of disk
// a leaf, 72 MiB of anonymous memory. BenchmarkIndex measures it again:
//
//	OBSTAT_INDEX_LEAVES=10000000 go test -run - -bench . -benchtime 1x ./internal/index
package index
