package dsse

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/report"
)

// TestKeyIsX509: id and PEM are over the bytes that crypto/x509 writes and reads.
func TestKeyIsX509(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pub := publicOf(ed25519.NewKeyFromSeed(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(rt, "seed")))
		der, err := x509.MarshalPKIXPublicKey(pub)
		if err != nil {
			rt.Fatal(err)
		}
		if got := IDOf(pub); got != sha256.Sum256(der) || len(der) != spkiSize {
			rt.Fatalf("id of %x is %v", pub, got)
		}
		text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
		if got := MarshalPublicKeyPEM(pub); !bytes.Equal(got, text) {
			rt.Fatalf("PEM of %x is %s", pub, got)
		}
		if got, err := ParsePublicKeyPEM(text); err != nil || !got.Equal(pub) {
			rt.Fatalf("PEM of %x reads as %x, %v", pub, got, err)
		}
	})
}

func TestParsePublicKeyPEMRefuses(t *testing.T) {
	pub := publicOf(testKey("a"))
	good := string(MarshalPublicKeyPEM(pub))
	if got, err := ParsePublicKeyPEM([]byte("\n\r\n" + strings.TrimRight(good, "\n") + " \r\n\n")); err != nil || !got.Equal(pub) {
		t.Errorf("white space around it: %x, %v", got, err)
	}
	block := func(typ string, der []byte, headers map[string]string) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: der, Headers: headers}))
	}
	der := append([]byte(spkiPrefix), pub...)
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := x509.MarshalPKIXPublicKey(&p256.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(testKey("a"))
	if err != nil {
		t.Fatal(err)
	}
	small := append([]byte(spkiPrefix), make([]byte, 32)...)
	for name, tc := range map[string]struct {
		text string
		code report.Code
	}{
		"nothing":         {"", report.CodeKeyPEM},
		"the bare key":    {string(pub), report.CodeKeyPEM},
		"DER":             {string(der), report.CodeKeyPEM},
		"a space before":  {" " + good, report.CodeKeyPEM},
		"a form feed":     {good + "\f", report.CodeKeyPEM},
		"text before it":  {"a key:\n" + good, report.CodeKeyPEM},
		"text behind it":  {good + "x", report.CodeKeyPEM},
		"two keys":        {good + good, report.CodeKeyPEM},
		"cut":             {good[:len(good)-10], report.CodeKeyPEM},
		"another type":    {block("ED25519 PUBLIC KEY", der, nil), report.CodeKeyPEM},
		"a private key":   {block("PRIVATE KEY", private, nil), report.CodeKeyPEM},
		"a header":        {block("PUBLIC KEY", der, map[string]string{"x": "y"}), report.CodeKeyPEM},
		"P-256":           {block("PUBLIC KEY", other, nil), report.CodeKeyPEM},
		"a byte more":     {block("PUBLIC KEY", append(bytes.Clone(der), 0), nil), report.CodeKeyPEM},
		"a byte fewer":    {block("PUBLIC KEY", der[:43], nil), report.CodeKeyPEM},
		"the bare point":  {block("PUBLIC KEY", pub, nil), report.CodeKeyPEM},
		"X25519":          {block("PUBLIC KEY", append([]byte("\x30\x2a\x30\x05\x06\x03\x2b\x65\x6e\x03\x21\x00"), pub...), nil), report.CodeKeyPEM},
		"unused bits":     {block("PUBLIC KEY", append([]byte("\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x01"), pub...), nil), report.CodeKeyPEM},
		"of small order":  {block("PUBLIC KEY", small, nil), report.CodeKeySmallOrder},
		"no point at all": {block("PUBLIC KEY", append([]byte(spkiPrefix), notAPoint()...), nil), report.CodeKeyForm},
	} {
		if got, err := ParsePublicKeyPEM([]byte(tc.text)); report.CodeOf(err) != tc.code || got != nil {
			t.Errorf("%s: %x, %v; want %s", name, got, err, tc.code)
		}
	}
}

// notAPoint is y = 2, which has no x.
func notAPoint() []byte { return append([]byte{2}, make([]byte, 31)...) }

// TestSmallOrder: the eight points of small order, in every encoding that
// crypto/ed25519 reads as one, are refused.
func TestSmallOrder(t *testing.T) {
	// One point of order 8, from the literature; its multiples are all eight.
	c := newCurve()
	p, ok := c.decode([32]byte(unhex(t, "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")))
	if !ok {
		t.Fatal("not a point")
	}
	encodings := map[[32]byte]bool{}
	q := p
	for range 8 {
		for _, add := range []*big.Int{new(big.Int), c.p} { // y, and y+p where it fits
			y := new(big.Int).Add(q.y, add)
			if y.BitLen() > 255 {
				continue
			}
			for sign := range uint(2) {
				if x := new(big.Int).Mod(q.x, c.p); x.Sign() != 0 && x.Bit(0) != sign {
					continue
				}
				encodings[encode(y, sign)] = true
			}
		}
		q = add(c, q, p)
	}
	if q.x.Cmp(p.x) != 0 || q.y.Cmp(p.y) != 0 {
		t.Fatal("nine times the point is not the point")
	}
	canonical := 0
	for enc := range encodings {
		switch code := report.CodeOf(CheckPublicKey(enc[:])); code {
		case report.CodeKeySmallOrder:
			canonical++
		case report.CodeKeyForm:
		default:
			t.Errorf("%x: %s", enc, code)
		}
		if !stdKnowsPoint(enc[:]) {
			t.Errorf("%x is no point to crypto/ed25519", enc)
		}
	}
	if canonical != 8 || len(encodings) != 14 {
		t.Errorf("%d canonical encodings of %d, want 8 of 14", canonical, len(encodings))
	}
}

