// Package merkle is the append-only tree of RFC 6962 over SHA-256: hashes,
// inclusion and consistency proofs, and the tiles and entry bundles in which
// C2SP tlog-tiles lays a tree out (spec/log.md).
//
// A tree is read through a [Reader], which gives the hash of any complete
// subtree; whether that is memory, a file or tiles ([TileReader]) is the
// caller's affair. A growing tree needs only its right edge, a [Range].
// Verifying needs no tree at all: [VerifyInclusion] and [VerifyConsistency].
//
// Which nodes a proof is made of is asked of transparency-dev/merkle; the
// loops that hash are our own, because there a hash is a slice on the heap and
// here it is an array. The tests hold both to the same answers.
//
// Everything is bytes in, values out. Nothing here panics on input from
// outside, and every refusal is a *report.Error.
package merkle
