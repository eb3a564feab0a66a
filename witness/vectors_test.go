package witness

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/internal/vectors"
)

type witnessCase struct {
	ID        string `json:"id"`
	Order     int    `json:"order"`
	Key       string `json:"log_public_key_hex"`
	Body      string `json:"body"`
	Status    int    `json:"http_status"`
	Assertion string `json:"assertion"`
}

// TestVectorsWitnessRequests sends every request of other people's sequences to
// a witness that knows their logs.
func TestVectorsWitnessRequests(t *testing.T) {
	cases := vectors.Lines[witnessCase](t, "note/witness-requests.jsonl")
	slices.SortStableFunc(cases, func(a, b witnessCase) int { return a.Order - b.Order })
	logs := map[string]Log{}
	for _, c := range cases {
		pub, err := hex.DecodeString(c.Key)
		if err != nil {
			t.Fatal(err)
		}
		origin := fmt.Sprintf("sigsum.org/v1/tree/%x", sha256.Sum256(pub))
		key, err := checkpoint.NewVKey(origin, checkpoint.TypeEd25519, ed25519.PublicKey(pub))
		if err != nil {
			t.Fatal(err)
		}
		logs[c.Key] = Log{Origin: origin, Keys: []checkpoint.VKey{key}}
	}
	var list []Log
	for _, l := range logs {
		list = append(list, l)
	}
	w := open(t, faultfs.New(), Config{Logs: list, Signers: []*checkpoint.Signer{signer(t, "example.com/witness")}})
	var results []vectors.Result
	for _, c := range cases {
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/add-checkpoint", strings.NewReader(c.Body)))
		rule := ""
		if !strings.Contains(c.Body, "\n"+logs[c.Key].Origin+"\n") {
			rule = "unknown log"
		}
		results = append(results, vectors.Result{ID: c.ID, Want: fmt.Sprint(c.Status), Got: fmt.Sprint(rec.Code), Rule: rule})
		if want, ok := strings.CutPrefix(c.Assertion, `body contains "— `); ok && !strings.HasPrefix(rec.Body.String(), "— "+strings.TrimSuffix(want, `"`)+" ") {
			t.Errorf("%s: %s, got %q", c.ID, c.Assertion, rec.Body)
		}
	}
	vectors.Table{
		File:   "note/witness-requests.jsonl",
		SHA256: "8dac216d27f88b3e3cf67b64339a48323d0c25758e6c0e4ddff2ae2cd97bfab4",
		Rules: map[string]vectors.Rule{"unknown log": {
			Why:    "an unknown origin is 404 in C2SP tlog-witness, also in v1.0.0 (spec/witness.md)",
			Answer: "404",
		}},
		Exceptions: []vectors.Exception{{Case: "litewitness/add-checkpoint-2", Rule: "unknown log"}},
	}.Judge(t, results)
}
