package bundle

import (
	"bytes"
	"strconv"

	"github.com/obstat/obstat/internal/dagcbor"
)

// placesOf returns the paths within the receipt of a statement at which exactly
// these bytes stand as a byte string. payload has been decoded.
func placesOf(payload, want []byte) []string {
	n, err := dagcbor.Parse(payload)
	if err != nil {
		return nil
	}
	r, ok := n.Lookup("receipt")
	if !ok {
		return nil
	}
	return appendPlaces(nil, "", r, want)
}

func appendPlaces(out []string, path string, n dagcbor.Node, want []byte) []string {
	switch n.Kind() {
	case dagcbor.KindBytes:
		if bytes.Equal(n.Bytes(), want) {
			out = append(out, path)
		}
	case dagcbor.KindList:
		for i, item := range n.Items() {
			out = appendPlaces(out, path+"/"+strconv.Itoa(i), item, want)
		}
	case dagcbor.KindMap:
		for key, value := range n.Entries() {
			out = appendPlaces(out, path+"/"+key, value, want)
		}
	}
	return out
}
