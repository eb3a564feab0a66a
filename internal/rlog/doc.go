// Package rlog is the log engine: it gives leaves their places, makes them
// durable, signs, and proves (spec/log.md).
//
// A submitted leaf waits in a bounded queue. One goroutine, the sequencer, takes
// all that waits, appends it to the tree, signs the new root, writes leaves,
// root and signed checkpoint as one group record, syncs once, and only then
// wakes the callers, who compute their own proofs. While it syncs, the next
// group gathers; there is no timer.
//
// The group records are the truth. Open reads them, copies the last whole one
// into a new segment and syncs that before it signs anything, because after a
// crash the page cache may show what the disk never got. At most one record is
// ever cut, the last of all, and its bytes are kept.
//
// After the first failed write or sync nothing more is accepted (Err, Stopped);
// readers go on. Every refusal has a code of package report.
//
// Behind the sequencer the publisher writes full tiles and bundles and, last, the
// checkpoint that they make servable; hands the leaves to the index; and drops a
// segment once what replaces it was read back and gave the root that the segment
// holds. It bounds how far the sequencer runs ahead. A start reads the right edge
// of the tiles and the segments that are left.
//
// The tour: Config, Create, Open, Log (log.go); queue.go and sequencer.go for
// the way of a submission; segment.go for the bytes on disk; scan.go,
// recover.go, anchor.go, cut.go and writer.go for a start; contents.go, tree.go,
// leaves.go and statements.go for what readers see; publish.go, site.go and
// sitecheck.go for what is written behind; scrub.go, fsck.go and export.go for
// reading all of it again.
package rlog
