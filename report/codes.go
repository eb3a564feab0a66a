package report

// Code names one refusal or one outcome of a check. Codes are
// [A-Z0-9]+(-[A-Z0-9]+)*, never renamed and never reused (spec/codes.md).
type Code string

// The closed list. One constant, one line of the table below.
const (
	CodeOK       Code = "OK"
	CodeInternal Code = "INTERNAL"

	// DAG-CBOR and CIDs (internal/dagcbor).
	CodeCBORTruncated    Code = "CBOR-TRUNCATED"
	CodeCBORTrailing     Code = "CBOR-TRAILING"
	CodeCBORNotShortest  Code = "CBOR-NOT-SHORTEST"
	CodeCBORIndefinite   Code = "CBOR-INDEFINITE"
	CodeCBORReserved     Code = "CBOR-RESERVED"
	CodeCBORFloat        Code = "CBOR-FLOAT"
	CodeCBORNull         Code = "CBOR-NULL"
	CodeCBORSimple       Code = "CBOR-SIMPLE"
	CodeCBORTag          Code = "CBOR-TAG"
	CodeCBORLink         Code = "CBOR-LINK"
	CodeCBORIntRange     Code = "CBOR-INT-RANGE"
	CodeCBORUTF8         Code = "CBOR-UTF8"
	CodeCBORKeyType      Code = "CBOR-KEY-TYPE"
	CodeCBORKeyOrder     Code = "CBOR-KEY-ORDER"
	CodeCBORKeyDuplicate Code = "CBOR-KEY-DUPLICATE"
	CodeCBORDepth        Code = "CBOR-DEPTH"
	CodeCIDForm          Code = "CID-FORM"
	CodeCIDText          Code = "CID-TEXT"

	// Trees, proofs and tiles (merkle).
	CodeProofRange      Code = "PROOF-RANGE"
	CodeProofEmptyTree  Code = "PROOF-EMPTY-TREE"
	CodeProofLength     Code = "PROOF-LENGTH"
	CodeProofInvalid    Code = "PROOF-INVALID"
	CodeTreeSize        Code = "TREE-SIZE"
	CodeNodeRange       Code = "NODE-RANGE"
	CodeTilePath        Code = "TILE-PATH"
	CodeTileData        Code = "TILE-DATA"
	CodeEntryTooLarge   Code = "ENTRY-TOO-LARGE"
	CodeBundleMalformed Code = "BUNDLE-MALFORMED"

	// Signed notes and checkpoints (checkpoint).
	CodeNoteMalformed              Code = "NOTE-MALFORMED"
	CodeNoteTooLarge               Code = "NOTE-TOO-LARGE"
	CodeNoteDuplicate              Code = "NOTE-DUPLICATE-SIGNATURE"
	CodeCheckpointMalformed        Code = "CHECKPOINT-MALFORMED"
	CodeCheckpointEmptyRoot        Code = "CHECKPOINT-EMPTY-ROOT"
	CodeCheckpointUnsigned         Code = "CHECKPOINT-UNSIGNED"
	CodeCheckpointSignatureInvalid Code = "CHECKPOINT-SIGNATURE-INVALID"
	CodeVKeyMalformed              Code = "VKEY-MALFORMED"
	CodeVKeyID                     Code = "VKEY-ID"
	CodeVKeyType                   Code = "VKEY-TYPE"
	CodeTlogProofMalformed         Code = "TLOG-PROOF-MALFORMED"
)

// Meaning is what a code says, in one sentence; a test holds that every code
// has one and that spec/codes.md prints exactly these.
var Meaning = map[Code]string{
	CodeOK:       "the check was made and holds",
	CodeInternal: "a fault of this program, not of the input",

	// DAG-CBOR and CIDs (internal/dagcbor).
	CodeCBORTruncated:    "the input ends before the item it began, or is empty",
	CodeCBORTrailing:     "bytes follow the one item",
	CodeCBORNotShortest:  "an integer, a length or a tag is not written in its shortest form",
	CodeCBORIndefinite:   "an indefinite length or a break code",
	CodeCBORReserved:     "a head that CBOR reserves",
	CodeCBORFloat:        "a floating-point number",
	CodeCBORNull:         "null where an absent value is an absent key",
	CodeCBORSimple:       "undefined or another simple value than true and false",
	CodeCBORTag:          "a tag other than 42",
	CodeCBORLink:         "tag 42 does not hold 0x00 and one well-formed CID",
	CodeCBORIntRange:     "an integer beyond plus or minus 2^53-1",
	CodeCBORUTF8:         "a text is not valid UTF-8",
	CodeCBORKeyType:      "a map key is not a text",
	CodeCBORKeyOrder:     "map keys are not ascending by length, then bytes",
	CodeCBORKeyDuplicate: "the same map key twice",
	CodeCBORDepth:        "lists and maps are nested deeper than 16",
	CodeCIDForm:          "the bytes are not a CIDv1 of dag-cbor with a 32-byte BLAKE3 digest",
	CodeCIDText:          "the text is not the one spelling of a CID",

	// Trees, proofs and tiles (merkle).
	CodeProofRange:      "a proof is asked of an index that is not below the tree size, or from a larger tree to a smaller",
	CodeProofEmptyTree:  "a consistency proof from the empty tree, which is a prefix of every tree; there is nothing to prove",
	CodeProofLength:     "the number of hashes is not the one that the index and the sizes call for",
	CodeProofInvalid:    "the hashes of a proof do not lead to the root",
	CodeTreeSize:        "a tree size above 2^63-1",
	CodeNodeRange:       "a subtree that is not complete in a tree of this size",
	CodeTilePath:        "not the one spelling of the path of a tile or an entry bundle that a tree can have",
	CodeTileData:        "a tile does not have the bytes that its width calls for",
	CodeEntryTooLarge:   "an entry of more than 65,535 bytes",
	CodeBundleMalformed: "the bytes are not the stated number of length-prefixed entries",

	// Signed notes and checkpoints (checkpoint).
	CodeNoteMalformed:              "the bytes are not a C2SP signed note",
	CodeNoteTooLarge:               "a signed note has more bytes or more signature lines than are read",
	CodeNoteDuplicate:              "two signature lines of a note have the same name and key ID",
	CodeCheckpointMalformed:        "the text of a note is not a C2SP tlog-checkpoint",
	CodeCheckpointEmptyRoot:        "a checkpoint of size 0 does not carry the root of the empty tree",
	CodeCheckpointUnsigned:         "no signature line of a checkpoint is by a key that is known here",
	CodeCheckpointSignatureInvalid: "a signature line by a known key does not verify",
	CodeVKeyMalformed:              "the text is not a C2SP signed-note verifier key",
	CodeVKeyID:                     "the key ID of a verifier key is not the one that its name and key give",
	CodeVKeyType:                   "a signature type other than Ed25519 (0x01) and cosignature/v1 (0x04)",
	CodeTlogProofMalformed:         "the bytes are not a C2SP tlog-proof",
}
