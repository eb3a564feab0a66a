package trust_test

import (
	"fmt"
	"testing"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// A registry takes statements up to its number, and leaves up to their bytes.
func TestRegistryLimits(t *testing.T) {
	r := single(t, nil)
	for v := uint64(1); v < trust.MaxVersions; v++ {
		r = next(t, r, v, trust.Change{}, "r1")
	}
	s, err := r.Next(trust.Change{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Apply(sign(t, s, "r1"), trust.MaxVersions)
	wantCode(t, err, report.CodeRegistryLimit)

	// 1,200 revocations are nearly as long as a statement can be.
	var engines []trust.Addition
	var keys []trust.PublicKey
	for i := range 1200 {
		a := add(fmt.Sprintf("e%d", i), trust.Engine)
		engines, keys = append(engines, a), append(keys, a.Key)
	}
	r = single(t, engines[:600])
	r = next(t, r, 1, trust.Change{Add: engines[600:]}, "r1")
	all := func(from uint64) (c trust.Change) {
		for _, k := range keys {
			c.Revoke = append(c.Revoke, trust.Revocation{Key: k, From: from, HasFrom: true})
		}
		return c
	}
	bytes := 0
	err = nil
	for leaf := uint64(1 << 40); err == nil; leaf++ {
		if s, err = r.Next(all(1<<41 - leaf)); err != nil {
			t.Fatal(err)
		}
		env := sign(t, s, "r1")
		var after *trust.Registry
		if after, err = r.Apply(env, leaf); err != nil {
			break
		}
		r = after
		l, err := env.Leaf()
		if err != nil {
			t.Fatal(err)
		}
		bytes += len(l)
	}
	wantCode(t, err, report.CodeRegistryLimit)
	if bytes < trust.MaxLeaves-3*64_000 {
		t.Errorf("refused after %d bytes", bytes)
	}
	if bytes > trust.MaxLeaves {
		t.Errorf("%d bytes were taken", bytes)
	}
}

// single is a registry with one registrar, r1, and an engine, and what extra adds.
func single(t testing.TB, extra []trust.Addition) *trust.Registry {
	t.Helper()
	s, err := trust.NewGenesis(origin, 1, append([]trust.Addition{add("r1", trust.Registrar), add("engine", trust.Engine)}, extra...), nil)
	if err != nil {
		t.Fatal(err)
	}
	env := sign(t, s, "r1")
	r, err := trust.Genesis(env, 0, trust.Pin{Origin: origin, Genesis: dagcbor.Sum(env.Payload)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
