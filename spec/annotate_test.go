package spec

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/obstat/obstat/internal/dagcbor"
)

// annotate prints a canonical block, an item a line: its bytes, indented by how
// deep it stands, and what they say. It reads CBOR by itself, so that the pages
// show what is there and not what the codec thinks.
func annotate(block []byte) string {
	a := &annotator{rest: block}
	a.item(0, "")
	if len(a.rest) > 0 {
		panic("trailing bytes in an example")
	}
	wide := 0
	for _, l := range a.lines {
		wide = max(wide, min(len(l.hex), 46))
	}
	var b strings.Builder
	for _, l := range a.lines {
		if len(l.hex) > wide { // long strings: what they say goes before them
			fmt.Fprintf(&b, "%-*s  # %s\n", wide, l.head, l.says)
			indent := strings.Repeat(" ", len(l.head)-len(strings.TrimLeft(l.head, " "))+3)
			for body := l.body; body != ""; {
				n := min(len(body), 64)
				b.WriteString(indent + body[:n] + "\n")
				body = body[n:]
			}
			continue
		}
		fmt.Fprintf(&b, "%-*s  # %s\n", wide, l.hex, l.says)
	}
	return b.String()
}

type annotator struct {
	rest  []byte
	lines []annotated
}

type annotated struct{ hex, head, body, says string }

func (a *annotator) item(depth int, key string) {
	major, arg, head := a.head()
	prefix := ""
	if key != "" {
		prefix = key + ": "
	}
	switch major {
	case 0:
		a.line(depth, head, nil, prefix+strconv.FormatUint(arg, 10))
	case 1:
		a.line(depth, head, nil, prefix+"-"+strconv.FormatUint(arg+1, 10))
	case 2:
		a.line(depth, head, a.take(arg), fmt.Sprintf("%sbytes(%d)", prefix, arg))
	case 3:
		s := a.take(arg)
		a.line(depth, head, s, prefix+strconv.Quote(string(s)))
	case 4:
		a.line(depth, head, nil, fmt.Sprintf("%slist of %d", prefix, arg))
		for range arg {
			a.item(depth+1, "")
		}
	case 5:
		a.line(depth, head, nil, fmt.Sprintf("%smap of %d", prefix, arg))
		for range arg {
			_, n, keyHead := a.head()
			k := a.take(n)
			a.line(depth+1, keyHead, k, "key "+string(k))
			a.item(depth+2, string(k))
		}
	case 6:
		_, n, inner := a.head()
		link := a.take(n)
		cid := must(dagcbor.CIDFromBytes(link[1:]))
		a.line(depth, append(head, inner...), link, prefix+"link "+cid.String())
	case 7:
		a.line(depth, head, nil, prefix+strconv.FormatBool(arg == 21))
	}
}

func (a *annotator) take(n uint64) []byte {
	b := a.rest[:n]
	a.rest = a.rest[n:]
	return b
}

func (a *annotator) head() (major byte, arg uint64, head []byte) {
	first := a.rest[0]
	major, arg = first>>5, uint64(first&31)
	size := 0
	if arg >= 24 {
		size = 1 << (arg - 24)
		var b [8]byte
		copy(b[8-size:], a.rest[1:1+size])
		arg = binary.BigEndian.Uint64(b[:])
	}
	return major, arg, append([]byte(nil), a.take(uint64(1+size))...)
}

func (a *annotator) line(depth int, head, body []byte, says string) {
	indent := strings.Repeat("  ", depth)
	l := annotated{head: indent + hex.EncodeToString(head), body: hex.EncodeToString(body), says: says}
	l.hex = l.head
	if len(body) > 0 {
		l.hex += " " + l.body
	}
	a.lines = append(a.lines, l)
}
