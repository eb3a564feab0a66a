package server_test

import (
	"crypto/ed25519"
	"crypto/sha512"
	"math/big"
	"slices"
	"testing"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/server/servertest"
)

// resign makes another valid signature of the same statement: Ed25519 says how
// a signer draws its nonce, but a verifier cannot see whether it was so. The
// arithmetic is that of RFC 8032 in big integers, for this one purpose.
func resign(t testing.TB, e *dsse.Envelope, signer string) *dsse.Envelope {
	t.Helper()
	key := servertest.Key(signer)
	message := dsse.PAE(e.Type, e.Payload)
	h := sha512.Sum512(key.Seed())
	h[0] &= 248
	h[31] = h[31]&127 | 64
	nonce := big.NewInt(424242)
	r := encodePoint(multiply(nonce, basePoint()))
	k := sha512.Sum512(slices.Concat(r, key[32:], message))
	s := new(big.Int).Mul(little(k[:]), little(h[:32]))
	s.Add(s, nonce).Mod(s, groupOrder())
	sig := slices.Concat(r, littleBytes(s))
	if !ed25519.Verify(key.Public().(ed25519.PublicKey), message, sig) {
		t.Fatal("the other signature does not hold")
	}
	return &dsse.Envelope{Type: e.Type, Payload: e.Payload, Sigs: []dsse.Signature{{By: e.Sigs[0].By, Sig: [64]byte(sig)}}}
}

func decimal(s string) *big.Int {
	n, _ := new(big.Int).SetString(s, 10)
	return n
}

func fieldPrime() *big.Int {
	return decimal("57896044618658097711785492504343953926634992332820282019728792003956564819949")
}
func groupOrder() *big.Int {
	return decimal("7237005577332262213973186563042994240857116359379907606001950938285454250989")
}

type point struct{ x, y *big.Int }

func basePoint() point {
	return point{
		decimal("15112221349535400772501151409588531511454012693041857206046113283949847762202"),
		decimal("46316835694926478169428394003475163141307993866256225615783033603165251855960"),
	}
}

// add is the complete addition of the twisted Edwards curve -x²+y² = 1+dx²y².
func add(p, q point) point {
	prime := fieldPrime()
	mul := func(a, b *big.Int) *big.Int { c := new(big.Int).Mul(a, b); return c.Mod(c, prime) }
	over := func(a, b *big.Int) *big.Int { return mul(a, new(big.Int).ModInverse(b, prime)) }
	d := over(big.NewInt(-121665), big.NewInt(121666))
	t := mul(d, mul(mul(p.x, q.x), mul(p.y, q.y)))
	one := big.NewInt(1)
	x := new(big.Int).Add(mul(p.x, q.y), mul(q.x, p.y))
	y := new(big.Int).Add(mul(p.y, q.y), mul(p.x, q.x))
	return point{over(x, new(big.Int).Add(one, t)), over(y, new(big.Int).Mod(new(big.Int).Sub(one, t), prime))}
}

func multiply(n *big.Int, p point) point {
	sum := point{big.NewInt(0), big.NewInt(1)}
	for i := n.BitLen() - 1; i >= 0; i-- {
		sum = add(sum, sum)
		if n.Bit(i) == 1 {
			sum = add(sum, p)
		}
	}
	return sum
}

func encodePoint(p point) []byte {
	b := littleBytes(p.y)
	b[31] |= byte(p.x.Bit(0)) << 7
	return b
}

func little(b []byte) *big.Int {
	r := slices.Clone(b)
	slices.Reverse(r)
	return new(big.Int).SetBytes(r)
}

func littleBytes(n *big.Int) []byte {
	b := n.FillBytes(make([]byte, 32))
	slices.Reverse(b)
	return b
}
