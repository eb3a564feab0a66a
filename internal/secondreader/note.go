package secondreader

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file is checkpoint.md and log.md#tree.

type noteLine struct {
	name string
	id   string // four bytes
	sig  []byte
}

type note struct {
	text  string
	lines []noteLine
}

// padded is standard base64 with padding, in its one spelling.
func padded(s string) ([]byte, bool) {
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	return b, err == nil && base64.StdEncoding.EncodeToString(b) == s
}

func keyName(s string) bool {
	return s != "" && len(s) <= 255 && !strings.ContainsFunc(s, func(r rune) bool { return r == '+' || unicode.IsSpace(r) })
}

func readNote(b []byte) (*note, refusal) {
	const bad = refusal("NOTE-MALFORMED")
	s := string(b)
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 && r != '\n' }) {
		return nil, bad
	}
	cut := strings.LastIndex(s, "\n\n")
	if cut < 0 || cut+2 == len(s) || !strings.HasSuffix(s, "\n") {
		return nil, bad
	}
	n := &note{text: s[:cut+1]}
	all := strings.Split(strings.TrimSuffix(s[cut+2:], "\n"), "\n")
	if len(all) > 100 {
		return nil, "NOTE-TOO-LARGE"
	}
	for _, line := range all {
		rest, ok := strings.CutPrefix(line, "— ")
		name, digits, ok2 := strings.Cut(rest, " ")
		sig, ok3 := padded(digits)
		if !ok || !ok2 || !ok3 || !keyName(name) || len(sig) < 5 {
			return nil, bad
		}
		l := noteLine{name, string(sig[:4]), sig[4:]}
		if slices.ContainsFunc(n.lines, func(o noteLine) bool { return o.name == l.name && o.id == l.id }) {
			return nil, "NOTE-DUPLICATE-SIGNATURE"
		}
		n.lines = append(n.lines, l)
	}
	return n, ""
}

type treeHead struct {
	origin string
	size   uint64
	root   []byte
}

func readHead(text string) (h treeHead, err refusal) {
	const bad = refusal("CHECKPOINT-MALFORMED")
	lines := strings.Split(text, "\n") // the last is empty
	if len(lines) < 4 || slices.Contains(lines[:len(lines)-1], "") || len(lines[0]) > 255 {
		return h, bad
	}
	n, ok := decimal(lines[1], 1<<63-1)
	root, ok2 := padded(lines[2])
	if !ok || !ok2 || len(root) != 32 {
		return h, bad
	}
	if nothing := sha256.Sum256(nil); n == 0 && !bytes.Equal(root, nothing[:]) {
		return h, "CHECKPOINT-EMPTY-ROOT"
	}
	return treeHead{lines[0], n, root}, ""
}

// decimal without leading zeros.
func decimal(s string, most uint64) (uint64, bool) {
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil && strconv.FormatUint(n, 10) == s && n <= most
}

// vkey is a verifier key.
type vkey struct {
	name string
	id   string
	typ  byte
	pub  []byte
}

func readVKey(s string) (k vkey, ok bool) {
	name, rest, ok1 := strings.Cut(s, "+")
	id, digits, ok2 := strings.Cut(rest, "+")
	key, ok3 := padded(digits)
	if !ok1 || !ok2 || !ok3 || !keyName(name) || len(key) != 33 || (key[0] != 1 && key[0] != 4) || !soundKey(key[1:]) {
		return k, false
	}
	sum := sha256.Sum256(append([]byte(name+"\n"), key...))
	return vkey{name, string(sum[:4]), key[0], key[1:]}, hex.EncodeToString(sum[:4]) == id
}

