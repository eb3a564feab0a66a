package dsse

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/vectors"
	"github.com/obstat/obstat/report"
)

// envelopeCase is an envelope of somebody else, with what is to be found in it.
type envelopeCase struct {
	ID             string                 `json:"id"`
	Envelope       string                 `json:"envelope"`
	Keys           []struct{ PEM string } `json:"keys"`
	PayloadDecodes bool                   `json:"payload_decodes"`
	PayloadSHA256  string                 `json:"payload_sha256"`
	PAESHA256      string                 `json:"pae_sha256"`
	Signatures     []struct {
		Verifies *int `json:"verifies_with_key"`
	} `json:"signatures"`
	Accept1 *bool `json:"accept_threshold_1"`
	Accept2 *bool `json:"accept_threshold_2"`
}

// formRule names why an envelope is not read at all, found with encoding/json
// and the strict decoders of encoding/base64 from the case's own text.
func (c *envelopeCase) formRule() string {
	if memberTwice(json.NewDecoder(strings.NewReader(c.Envelope))) {
		return "member-twice"
	}
	var e map[string]any
	if json.Unmarshal([]byte(c.Envelope), &e) != nil {
		return ""
	}
	sigs, isList := e["signatures"].([]any)
	objects := []map[string]any{e}
	for _, s := range sigs {
		if object, ok := s.(map[string]any); ok {
			objects = append(objects, object)
		}
	}
	for i, object := range objects {
		required := []string{"payload", "payloadType", "signatures"}
		known := required
		if i > 0 {
			required, known = []string{"sig"}, []string{"sig", "keyid"}
		}
		for name := range object {
			if !slices.Contains(known, name) && slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
				return "member-case"
			}
		}
		for _, name := range required {
			if _, ok := object[name]; !ok {
				return "member-missing"
			}
		}
		if keyid, ok := object["keyid"]; i > 0 && ok {
			if _, ok := keyid.(string); !ok {
				return "member-type"
			}
		}
	}
	if isList && len(sigs) == 0 {
		return "no-signature"
	}
	if payload, ok := e["payload"].(string); ok && c.PayloadDecodes {
		strict := false
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding} {
			_, err := enc.Strict().DecodeString(payload)
			strict = strict || err == nil
		}
		if !strict || strings.ContainsAny(payload, "\r\n") {
			return "base64"
		}
	}
	return ""
}

// memberTwice reports whether two members of one object have one name.
func memberTwice(d *json.Decoder) bool {
	tok, err := d.Token()
	if err != nil {
		return false
	}
	switch tok {
	case json.Delim('['):
		for d.More() {
			if memberTwice(d) {
				return true
			}
		}
		_, _ = d.Token()
	case json.Delim('{'):
		var names []string
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return false
			}
			if slices.Contains(names, name.(string)) {
				return true
			}
			names = append(names, name.(string))
			if memberTwice(d) {
				return true
			}
		}
		_, _ = d.Token()
	}
	return false
}

// verifyRule names why an envelope that DSSE accepts is not accepted here.
func (c *envelopeCase) verifyRule(t *testing.T) string {
	if c.formRule() != "" {
		return "form"
	}
	ed := 0
	for _, key := range c.Keys {
		block, _ := pem.Decode([]byte(key.PEM))
		if block == nil {
			t.Fatalf("%s: a key that is no PEM", c.ID)
		}
		pub, err := x509.ParsePKIXPublicKey(block.Bytes)
		if _, ok := pub.(ed25519.PublicKey); ok && err == nil {
			ed++
		}
	}
	if ed == 0 {
		return "algorithm"
	}
	for _, s := range c.Signatures {
		if s.Verifies == nil {
			return "every-signature"
		}
	}
	var e struct{ Payload string }
	if json.Unmarshal([]byte(c.Envelope), &e) == nil && base64.StdEncoding.DecodedLen(len(e.Payload)) > MaxPayload {
		return "size"
	}
	return ""
}