// add is the affine addition law of RFC 8032, section 5.1.4, apart from double.
func add(c curve, a, b point) point {
	one := big.NewInt(1)
	x1y2, x2y1 := c.mul(a.x, b.y), c.mul(b.x, a.y)
	t := c.mul(c.d, c.mul(x1y2, x2y1))
	x := new(big.Int).Add(x1y2, x2y1)
	y := new(big.Int).Add(c.mul(a.y, b.y), c.mul(a.x, b.x))
	inverse := func(v *big.Int) *big.Int { return new(big.Int).ModInverse(v.Mod(v, c.p), c.p) }
	return point{c.mul(x, inverse(new(big.Int).Add(one, t))), c.mul(y, inverse(new(big.Int).Sub(one, t)))}
}

func encode(y *big.Int, sign uint) (enc [32]byte) {
	y.FillBytes(enc[:])
	for i := range 16 {
		enc[i], enc[31-i] = enc[31-i], enc[i]
	}
	enc[31] |= byte(sign << 7)
	return enc
}

// stdKnowsPoint reports whether crypto/ed25519 can decode a key, which it says
// in nothing but the text of an error.
func stdKnowsPoint(pub []byte) bool {
	err := ed25519.VerifyWithOptions(pub, nil, make([]byte, 64), &ed25519.Options{})
	return err == nil || !strings.Contains(err.Error(), "bad public key")
}

// TestCheckPublicKeyIsStd: among canonical encodings, what is a point here is a
// point to crypto/ed25519, and the keys it makes pass.
func TestCheckPublicKeyIsStd(t *testing.T) {
	points, others := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(rt, "bytes")
		_, ours := newCurve().decode([32]byte(b))
		y := bytes.Clone(b)
		y[31] &= 0x7f
		if theirs := stdKnowsPoint(b); ours != theirs && !nonCanonical(y) {
			rt.Fatalf("%x: ours says %v, crypto/ed25519 %v", b, ours, theirs)
		}
		c := newCurve()
		var want report.Code
		if p, ok := c.decode([32]byte(b)); !ok {
			want = report.CodeKeyForm
		} else if c.smallOrder(p) {
			want = report.CodeKeySmallOrder
		}
		if err := CheckPublicKey(b); err != nil && report.CodeOf(err) != want || err == nil && want != "" {
			rt.Fatalf("%x: %v, want %q", b, err, want)
		}
		if ours {
			p, _ := newCurve().decode([32]byte(b))
			if got := encode(p.y, p.x.Bit(0)); !bytes.Equal(got[:], b) {
				rt.Fatalf("%x decodes to the point of %x", b, got)
			}
			points++
		} else {
			others++
		}
		pub := publicOf(ed25519.NewKeyFromSeed(b))
		if err := CheckPublicKey(pub); err != nil {
			rt.Fatalf("%x: %v", pub, err)
		}
	})
	if points == 0 || others == 0 {
		t.Errorf("%d points, %d others: one side was never drawn", points, others)
	}
	c := newCurve()
	base, ok := c.decode([32]byte(unhex(t, "58"+strings.Repeat("66", 31))))
	if !ok || c.smallOrder(base) {
		t.Fatal("the base point is refused")
	}
	two := c.double(base)
	if sum := add(c, base, base); two.x.Cmp(sum.x) != 0 || two.y.Cmp(sum.y) != 0 {
		t.Error("doubling is not adding")
	}
	for name, b := range map[string][]byte{
		"nothing": nil, "31 bytes": make([]byte, 31), "33 bytes": make([]byte, 33), "no point": notAPoint(),
		"y = p": unhex(t, "ed"+strings.Repeat("ff", 30)+"7f"), "y = 2^255-1": unhex(t, strings.Repeat("ff", 31)+"7f"),
		"x = -0, y = 1":  unhex(t, "01"+strings.Repeat("00", 30)+"80"),
		"x = -0, y = -1": unhex(t, "ec"+strings.Repeat("ff", 31)),
	} {
		if err := CheckPublicKey(b); report.CodeOf(err) != report.CodeKeyForm {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// nonCanonical reports whether y, little-endian, is p or more, or may have
// x = 0: there crypto/ed25519 is laxer, on purpose.
func nonCanonical(y []byte) bool {
	high := y[31] == 0x7f
	for _, c := range y[1:31] {
		high = high && c == 0xff
	}
	return high || bytes.Equal(y, append([]byte{1}, make([]byte, 31)...))
}

func TestIDOfWrongLength(t *testing.T) {
	for _, pub := range []ed25519.PublicKey{nil, make([]byte, 31), make([]byte, 33)} {
		if IDOf(pub) != (KeyID{}) {
			t.Errorf("%d bytes have id %v", len(pub), IDOf(pub))
		}
	}
}