// verify returns whether a line holds, and when it was cosigned.
func (k vkey) verify(text string, sig []byte) (time uint64, ok bool) {
	if k.typ == 1 {
		return 0, len(sig) == 64 && ed25519.Verify(k.pub, []byte(text), sig)
	}
	if len(sig) != 72 {
		return 0, false
	}
	time = binary.BigEndian.Uint64(sig)
	return time, time < 1<<63 && ed25519.Verify(k.pub, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", time, text), sig[8:])
}

// soundKey: 32 bytes, the canonical encoding of a point of edwards25519, not of
// small order (trust.md#keys).
func soundKey(b []byte) bool {
	if len(b) != 32 {
		return false
	}
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	mod := func(x *big.Int) *big.Int { return x.Mod(x, p) }
	d := mod(new(big.Int).Mul(big.NewInt(-121665), new(big.Int).ModInverse(big.NewInt(121666), p)))
	reversed := slices.Clone(b)
	slices.Reverse(reversed)
	sign := reversed[0] >> 7
	reversed[0] &= 0x7f
	y := new(big.Int).SetBytes(reversed)
	if y.Cmp(p) >= 0 {
		return false
	}
	// x^2 = (y^2 - 1) / (d y^2 + 1)
	yy := mod(new(big.Int).Mul(y, y))
	u := mod(new(big.Int).Sub(yy, big.NewInt(1)))
	v := mod(new(big.Int).Add(new(big.Int).Mul(d, yy), big.NewInt(1)))
	xx := mod(new(big.Int).Mul(u, new(big.Int).ModInverse(v, p)))
	x := new(big.Int).ModSqrt(xx, p)
	if x == nil || x.Sign() == 0 && sign == 1 {
		return false
	}
	if byte(x.Bit(0)) != sign {
		x = mod(new(big.Int).Neg(x))
	}
	for range 3 { // eight times the point is the neutral element, or not
		x, y = double(x, y, d, p)
	}
	return x.Sign() != 0 || y.Cmp(big.NewInt(1)) != 0
}

// double adds a point of edwards25519 to itself.
func double(x, y, d, p *big.Int) (*big.Int, *big.Int) {
	mul := func(list ...*big.Int) *big.Int {
		out := big.NewInt(1)
		for _, n := range list {
			out.Mul(out, n).Mod(out, p)
		}
		return out
	}
	k := mul(d, x, x, y, y)
	one := big.NewInt(1)
	above := new(big.Int).Add(mul(x, y), mul(x, y))
	below := new(big.Int).ModInverse(new(big.Int).Mod(new(big.Int).Add(one, k), p), p)
	nx := mul(above, below)
	above = new(big.Int).Add(mul(y, y), mul(x, x))
	below = new(big.Int).ModInverse(new(big.Int).Mod(new(big.Int).Sub(one, k), p), p)
	return nx, mul(above, below)
}

// tlogProof is a C2SP tlog-proof.
type tlogProof struct {
	extra    []byte
	hasExtra bool
	index    uint64
	hashes   [][]byte
	note     []byte
}

func readProof(b []byte) (p tlogProof, err refusal) {
	const bad = refusal("TLOG-PROOF-MALFORMED")
	top, rest, ok := strings.Cut(string(b), "\n\n")
	lines := strings.Split(top, "\n")
	if !ok || lines[0] != "c2sp.org/tlog-proof@v1" || !strings.HasSuffix(rest, "\n") || strings.Contains(top, "\r") {
		return p, bad
	}
	lines = lines[1:]
	if len(lines) > 0 && strings.HasPrefix(lines[0], "extra ") {
		if p.extra, ok = padded(lines[0][6:]); !ok {
			return p, bad
		}
		p.hasExtra, lines = true, lines[1:]
	}
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "index ") {
		return p, bad
	}
	if p.index, ok = decimal(lines[0][6:], 1<<63-2); !ok || len(lines) > 64 {
		return p, bad
	}
	for _, l := range lines[1:] {
		h, ok := padded(l)
		if !ok || len(h) != 32 {
			return p, bad
		}
		p.hashes = append(p.hashes, h)
	}
	p.note = []byte(rest)
	return p, ""
}

func nodeHash(left, right []byte) []byte {
	h := sha256.Sum256(slices.Concat([]byte{1}, left, right))
	return h[:]
}

func leafHash(leaf []byte) []byte {
	h := sha256.Sum256(append([]byte{0}, leaf...))
	return h[:]
}

// split is the largest power of two below n.
func split(n uint64) uint64 {
	k := uint64(1)
	for k*2 < n {
		k *= 2
	}
	return k
}

// included holds an inclusion proof (RFC 6962, section 2.1.1), from the root down.
func included(index, size uint64, hash []byte, proof [][]byte, root []byte) refusal {
	if index >= size {
		return "PROOF-RANGE"
	}
	used := 0
	var climb func(index, size uint64) []byte
	climb = func(index, size uint64) []byte {
		if size == 1 {
			return hash
		}
		k := split(size)
		var below []byte
		if index < k {
			below = climb(index, k)
		} else {
			below = climb(index-k, size-k)
		}
		if used++; used > len(proof) || below == nil {
			return nil
		}
		if index < k {
			return nodeHash(below, proof[used-1])
		}
		return nodeHash(proof[used-1], below)
	}
	got := climb(index, size)
	switch {
	case got == nil || used != len(proof):
		return "PROOF-LENGTH"
	case !bytes.Equal(got, root):
		return "PROOF-INVALID"
	}
	return ""
}

// grown holds a consistency proof (RFC 6962, section 2.1.2) by making both roots
// of it.
func grown(from, to uint64, old, root []byte, proof [][]byte) refusal {
	used := 0
	next := func() []byte {
		if used++; used > len(proof) {
			return nil
		}
		return proof[used-1]
	}
	// climb returns the root of the first m leaves and that of all n of a subtree;
	// whole says that the m are a subtree of the old tree by themselves.
	var climb func(m, n uint64, whole bool) (a, b []byte)
	climb = func(m, n uint64, whole bool) (a, b []byte) {
		if m == n {
			if whole {
				return old, old
			}
			h := next()
			return h, h
		}
		k := split(n)
		if m <= k {
			a, b = climb(m, k, whole)
			right := next()
			if b == nil || right == nil {
				return nil, nil
			}
			return a, nodeHash(b, right)
		}
		a, b = climb(m-k, n-k, false)
		left := next()
		if a == nil || left == nil {
			return nil, nil
		}
		return nodeHash(left, a), nodeHash(left, b)
	}
	a, b := climb(from, to, true)
	switch {
	case a == nil || used != len(proof):
		return "PROOF-LENGTH"
	case !bytes.Equal(a, old) || !bytes.Equal(b, root):
		return "PROOF-INVALID"
	}
	return ""
}