// TestVectorsEnvelopes judges, for each envelope, the payload and PAE that are
// read from it, and whether it verifies with one key and with two.
func TestVectorsEnvelopes(t *testing.T) {
	var results []vectors.Result
	for _, c := range vectors.Lines[envelopeCase](t, "dsse/envelopes.jsonl") {
		refused := func(e *report.Error) string { return "refuse " + string(e.Code) }
		payload, pae := "", ""
		raw, e := parseJSON([]byte(c.Envelope))
		if e != nil {
			payload = refused(e)
			pae = payload
		} else if b, e := decodeBase64(raw.payload, "/payload"); e != nil {
			payload = refused(e)
			pae = payload
		} else {
			payload, pae = hexSHA256(b), hexSHA256(PAE(string(raw.payloadType), b))
		}
		if c.PayloadDecodes {
			rule := c.formRule()
			results = append(results,
				vectors.Result{ID: c.ID + "/payload", Want: c.PayloadSHA256, Got: payload, Rule: rule},
				vectors.Result{ID: c.ID + "/pae", Want: c.PAESHA256, Got: pae, Rule: rule})
		} else {
			got, _, _ := strings.Cut(payload, " ")
			results = append(results, vectors.Result{ID: c.ID + "/payload", Want: "refuse", Got: got})
		}
		signers := c.verified()
		for suffix, want := range map[string]*bool{"/1": c.Accept1, "/2": c.Accept2} {
			if want == nil {
				continue // its keys are unknown
			}
			got := signers >= int(suffix[1]-'0')
			r := vectors.Result{ID: c.ID + suffix, Want: acceptance(*want), Got: acceptance(got)}
			if *want {
				r.Rule = c.verifyRule(t)
			}
			results = append(results, r)
		}
	}
	vectors.Table{
		File:   "dsse/envelopes.jsonl",
		SHA256: "d1e80d9ab0978b4b4c9cfc5864d0affc39d0da7fb975dcfa42bce15aa632d16d",
		Rules: map[string]vectors.Rule{
			"algorithm":       {Why: "spec/leaf.md#signatures: Ed25519 only", Answer: "refuse"},
			"every-signature": {Why: "spec/leaf.md#signatures: every signature must hold, extra ones are not dropped", Answer: "refuse"},
			"form":            {Why: "spec/leaf.md#json: not read, so not verified", Answer: "refuse"},
			"no-signature":    {Why: "spec/leaf.md#json: an envelope has at least one signature", Answer: "refuse " + string(report.CodeDSSESigCount)},
			"member-twice":    {Why: "spec/leaf.md#json: no member twice", Answer: "refuse " + string(report.CodeDSSEDuplicate)},
			"member-case":     {Why: "spec/leaf.md#json: no name of DSSE in another case", Answer: "refuse " + string(report.CodeDSSECase)},
			"member-missing":  {Why: "spec/leaf.md#json: DSSE requires it", Answer: "refuse " + string(report.CodeDSSEMissing)},
			"member-type":     {Why: "spec/leaf.md#json: keyid, where it stands, is a text", Answer: "refuse " + string(report.CodeDSSEType)},
			"size":            {Why: "spec/limits.md: a payload has at most 64,000 bytes", Answer: "refuse"},
			"base64":          {Why: "spec/leaf.md#json: one alphabet, no line breaks, spare bits zero", Answer: "refuse " + string(report.CodeDSSEBase64)},
		},
		Exceptions: []vectors.Exception{
			{Case: "in-toto-golang/dsse-only.root.layout/1", Rule: "algorithm"},
			{Case: "in-toto-golang/update-version-dsse.776a00e2.link/1", Rule: "algorithm"},
			{Case: "in-toto-python/package.2f89b927.link/1", Rule: "algorithm"},
			{Case: "in-toto-python/write-code.776a00e2.link/1", Rule: "algorithm"},
			{Case: "rekor/intoto_dsse/1", Rule: "algorithm"},
			{Case: "rekor/intoto_multi_dsse-one-key/1", Rule: "algorithm"},
			{Case: "sigstore-conformance/rekor2-dsse-happy-path/1", Rule: "algorithm"},
			{Case: "sigstore-conformance/rekor2-dsse-mismatch-envelope_fail/1", Rule: "algorithm"},
			{Case: "sigstore-conformance/rekor2-dsse-mismatch-sig_fail/1", Rule: "algorithm"},
			{Case: "sigstore-go/dsse/1", Rule: "algorithm"},
			{Case: "sigstore-go/dsse-2sigs/1", Rule: "algorithm"},
			{Case: "sigstore-js/bundleV03-intoto/1", Rule: "algorithm"},
			{Case: "slsa-verifier/annotated-tag/1", Rule: "algorithm"},
			{Case: "slsa-verifier/binary-linux-amd64-multi-subject-first/1", Rule: "algorithm"},
		},
	}.Judge(t, results)
}

