package bundle

import (
	"strconv"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/preview"
)

// places are the paths within a receipt at which byte strings of the length of
// a commitment stand, by those bytes.
type places map[preview.Commitment][]string

// placesIn reads the payload of a statement, which has been decoded, once for
// all disclosures.
func placesIn(payload []byte) places {
	p := places{}
	n, err := dagcbor.Parse(payload)
	if err != nil {
		return p
	}
	if r, ok := n.Lookup("receipt"); ok {
		p.add("", r)
	}
	return p
}

func (p places) add(path string, n dagcbor.Node) {
	switch n.Kind() {
	case dagcbor.KindBytes:
		if b := n.Bytes(); len(b) == len(preview.Commitment{}) {
			c := preview.Commitment(b)
			p[c] = append(p[c], path)
		}
	case dagcbor.KindList:
		for i, item := range n.Items() {
			p.add(path+"/"+strconv.Itoa(i), item)
		}
	case dagcbor.KindMap:
		for key, value := range n.Entries() {
			p.add(path+"/"+key, value)
		}
	}
}
