package dsse

import "math/big"

// curve is edwards25519, -x^2 + y^2 = 1 + d*x^2*y^2 modulo p, in plain big
// integers, whose formulas can be held against RFC 8032: the oracle of
// CheckPublicKey.
type curve struct{ p, d *big.Int }

type point struct{ x, y *big.Int }

func newCurve() curve {
	one := big.NewInt(1)
	p := new(big.Int).Lsh(one, 255)
	p.Sub(p, big.NewInt(19))
	d := new(big.Int).ModInverse(big.NewInt(121666), p)
	d.Mul(d, big.NewInt(-121665)).Mod(d, p)
	return curve{p, d}
}

// decode is RFC 8032, section 5.1.3, with every "decoding fails" in it.
func (c curve) decode(enc [32]byte) (point, bool) {
	sign := uint(enc[31] >> 7)
	enc[31] &= 0x7f
	for i := range 16 { // to big-endian
		enc[i], enc[31-i] = enc[31-i], enc[i]
	}
	y := new(big.Int).SetBytes(enc[:])
	if y.Cmp(c.p) >= 0 {
		return point{}, false
	}
	// x^2 = (y^2 - 1) / (d*y^2 + 1); the divisor is never 0, -1/d being no square.
	yy := c.mul(y, y)
	one := big.NewInt(1)
	num := new(big.Int).Sub(yy, one)
	den := new(big.Int).Add(c.mul(c.d, yy), one)
	x := new(big.Int).ModSqrt(c.mul(num, den.ModInverse(den, c.p)), c.p)
	if x == nil || x.Sign() == 0 && sign == 1 {
		return point{}, false
	}
	if x.Bit(0) != sign {
		x.Sub(c.p, x)
	}
	return point{x, y}, true
}

// smallOrder reports whether 8 times a is the neutral element (0, 1), the only
// point with y = 1; that is, whether the order of a divides 8.
func (c curve) smallOrder(a point) bool {
	for range 3 {
		a = c.double(a)
	}
	return a.y.Cmp(big.NewInt(1)) == 0
}

// double is the affine addition law with both points the same: complete,
// since d is no square.
func (c curve) double(a point) point {
	xx, yy := c.mul(a.x, a.x), c.mul(a.y, a.y)
	t := c.mul(c.d, c.mul(xx, yy))
	one := big.NewInt(1)
	plus := new(big.Int).Add(one, t)
	minus := new(big.Int).Sub(one, t)
	xy := c.mul(a.x, a.y)
	sum := new(big.Int).Add(xx, yy)
	return point{
		x: c.mul(xy.Lsh(xy, 1), plus.ModInverse(plus, c.p)),
		y: c.mul(sum, minus.ModInverse(minus.Mod(minus, c.p), c.p)),
	}
}

func (c curve) mul(a, b *big.Int) *big.Int {
	r := new(big.Int).Mul(a, b)
	return r.Mod(r, c.p)
}
