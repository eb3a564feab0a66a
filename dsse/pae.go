package dsse

import "strconv"

// PAE is the pre-authentication encoding, the bytes that are signed:
//
//	"DSSEv1" SP len(type) SP type SP len(payload) SP payload
//
// with lengths in bytes, decimal, without leading zeros (DSSE v1.0.2,
// protocol.md).
func PAE(payloadType string, payload []byte) []byte {
	const lengths = 2 * 20 // two decimal lengths and no more
	b := make([]byte, 0, len("DSSEv1    ")+lengths+len(payloadType)+len(payload))
	b = append(b, "DSSEv1 "...)
	b = strconv.AppendInt(b, int64(len(payloadType)), 10)
	b = append(b, ' ')
	b = append(b, payloadType...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(len(payload)), 10)
	b = append(b, ' ')
	return append(b, payload...)
}