// verified returns how many distinct trusted keys the envelope is verified
// under, all its signatures holding; 0 where it is refused.
func (c *envelopeCase) verified() int {
	known := map[KeyID]ed25519.PublicKey{}
	var keys []ed25519.PublicKey
	for _, key := range c.Keys {
		if pub, err := ParsePublicKeyPEM([]byte(key.PEM)); err == nil {
			keys = append(keys, pub)
			known[IDOf(pub)] = pub
		}
	}
	l, err := ParseJSON([]byte(c.Envelope))
	if err != nil {
		return 0
	}
	env, err := bindKeys(l, keys)
	if err != nil {
		return 0
	}
	v, err := Verify(env, func(id KeyID) (ed25519.PublicKey, bool) { pub, ok := known[id]; return pub, ok })
	if err != nil {
		return 0
	}
	return len(v.Signers())
}

type signatureCase struct {
	ID        string   `json:"id"`
	PublicKey string   `json:"public_key"`
	Message   string   `json:"message"`
	Signature string   `json:"signature"`
	Flags     []string `json:"flags"`
	Go        bool     `json:"go_verify"`
}

func (c *signatureCase) holds(t *testing.T) vectors.Result {
	return vectors.Result{
		ID: c.ID, Want: acceptance(c.Go),
		Got: acceptance(holds(unhex(t, c.PublicKey), unhex(t, c.Message), unhex(t, c.Signature))),
	}
}

// TestVectorsVerify: the predicate is the standard library's, wrong lengths
// included.
func TestVectorsVerify(t *testing.T) {
	var results []vectors.Result
	for _, c := range vectors.Lines[signatureCase](t, "ed25519/verify.jsonl") {
		results = append(results, c.holds(t))
	}
	vectors.Table{File: "ed25519/verify.jsonl", SHA256: "c80e03f7c729bc6be684a8765c70e9bb76c7e62c5647561c74335d78b8731943"}.Judge(t, results)
}

// TestVectorsVerifyEdges: the same for keys and signatures on the edges of the
// curve; and the flags of each key say what CheckPublicKey must answer.
func TestVectorsVerifyEdges(t *testing.T) {
	var results []vectors.Result
	for _, c := range vectors.Lines[signatureCase](t, "ed25519/verify-cctv.jsonl") {
		results = append(results, c.holds(t))
		want := "accept"
		switch {
		case slices.Contains(c.Flags, "non_canonical_A"):
			want = "refuse " + string(report.CodeKeyForm)
		case slices.Contains(c.Flags, "low_order_A"):
			want = "refuse " + string(report.CodeKeySmallOrder)
		}
		got := "accept"
		if err := CheckPublicKey(unhex(t, c.PublicKey)); err != nil {
			got = "refuse " + string(report.CodeOf(err))
		}
		results = append(results, vectors.Result{ID: c.ID + "/key", Want: want, Got: got})
	}
	vectors.Table{File: "ed25519/verify-cctv.jsonl", SHA256: "aa6188d732063ba44d61d20ad58387b56f62efd365a29c6375ed57fec42c3176"}.Judge(t, results)
}

func TestVectorsSign(t *testing.T) {
	type signCase struct {
		ID        string `json:"id"`
		Seed      string `json:"seed"`
		PublicKey string `json:"public_key"`
		Message   string `json:"message"`
		Signature string `json:"signature"`
	}
	var results []vectors.Result
	for _, c := range vectors.Lines[signCase](t, "ed25519/sign.jsonl") {
		key := ed25519.NewKeyFromSeed(unhex(t, c.Seed))
		pub := key.Public().(ed25519.PublicKey)
		sig := ed25519.Sign(key, unhex(t, c.Message))
		results = append(results, vectors.Result{
			ID:   c.ID,
			Want: c.PublicKey + " " + c.Signature,
			Got:  hex.EncodeToString(pub) + " " + hex.EncodeToString(sig),
		})
		if !holds(pub, unhex(t, c.Message), sig) || CheckPublicKey(pub) != nil {
			t.Errorf("%s: its own signature does not hold", c.ID)
		}
		// The same key through Sign: the signature is over the PAE.
		env, err := Sign("t", unhex(t, c.Message), key)
		if err != nil || !bytes.Equal(env.Sigs[0].Sig[:], ed25519.Sign(key, PAE("t", unhex(t, c.Message)))) {
			t.Errorf("%s: Sign makes %x, %v", c.ID, env.Sigs[0].Sig, err)
		}
	}
	vectors.Table{File: "ed25519/sign.jsonl", SHA256: "b04b7a42fcbfe0334cc44dee3a05573f57ccca117946d05a4076dc2933f99c94"}.Judge(t, results)
}

func acceptance(ok bool) string {
	if ok {
		return "accept"
	}
	return "refuse"
}

func hexSHA256(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
