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
}
