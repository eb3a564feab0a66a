package trust_test

import (
	"bytes"
	"testing"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

const second = "example.com/log-2"

func heir() *trust.Heir {
	return &trust.Heir{Log: second, Key: pk("log-2"), Genesis: dagcbor.Sum([]byte{0xa0})}
}

// TestFullRegistryFreezes: a registry that can take no statement any more can
// still be ended.
func TestFullRegistryFreezes(t *testing.T) {
	r := single(t, nil)
	for v := uint64(1); v < trust.MaxVersions; v++ {
		r = next(t, r, v, trust.Change{}, "r1")
	}
	z, err := r.Freeze(heir())
	if err != nil {
		t.Fatal(err)
	}
	env, err := trust.SignFreeze(z, key("r1"))
	if err != nil {
		t.Fatal(err)
	}
	after, err := r.Apply(env, trust.MaxVersions+5)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := after.Frozen(); !ok || got.Leaf != trust.MaxVersions+5 || *got.Heir != *heir() || after.Version() != r.Version() || after.State() != r.State() {
		t.Errorf("frozen %+v %v, version %d", got, ok, after.Version())
	}
	if _, frozen := r.Frozen(); frozen {
		t.Error("Apply changed the registry that it was asked of")
	}
	_, err = after.Next(trust.Change{})
	wantCode(t, err, report.CodeLogFrozen)
	_, err = after.Freeze(nil)
	wantCode(t, err, report.CodeLogFrozen)
	_, err = after.Freeze(heir())
	wantCode(t, err, report.CodeLogFrozen)
}

// TestFreezeRefuses: whom a freeze can name.
func TestFreezeRefuses(t *testing.T) {
	r := single(t, nil)
	try := func(code report.Code, edit func(*trust.Heir)) {
		t.Helper()
		h := heir()
		edit(h)
		_, err := r.Freeze(h)
		wantCode(t, err, code)
	}
	try(report.CodeRegistrySchema, func(h *trust.Heir) { h.Log = origin })
	try(report.CodeRegistrySchema, func(h *trust.Heir) { h.Log = "a+b" })
	try(report.CodeRegistryKeyWeak, func(h *trust.Heir) { h.Key = trust.PublicKey{1} })
	try(report.CodeRegistryKeyWeak, func(h *trust.Heir) { h.Key = trust.PublicKey(bytes.Repeat([]byte{0xff}, 32)) })
	try(report.CodeRegistryKeyForeign, func(h *trust.Heir) { h.Key = pk("engine") })
	z, err := r.Freeze(nil)
	if err != nil {
		t.Fatal(err)
	}
	env, err := trust.SignFreeze(z, key("engine"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Apply(env, 1)
	wantCode(t, err, report.CodeRegistrySigner)
	if env, err = trust.SignFreeze(z, key("r1")); err != nil {
		t.Fatal(err)
	}
	_, err = r.Apply(env, 0)
	wantCode(t, err, report.CodeRegistryPlace)
}

// FuzzDecodeEnds: freezes and successor statements have one spelling, and nothing
// that is not of the schema is read.
func FuzzDecodeEnds(f *testing.F) {
	r := single(f, nil)
	for _, h := range []*trust.Heir{nil, heir()} {
		z, err := r.Freeze(h)
		if err != nil {
			f.Fatal(err)
		}
		b, err := z.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	signer, err := checkpoint.NewSigner(origin, checkpoint.TypeEd25519, key("log"))
	if err != nil {
		f.Fatal(err)
	}
	head := checkpoint.Checkpoint{Origin: origin, Size: 4, Root: merkle.Hash{1}}
	note, err := signer.SignBody(head.Body(), 0)
	if err != nil {
		f.Fatal(err)
	}
	s := trust.Successor{Log: second, Predecessor: trust.Predecessor{Log: origin, Size: head.Size, Root: head.Root, Registry: r.Head()}, Checkpoint: note}
	b, err := s.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		if z, err := trust.DecodeFreeze(b); err == nil {
			if again, err := z.Encode(); err != nil || !bytes.Equal(again, b) {
				t.Fatalf("%v\n%x\n%x", err, b, again)
			}
			if _, err := r.PreviewFreeze(z); err != nil && report.CodeOf(err) == report.CodeInternal {
				t.Fatal(err)
			}
		} else if report.CodeOf(err) == report.CodeInternal {
			t.Fatalf("no code: %v", err)
		}
		if s, err := trust.DecodeSuccessor(b); err == nil {
			if again, err := s.Encode(); err != nil || !bytes.Equal(again, b) {
				t.Fatalf("%v\n%x\n%x", err, b, again)
			}
		} else if report.CodeOf(err) == report.CodeInternal {
			t.Fatalf("no code: %v", err)
		}
	})
}
