package secondreader

import (
	"encoding/base32"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/zeebo/blake3"
)

// This file is encoding.md.

// item is one CBOR item: int64, []byte, string, bool, list, *dict or link.
type (
	item any
	list []item
	link []byte // a CID without the 0x00 before it
	dict struct {
		keys []string
		m    map[string]item
		raw  map[string][]byte
	}
)

// refusal is a code that ended the reading of something.
type refusal string

const maxInt = 1<<53 - 1

// block reads one canonical item.
func block(b []byte) (v item, err refusal) {
	defer func() {
		if r := recover(); r != nil {
			v, err = nil, r.(refusal) // only this file panics, and with refusals
		}
	}()
	r := &blockReader{b: b}
	v = r.item(0)
	if len(r.b) > 0 {
		return nil, "CBOR-TRAILING"
	}
	return v, ""
}

type blockReader struct{ b []byte }

func (r *blockReader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		panic(refusal("CBOR-TRUNCATED"))
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

// head reads major type and argument; info is the additional information.
func (r *blockReader) head() (major, info byte, n uint64) {
	first := r.take(1)[0]
	major, info = first>>5, first&31
	switch {
	case info >= 28 && info <= 30:
		panic(refusal("CBOR-RESERVED"))
	case info == 31:
		panic(refusal("CBOR-INDEFINITE"))
	case major == 7 || info < 24:
		return major, info, uint64(info)
	}
	size := uint64(1) << (info - 24)
	var wide [8]byte
	copy(wide[8-size:], r.take(size))
	n = binary.BigEndian.Uint64(wide[:])
	least := map[byte]uint64{24: 24, 25: 1 << 8, 26: 1 << 16, 27: 1 << 32}[info]
	if n < least {
		panic(refusal("CBOR-NOT-SHORTEST"))
	}
	return major, info, n
}

func (r *blockReader) text(n uint64) string {
	s := string(r.take(n))
	if !utf8.ValidString(s) {
		panic(refusal("CBOR-UTF8"))
	}
	return s
}

func (r *blockReader) item(depth int) item {
	major, info, n := r.head()
	switch major {
	case 0, 1:
		if n > maxInt || major == 1 && n >= maxInt {
			panic(refusal("CBOR-INT-RANGE"))
		}
		if major == 1 {
			return -1 - int64(n)
		}
		return int64(n)
	case 2:
		return r.take(n)
	case 3:
		return r.text(n)
	case 4, 5:
		if depth == 16 {
			panic(refusal("CBOR-DEPTH"))
		}
		if n*uint64(major-3) > uint64(len(r.b)) || n > uint64(len(r.b)) {
			panic(refusal("CBOR-TRUNCATED"))
		}
		if major == 5 {
			return r.dict(n, depth)
		}
		out := make(list, 0, n)
		for range n {
			out = append(out, r.item(depth+1))
		}
		return out
	case 6:
		if n != 42 {
			panic(refusal("CBOR-TAG"))
		}
		return r.link()
	}
	switch {
	case info == 20 || info == 21:
		return info == 21
	case info == 22:
		panic(refusal("CBOR-NULL"))
	case info >= 25:
		panic(refusal("CBOR-FLOAT"))
	}
	panic(refusal("CBOR-SIMPLE"))
}

func (r *blockReader) dict(n uint64, depth int) *dict {
	d := &dict{m: map[string]item{}, raw: map[string][]byte{}}
	last := ""
	for i := range n {
		major, _, size := r.head()
		if major != 3 {
			panic(refusal("CBOR-KEY-TYPE"))
		}
		key := r.text(size)
		switch {
		case i == 0:
		case key == last:
			panic(refusal("CBOR-KEY-DUPLICATE"))
		case len(key) < len(last) || len(key) == len(last) && key < last:
			panic(refusal("CBOR-KEY-ORDER"))
		}
		last = key
		before := r.b
		d.keys, d.m[key] = append(d.keys, key), r.item(depth+1)
		d.raw[key] = before[:len(before)-len(r.b)]
	}
	return d
}

// link reads the byte string of tag 42: 0x00 and one CIDv1.
func (r *blockReader) link() link {
	if len(r.b) > 0 && r.b[0]>>5 != 2 {
		panic(refusal("CBOR-LINK"))
	}
	_, _, n := r.head()
	content := r.take(n)
	if len(content) == 0 || content[0] != 0 || !isCID(content[1:]) {
		panic(refusal("CBOR-LINK"))
	}
	return content[1:]
}

// isCID: version 1, codec, hash function, length, and that many bytes.
func isCID(b []byte) bool {
	var n [4]uint64
	for i := range n {
		v, size := binary.Uvarint(b)
		if size <= 0 || size > 1 && b[size-1] == 0 {
			return false
		}
		n[i], b = v, b[size:]
	}
	return n[0] == 1 && n[3] == uint64(len(b))
}

// cid is the text of the CID of a block.
func cid(block []byte) string {
	sum := blake3.Sum256(block)
	return cidText(append([]byte{0x01, 0x71, 0x1e, 0x20}, sum[:]...))
}

func cidText(b []byte) string {
	return "b" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}

// isCIDText: the one text of a CID of the one form.
func isCIDText(s string) bool {
	if len(s) != 59 || s[0] != 'b' || s[1:] != strings.ToLower(s[1:]) {
		return false
	}
	b, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(s[1:]))
	return err == nil && len(b) == 36 && string(b[:4]) == "\x01\x71\x1e\x20" && cidText(b) == s
}

// Canonical bytes of what has to be hashed.
func head(major byte, n int) []byte {
	switch {
	case n < 24:
		return []byte{major<<5 | byte(n)}
	case n < 1<<8:
		return []byte{major<<5 | 24, byte(n)}
	case n < 1<<16:
		return []byte{major<<5 | 25, byte(n >> 8), byte(n)}
	}
	return binary.BigEndian.AppendUint32([]byte{major<<5 | 26}, uint32(n))
}

func encText(s string) []byte  { return append(head(3, len(s)), s...) }
func encBytes(b []byte) []byte { return append(head(2, len(b)), b...) }

func encTexts(list []string) []byte {
	out := head(4, len(list))
	for _, s := range list {
		out = append(out, encText(s)...)
	}
	return out
}
