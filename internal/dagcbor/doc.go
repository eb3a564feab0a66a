// Package dagcbor reads and writes the one canonical form of a block: strict
// DAG-CBOR, narrowed as spec/encoding.md says, and the CIDs that name blocks.
//
// A reader calls [Parse], which runs the single-pass checker [Check] over the
// whole block before anything is decoded, and then walks the block in place
// through [Node]: no reflection, no tree. A writer builds a [Value] and calls
// [Encode], which refuses whatever Check would refuse. So for every block b
// that Check accepts, Encode of its Value is b again, byte for byte; a value
// has one spelling and a [CID] names it.
//
// The profile: shortest heads; definite lengths; text keys only, ascending by
// length, then bytes, none twice; valid UTF-8; integers within ±(2^53-1); no
// float, null, undefined or other simple value; no tag but 42, and that over
// 0x00 and one well-formed CID; nesting at most [MaxDepth]; one item, nothing
// behind it. The checker's work and memory follow the bytes that are there,
// never a length that a block claims.
package dagcbor

const (
	// MaxDepth is how deep lists and maps nest. The outermost is depth 1; a
	// block that is a bare integer or text has depth 0.
	MaxDepth = 16

	// MaxInt bounds integers: they lie in [-MaxInt, MaxInt], which every
	// consumer reads exactly, those with nothing but doubles included.
	MaxInt = 1<<53 - 1
)

// Major types of RFC 8949, section 3.1, as they stand in the top three bits
// of a head.
const (
	majorUint  = 0
	majorNint  = 1
	majorBytes = 2
	majorText  = 3
	majorList  = 4
	majorMap   = 5
	majorTag   = 6
	majorOther = 7
)

const (
	headFalse = 0xf4
	headTrue  = 0xf5
	tagCID    = 42
)
