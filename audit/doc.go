// Package audit verifies whole logs: every entry is hashed again and held
// against its tile, every tile against those below it, the root against the
// signed checkpoint, every envelope against its signature, its schema and the
// registry as of its index, and no statement may stand twice
// (spec/report.md#checks).
//
// Log reads a static C2SP tlog-tiles site from an fs.FS, from left to right in
// windows of bounded size; within a window work is cut into pieces that depend
// on nothing but their input, and the caller's Runner runs them. So hashing,
// signatures and root need constant memory whatever the size of the log. The
// search for statements that stand twice needs memory for every leaf and ends
// not checked above a bound.
package audit
