package trust_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

var update = flag.Bool("update", false, "write golden files")

const origin = "example.com/log"

func pk(label string) trust.PublicKey { return trust.PublicKey(pub(label)) }

func add(label string, role trust.Role) trust.Addition {
	return trust.Addition{Key: pk(label), Name: label, Role: role}
}

func base() []trust.Addition {
	return []trust.Addition{
		add("r1", trust.Registrar), add("r2", trust.Registrar), add("r3", trust.Registrar),
		add("engine", trust.Engine), add("approver", trust.Approver),
	}
}

func sign(t testing.TB, s *trust.Statement, labels ...string) *dsse.Envelope {
	t.Helper()
	var keys []ed25519.PrivateKey
	for _, l := range labels {
		keys = append(keys, key(l))
	}
	env, err := trust.SignStatement(s, keys...)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func genesis(t testing.TB) (*trust.Statement, *dsse.Envelope, trust.Pin) {
	t.Helper()
	s, err := trust.NewGenesis(origin, 2, base(), nil)
	if err != nil {
		t.Fatal(err)
	}
	env := sign(t, s, "r1", "r2")
	return s, env, trust.Pin{Origin: origin, Genesis: dagcbor.Sum(env.Payload)}
}

func start(t testing.TB) *trust.Registry {
	t.Helper()
	_, env, pin := genesis(t)
	r, err := trust.Genesis(env, 0, pin)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// next applies a change at a leaf, signed by r1 and r2 unless labels are given.
func next(t testing.TB, r *trust.Registry, leaf uint64, c trust.Change, labels ...string) *trust.Registry {
	t.Helper()
	s, err := r.Next(c)
	if err != nil {
		t.Fatal(err)
	}
	if labels == nil {
		labels = []string{"r1", "r2"}
	}
	r, err = r.Apply(sign(t, s, labels...), leaf)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantCode(t *testing.T, err error, code report.Code) {
	t.Helper()
	if report.CodeOf(err) != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

func TestGenesis(t *testing.T) {
	r := start(t)
	if r.Log() != origin || r.Version() != 0 || r.Threshold() != 2 || !slices.Equal(r.Leaves(), []uint64{0}) || len(r.Keys()) != 5 {
		t.Fatalf("%+v", r)
	}
	id := dsse.IDOf(pub("engine"))
	k, ok := r.Key(id)
	if !ok || k.Name != "engine" || k.Role != trust.Engine || k.Added != 0 {
		t.Fatalf("%+v", k)
	}
	if p, ok := r.Public(id); !ok || !p.Equal(pub("engine")) {
		t.Error("Public")
	}
	if _, ok := r.ListedAt(id, 0); ok {
		t.Error("listed at its own leaf")
	}
	if _, ok := r.ListedAt(id, 1); !ok {
		t.Error("not listed behind it")
	}
	if _, ok := r.MaySign(dsse.IDOf(pub("nobody"))); ok {
		t.Error("a stranger may sign")
	}
	if _, ok := r.DisownedFrom(id); ok {
		t.Error("disowned")
	}
}

// resign signs a statement that breaks a rule, which NewGenesis would not make.
func TestGenesisRefusals(t *testing.T) {
	good, env, pin := genesis(t)
	_, err := trust.Genesis(env, 1, pin)
	wantCode(t, err, report.CodeRegistryPlace)
	_, err = trust.Genesis(env, 0, trust.Pin{Origin: origin, Genesis: dagcbor.Sum([]byte{0xa0})})
	wantCode(t, err, report.CodeRegistryPin)
	_, err = trust.Genesis(env, 0, trust.Pin{Origin: "example.com/other", Genesis: pin.Genesis})
	wantCode(t, err, report.CodeRegistryLog)
	_, err = trust.Genesis(env, 0, trust.Pin{Origin: origin, Genesis: pin.Genesis, Foreign: []ed25519.PublicKey{pub("x"), pub("engine")}})
	wantCode(t, err, report.CodeRegistryKeyForeign)

	try := func(name string, code report.Code, edit func(*trust.Statement), labels ...string) {
		t.Run(name, func(t *testing.T) {
			s := *good
			s.Add = slices.Clone(good.Add)
			if edit != nil {
				edit(&s)
			}
			env := sign(t, &s, labels...)
			_, err := trust.Genesis(env, 0, trust.Pin{Origin: origin, Genesis: dagcbor.Sum(env.Payload)})
			wantCode(t, err, code)
		})
	}
	try("one signature of two", report.CodeRegistryQuorum, nil, "r1")
	try("an engine signs", report.CodeRegistrySigner, nil, "r1", "r2", "engine")
	try("a stranger signs", report.CodeRegistrySigner, nil, "r1", "r2", "stranger")
	try("wrong state", report.CodeRegistryState, func(s *trust.Statement) { s.State[31] ^= 1 }, "r1", "r2")
	try("threshold above registrars", report.CodeRegistryThreshold, func(s *trust.Statement) { s.Threshold = 4 }, "r1", "r2")
	try("threshold zero", report.CodeRegistryThreshold, func(s *trust.Statement) { s.Threshold = 0 }, "r1", "r2")
	try("engine and approver of one name", report.CodeRegistryRole, func(s *trust.Statement) {
		for i := range s.Add {
			if s.Add[i].Role == trust.Approver {
				s.Add[i].Name = "engine"
			}
		}
	}, "r1", "r2")
	try("small order", report.CodeRegistryKeyWeak, func(s *trust.Statement) {
		s.Add = append([]trust.Addition{{Key: trust.PublicKey{1}, Name: "weak", Role: trust.Engine}}, s.Add...)
		slices.SortFunc(s.Add, func(a, b trust.Addition) int { return slices.Compare(a.Key[:], b.Key[:]) })
	}, "r1", "r2")

	bad := *env
	bad.Sigs = slices.Clone(env.Sigs)
	bad.Sigs[1].Sig[0] ^= 1
	_, err = trust.Genesis(&bad, 0, pin)
	wantCode(t, err, report.CodeSignatureInvalid)
	receiptTyped := *env
	receiptTyped.Type = dsse.ReceiptType
	_, err = trust.Genesis(&receiptTyped, 0, pin)
	wantCode(t, err, report.CodeRegistryType)
}

func TestNewGenesisRefuses(t *testing.T) {
	for _, c := range []struct {
		name      string
		threshold int
		add       []trust.Addition
		foreign   []ed25519.PublicKey
		code      report.Code
	}{
		{"nobody", 1, nil, nil, report.CodeRegistryThreshold},
		{"no registrar", 1, []trust.Addition{add("engine", trust.Engine)}, nil, report.CodeRegistryThreshold},
		{"threshold 14", 14, base(), nil, report.CodeRegistrySchema},
		{"key twice", 1, append(base(), add("r1", trust.Registrar)), nil, report.CodeRegistrySchema},
		{"name with a space", 1, append(base(), trust.Addition{Key: pk("x"), Name: "a b", Role: trust.Engine}), nil, report.CodeRegistrySchema},
		{"no role", 1, append(base(), trust.Addition{Key: pk("x"), Name: "x"}), nil, report.CodeRegistrySchema},
		{"a witness's key", 1, base(), []ed25519.PublicKey{pub("engine")}, report.CodeRegistryKeyForeign},
	} {
		s, err := trust.NewGenesis(origin, c.threshold, c.add, c.foreign)
		if s != nil || report.CodeOf(err) != c.code {
			t.Errorf("%s: got %v, %v; want %s", c.name, s, err, c.code)
		}
	}
	_, err := trust.NewGenesis("has space", 1, base(), nil)
	wantCode(t, err, report.CodeRegistrySchema)
}

// Registrar and engine may share a name: only engine and approver exclude
// each other.
func TestNames(t *testing.T) {
	shared := append(base(), trust.Addition{Key: pk("x"), Name: "engine", Role: trust.Registrar}, trust.Addition{Key: pk("y"), Name: "engine", Role: trust.Engine})
	if _, err := trust.NewGenesis(origin, 1, shared, nil); err != nil {
		t.Error(err)
	}
}

func TestApply(t *testing.T) {
	r := start(t)
	engine, late := dsse.IDOf(pub("engine")), dsse.IDOf(pub("late"))

	added := next(t, r, 10, trust.Change{Add: []trust.Addition{{Key: pk("late"), Name: "engine", Role: trust.Engine}}})
	if _, ok := r.Key(late); ok {
		t.Error("Apply changed its receiver")
	}
	for index, want := range map[uint64]bool{10: false, 11: true} {
		if _, ok := added.ListedAt(late, index); ok != want {
			t.Errorf("added key listed at %d: %v", index, ok)
		}
	}

	retired := next(t, added, 20, trust.Change{Retire: []trust.PublicKey{pk("engine")}})
	for index, want := range map[uint64]bool{1: true, 19: true, 21: false} {
		if _, ok := retired.ListedAt(engine, index); ok != want {
			t.Errorf("retired key listed at %d: %v", index, ok)
		}
	}
	if _, ok := retired.MaySign(engine); ok {
		t.Error("a retired key may sign")
	}
	if _, ok := retired.DisownedFrom(engine); ok {
		t.Error("retiring disowned")
	}

	revoked := next(t, retired, 30, trust.Change{Revoke: []trust.Revocation{{Key: pk("engine"), From: 15, HasFrom: true}, {Key: pk("late")}}})
	if from, ok := revoked.DisownedFrom(engine); !ok || from != 15 {
		t.Errorf("engine disowned from %d %v", from, ok)
	}
	if from, ok := revoked.DisownedFrom(late); !ok || from != 30 {
		t.Errorf("late disowned from %d %v", from, ok)
	}
	for index, want := range map[uint64]bool{29: true, 31: false} {
		if _, ok := revoked.ListedAt(late, index); ok != want {
			t.Errorf("revoked key listed at %d: %v", index, ok)
		}
	}

	lowered := next(t, revoked, 40, trust.Change{Revoke: []trust.Revocation{{Key: pk("late"), From: 12, HasFrom: true}}})
	if from, _ := lowered.DisownedFrom(late); from != 12 {
		t.Errorf("late disowned from %d after lowering", from)
	}
	if k, _ := lowered.Key(late); k.Revoked != 3 {
		t.Errorf("lowering moved the revoking version to %d", k.Revoked)
	}
	if _, ok := lowered.ListedAt(late, 35); ok {
		t.Error("lowering listed the key again")
	}
	if lowered.Version() != 4 || !slices.Equal(lowered.Leaves(), []uint64{0, 10, 20, 30, 40}) || lowered.Statements()[0] != r.Head() {
		t.Errorf("%v %v", lowered.Version(), lowered.Leaves())
	}
}

// A revocation that states a leaf behind its own disowns from its own.
func TestRevokeAhead(t *testing.T) {
	r := next(t, start(t), 5, trust.Change{Revoke: []trust.Revocation{{Key: pk("engine"), From: 900, HasFrom: true}}})
	if from, ok := r.DisownedFrom(dsse.IDOf(pub("engine"))); !ok || from != 5 {
		t.Errorf("disowned from %d %v", from, ok)
	}
}

func TestNextRefuses(t *testing.T) {
	r := start(t)
	r = next(t, r, 10, trust.Change{Retire: []trust.PublicKey{pk("engine")}})
	r = next(t, r, 20, trust.Change{Revoke: []trust.Revocation{{Key: pk("approver"), From: 8, HasFrom: true}}})
	rev := func(label string) []trust.Revocation { return []trust.Revocation{{Key: pk(label)}} }
	from := func(label string, n uint64) []trust.Revocation {
		return []trust.Revocation{{Key: pk(label), From: n, HasFrom: true}}
	}
	for _, c := range []struct {
		name string
		c    trust.Change
		code report.Code
	}{
		{"retire a stranger", trust.Change{Retire: []trust.PublicKey{pk("x")}}, report.CodeRegistryStatus},
		{"retire again", trust.Change{Retire: []trust.PublicKey{pk("engine")}}, report.CodeRegistryStatus},
		{"retire a revoked key", trust.Change{Retire: []trust.PublicKey{pk("approver")}}, report.CodeRegistryStatus},
		{"revoke a stranger", trust.Change{Revoke: rev("x")}, report.CodeRegistryStatus},
		{"revoke again from here", trust.Change{Revoke: rev("approver")}, report.CodeRegistryStatus},
		{"revoke again from the same", trust.Change{Revoke: from("approver", 8)}, report.CodeRegistryStatus},
		{"raise a revocation", trust.Change{Revoke: from("approver", 9)}, report.CodeRegistryStatus},
		{"registrar retroactively", trust.Change{Revoke: from("r3", 2)}, report.CodeRegistryStatus},
		{"retire and revoke at once", trust.Change{Retire: []trust.PublicKey{pk("r3")}, Revoke: rev("r3")}, report.CodeRegistryStatus},
		{"list a retired key again", trust.Change{Add: []trust.Addition{add("engine", trust.Engine)}}, report.CodeRegistryKeyReused},
		{"list a key in another role", trust.Change{Add: []trust.Addition{{Key: pk("r1"), Name: "r1", Role: trust.Engine}}}, report.CodeRegistryKeyReused},
		{"an approver's name as engine", trust.Change{Add: []trust.Addition{{Key: pk("x"), Name: "approver", Role: trust.Engine}}}, report.CodeRegistryRole},
		{"retire below the threshold", trust.Change{Retire: []trust.PublicKey{pk("r1"), pk("r2")}}, report.CodeRegistryThreshold},
		{"threshold above", trust.Change{Threshold: 4}, report.CodeRegistryThreshold},
		{"retire what it adds", trust.Change{Add: []trust.Addition{add("x", trust.Engine)}, Retire: []trust.PublicKey{pk("x")}}, report.CodeRegistryStatus},
	} {
		s, err := r.Next(c.c)
		if s != nil || report.CodeOf(err) != c.code {
			t.Errorf("%s: got %v, %v; want %s", c.name, s, err, c.code)
		}
	}
	if s, err := r.Next(trust.Change{Revoke: from("approver", 7)}); err != nil {
		t.Errorf("lowering: %v %v", s, err)
	}
	if s, err := r.Next(trust.Change{Revoke: rev("engine")}); err != nil {
		t.Errorf("revoking a retired key: %v %v", s, err)
	}
}

func TestApplyRefusals(t *testing.T) {
	r := start(t)
	good, err := r.Next(trust.Change{Add: []trust.Addition{add("x", trust.Engine)}})
	if err != nil {
		t.Fatal(err)
	}
	try := func(name string, code report.Code, leaf uint64, edit func(*trust.Statement), labels ...string) {
		t.Run(name, func(t *testing.T) {
			s := *good
			if edit != nil {
				edit(&s)
			}
			_, err := r.Apply(sign(t, &s, labels...), leaf)
			wantCode(t, err, code)
		})
	}
	try("at the leaf before", report.CodeRegistryPlace, 0, nil, "r1", "r2")
	try("another log", report.CodeRegistryLog, 1, func(s *trust.Statement) { s.Log = "example.com/other" }, "r1", "r2")
	try("another predecessor", report.CodeRegistryPrev, 1, func(s *trust.Statement) { s.Prev = dagcbor.Sum([]byte{0xa0}) }, "r1", "r2")
	try("a version skipped", report.CodeRegistryVersion, 1, func(s *trust.Statement) { s.Version = 2 }, "r1", "r2")
	try("another state", report.CodeRegistryState, 1, func(s *trust.Statement) { s.State[0] ^= 1 }, "r1", "r2")
	try("below the threshold", report.CodeRegistryQuorum, 1, nil, "r3")
	try("signed by the engine", report.CodeRegistrySigner, 1, nil, "r1", "engine")

	// A lower threshold needs the old one, and a higher one the new.
	for threshold, labels := range map[int][]string{1: {"r1"}, 3: {"r1", "r2"}} {
		s, err := r.Next(trust.Change{Threshold: threshold})
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Apply(sign(t, s, labels...), 1)
		wantCode(t, err, report.CodeRegistryQuorum)
		if _, err = r.Apply(sign(t, s, "r1", "r2", "r3"), 1); err != nil {
			t.Error(err)
		}
	}
	// New registrars: the old threshold and the new one must both sign.
	s, err := r.Next(trust.Change{Threshold: 2, Add: []trust.Addition{add("n1", trust.Registrar), add("n2", trust.Registrar)}, Retire: []trust.PublicKey{pk("r1"), pk("r2"), pk("r3")}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Apply(sign(t, s, "n1", "n2"), 1)
	wantCode(t, err, report.CodeRegistryQuorum)
	_, err = r.Apply(sign(t, s, "r1", "r2"), 1)
	wantCode(t, err, report.CodeRegistryQuorum)
	handed, err := r.Apply(sign(t, s, "r1", "r3", "n1", "n2"), 1)
	if err != nil {
		t.Fatal(err)
	}
	again, err := handed.Next(trust.Change{Add: []trust.Addition{add("x", trust.Engine)}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = handed.Apply(sign(t, again, "r1", "r2"), 2)
	wantCode(t, err, report.CodeRegistrySigner)
	if _, err = handed.Apply(sign(t, again, "n1", "n2"), 2); err != nil {
		t.Error(err)
	}
	_, err = handed.Apply(sign(t, s, "r1", "r3", "n1", "n2"), 2)
	wantCode(t, err, report.CodeRegistryPrev)
}

func TestBind(t *testing.T) {
	_, env, pin := genesis(t)
	parse := func(e *dsse.Envelope) *dsse.Loose {
		l, err := dsse.ParseJSON(e.JSON())
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	bound, err := trust.Bind(parse(env), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := trust.Genesis(bound, 0, pin)
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Next(trust.Change{Add: []trust.Addition{add("n1", trust.Registrar)}, Retire: []trust.PublicKey{pk("r1")}})
	if err != nil {
		t.Fatal(err)
	}
	if bound, err = trust.Bind(parse(sign(t, s, "r1", "r2", "n1")), r); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Apply(bound, 1); err != nil {
		t.Error(err)
	}
	_, err = trust.Bind(parse(sign(t, s, "r1", "r2", "engine")), r)
	wantCode(t, err, report.CodeSignatureNoKey)
	env.Type = dsse.ReceiptType
	_, err = trust.Bind(parse(env), nil)
	wantCode(t, err, report.CodeRegistryType)
}

func TestComplete(t *testing.T) {
	r0 := start(t)
	r1 := next(t, r0, 10, trust.Change{Add: []trust.Addition{add("x", trust.Engine)}})
	r2 := next(t, r1, 20, trust.Change{Add: []trust.Addition{add("y", trust.Engine)}})
	head := func(r *trust.Registry) dagcbor.CID { return r.Head() }
	for _, c := range []struct {
		name     string
		asOf     uint64
		head     dagcbor.CID
		r        *trust.Registry
		complete bool
		code     report.Code
	}{
		{"genesis alone", 100, dagcbor.CID{}, r0, true, ""},
		{"genesis alone, later ones above", 10, dagcbor.CID{}, r2, true, ""},
		{"genesis alone contradicted", 11, dagcbor.CID{}, r1, false, report.CodeRegistryHead},
		{"head named", 20, head(r1), r2, true, ""},
		{"head named, older chain", 20, head(r1), r0, false, ""},
		{"head named, later one below", 21, head(r1), r2, false, report.CodeRegistryHead},
		{"head stands above as-of", 10, head(r1), r1, false, report.CodeRegistryHead},
		{"head of another log", 15, dagcbor.Sum([]byte{0xa0}), r2, false, report.CodeRegistryHead},
	} {
		e := &trust.Engines{Origin: origin, Genesis: r0.Head(), AsOf: c.asOf, HasAsOf: true, Head: c.head}
		ok, err := e.Complete(c.r)
		if ok != c.complete || (err != nil || c.code != "") && report.CodeOf(err) != c.code {
			t.Errorf("%s: %v %v", c.name, ok, err)
		}
	}
	if ok, err := (&trust.Engines{Origin: origin, Genesis: r0.Head()}).Complete(r0); ok || err != nil {
		t.Error("complete without as-of")
	}
}

// The bytes of a genesis are fixed: another implementation reads the same.
func TestGoldenGenesis(t *testing.T) {
	s, env, _ := genesis(t)
	leaf, err := env.Leaf()
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("payload %x\nstatement %s\nstate %x\nleaf %x\n", env.Payload, dagcbor.Sum(env.Payload), s.State, leaf)
	path := filepath.Join("testdata", "genesis.golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLimitKeys(t *testing.T) {
	if testing.Short() {
		t.Skip("adds thousands of keys")
	}
	r, n := start(t), 5
	for leaf := uint64(1); ; leaf++ {
		var c trust.Change
		for range min(330, trust.MaxKeys-n) {
			c.Add = append(c.Add, add(fmt.Sprintf("k%d", n), trust.Engine))
			n++
		}
		if c.Add == nil {
			break
		}
		r = next(t, r, leaf, c)
	}
	_, err := r.Next(trust.Change{Add: []trust.Addition{add("more", trust.Engine)}})
	wantCode(t, err, report.CodeRegistryLimit)
}

// The greatest statement that the limits allow fits a leaf.
func TestLimitLeaf(t *testing.T) {
	long := func(i int) string { return fmt.Sprintf("%0128d", i) }
	var a []trust.Addition
	var labels []string
	for i := range 13 {
		labels = append(labels, fmt.Sprintf("r%d", i))
		a = append(a, trust.Addition{Key: pk(labels[i]), Name: long(i), Role: trust.Registrar})
	}
	for i := 13; i < 330; i++ {
		a = append(a, trust.Addition{Key: pk(fmt.Sprint(i)), Name: long(i), Role: trust.Registrar})
	}
	s, err := trust.NewGenesis(fmt.Sprintf("%0128d", 0), 13, a, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sign(t, s, labels...).Leaf(); err != nil {
		t.Fatal(err)
	}
}

func FuzzDecodeStatement(f *testing.F) {
	s, env, _ := genesis(f)
	f.Add(env.Payload)
	s2, err := start(f).Next(trust.Change{
		Add: []trust.Addition{add("x", trust.Engine)}, Retire: []trust.PublicKey{pk("engine")},
		Revoke: []trust.Revocation{{Key: pk("approver"), From: 3, HasFrom: true}, {Key: pk("r3")}},
	})
	if err != nil {
		f.Fatal(err)
	}
	b, err := s2.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{0xa0})
	s.Threshold = 300
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := trust.DecodeStatement(b)
		if (s == nil) == (err == nil) {
			t.Fatalf("%v, %v", s, err)
		}
		if err != nil {
			if report.CodeOf(err) == report.CodeInternal {
				t.Fatalf("no code: %v", err)
			}
			return
		}
		again, err := s.Encode()
		if err != nil || string(again) != string(b) {
			t.Fatalf("%v\n%x\n%x", err, b, again)
		}
	})
}

func TestDecodeStatementRefusals(t *testing.T) {
	m := func(edit func(map[string]dagcbor.Value)) []byte {
		v := map[string]dagcbor.Value{
			"log": dagcbor.Text(origin), "version": dagcbor.Int(1), "prev": cid.Link(),
			"threshold": dagcbor.Int(1), "state": dagcbor.Bytes(make([]byte, 32)),
		}
		edit(v)
		var out dagcbor.Map
		for k, x := range v {
			out = append(out, dagcbor.Entry{Key: k, Value: x})
		}
		b, err := dagcbor.Encode(out)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if _, err := trust.DecodeStatement(m(func(map[string]dagcbor.Value) {})); err != nil {
		t.Fatal(err)
	}
	k := dagcbor.Bytes(make([]byte, 32))
	k1 := dagcbor.Bytes(append(make([]byte, 31), 1))
	for where, edit := range map[string]func(map[string]dagcbor.Value){
		"/more":       func(v map[string]dagcbor.Value) { v["more"] = dagcbor.Int(1) },
		"/log":        func(v map[string]dagcbor.Value) { v["log"] = dagcbor.Text("") },
		"/version":    func(v map[string]dagcbor.Value) { v["version"] = dagcbor.Int(-1) },
		"/prev":       func(v map[string]dagcbor.Value) { delete(v, "prev") },
		"/prev ":      func(v map[string]dagcbor.Value) { v["version"] = dagcbor.Int(0) },
		"/threshold":  func(v map[string]dagcbor.Value) { v["threshold"] = dagcbor.Text("1") },
		"/threshold ": func(v map[string]dagcbor.Value) { v["threshold"] = dagcbor.Int(14) },
		"/state":      func(v map[string]dagcbor.Value) { v["state"] = dagcbor.Bytes(make([]byte, 31)) },
		"/state ":     func(v map[string]dagcbor.Value) { delete(v, "state") },
		"/add":        func(v map[string]dagcbor.Value) { v["add"] = dagcbor.List{} },
		"/add ":       func(v map[string]dagcbor.Value) { v["add"] = dagcbor.Map{} },
		"/add/0":      func(v map[string]dagcbor.Value) { v["add"] = dagcbor.List{dagcbor.Int(1)} },
		"/add/0/key": func(v map[string]dagcbor.Value) {
			v["add"] = dagcbor.List{dagcbor.Map{{Key: "name", Value: dagcbor.Text("x")}, {Key: "role", Value: dagcbor.Text("engine")}}}
		},
		"/retire/1":  func(v map[string]dagcbor.Value) { v["retire"] = dagcbor.List{k, k} },
		"/retire/1 ": func(v map[string]dagcbor.Value) { v["retire"] = dagcbor.List{k1, k} },
		"/revoke/0":  func(v map[string]dagcbor.Value) { v["revoke"] = dagcbor.List{k} },
		"/revoke/0/at": func(v map[string]dagcbor.Value) {
			v["revoke"] = dagcbor.List{dagcbor.Map{{Key: "key", Value: k}, {Key: "at", Value: dagcbor.Int(1)}}}
		},
		"/add/0/role": func(v map[string]dagcbor.Value) {
			v["add"] = dagcbor.List{dagcbor.Map{{Key: "key", Value: k}, {Key: "name", Value: dagcbor.Text("x")}, {Key: "role", Value: dagcbor.Text("root")}}}
		},
		"/add/0/name": func(v map[string]dagcbor.Value) {
			v["add"] = dagcbor.List{dagcbor.Map{{Key: "key", Value: k}, {Key: "name", Value: dagcbor.Text("two words")}, {Key: "role", Value: dagcbor.Text("engine")}}}
		},
	} {
		_, err := trust.DecodeStatement(m(edit))
		e, ok := err.(*report.Error)
		if !ok || e.Code != report.CodeRegistrySchema || e.Where != strings.TrimRight(where, " ") {
			t.Errorf("%q: %v", where, err)
		}
	}
	_, err := trust.DecodeStatement(make([]byte, dsse.MaxPayload+1))
	wantCode(t, err, report.CodeRegistryLimit)
	_, err = trust.DecodeStatement([]byte{0xbf, 0xff})
	wantCode(t, err, report.CodeCBORIndefinite)
}

// Whatever is changed in whatever order: status only moves forward, the chain
// replays to the same state, and nobody becomes engine and approver.
func TestPropertyFold(t *testing.T) {
	labels := []string{"a", "b", "c", "d", "e", "engine", "approver", "r3"}
	roles := []trust.Role{trust.Engine, trust.Approver, trust.Registrar}
	rapid.Check(t, func(rt *rapid.T) {
		r := start(t)
		leaf := uint64(0)
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			var c trust.Change
			l := rapid.SampledFrom(labels).Draw(rt, "label")
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0:
				c.Add = []trust.Addition{{Key: pk(l), Name: rapid.SampledFrom([]string{"n1", "n2"}).Draw(rt, "name"), Role: rapid.SampledFrom(roles).Draw(rt, "role")}}
			case 1:
				c.Retire = []trust.PublicKey{pk(l)}
			case 2:
				c.Revoke = []trust.Revocation{{Key: pk(l)}}
			case 3:
				c.Revoke = []trust.Revocation{{Key: pk(l), From: rapid.Uint64Range(0, 40).Draw(rt, "from"), HasFrom: true}}
			}
			s, err := r.Next(c)
			if err != nil {
				continue
			}
			leaf += rapid.Uint64Range(1, 9).Draw(rt, "gap")
			was := r
			r = next(t, r, leaf, c)
			if r.State() != s.State {
				rt.Fatal("state")
			}
			forward(rt, was, r, leaf)
		}
	})
}

// forward holds that what a registry said of the past it still says, but for
// disowning more.
func forward(rt *rapid.T, was, is *trust.Registry, leaf uint64) {
	role := map[string]trust.Role{}
	for _, k := range is.Keys() {
		if k.Role != trust.Registrar {
			if r, ok := role[k.Name]; ok && r != k.Role {
				rt.Fatalf("%s is %s and %s", k.Name, r, k.Role)
			}
			role[k.Name] = k.Role
		}
	}
	for _, k := range was.Keys() {
		for index := range leaf + 1 {
			_, before := was.ListedAt(k.ID, index)
			_, after := is.ListedAt(k.ID, index)
			if before != after {
				rt.Fatalf("listing of %s at %d moved from %v to %v", hex.EncodeToString(k.Public[:4]), index, before, after)
			}
		}
		a, had := was.DisownedFrom(k.ID)
		b, has := is.DisownedFrom(k.ID)
		if had && (!has || b > a) {
			rt.Fatalf("disowning moved from %d to %d", a, b)
		}
		if _, may := is.MaySign(k.ID); may {
			if _, might := was.MaySign(k.ID); !might {
				rt.Fatal("a key may sign again")
			}
		}
	}
}
