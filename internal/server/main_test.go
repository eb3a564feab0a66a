package server_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// browser is the HTTP client of the tests. It keeps no connection, so that
// nothing of it is left when a test ends.
var browser = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}

// keyID is the By of calls that the key of name signs.
func keyID(name string) receipt.KeyID {
	return receipt.KeyID(dsse.IDOf(servertest.Key(name).Public().(ed25519.PublicKey)))
}

// opening is a run-open by an engine of the test log; each run is another statement.
func opening(engine string, run receipt.Name) *receipt.Decoded {
	return receipttest.NewRun(keyID(engine), run).Add(receipttest.Open(servertest.Origin))
}

// sign makes the envelope of payload.
func sign(t testing.TB, payloadType string, payload []byte, signers ...string) *dsse.Envelope {
	t.Helper()
	var keys []ed25519.PrivateKey
	for _, s := range signers {
		keys = append(keys, servertest.Key(s))
	}
	env, err := dsse.SignMany(payloadType, payload, keys...)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// signed makes the envelope of a statement.
func signed(t testing.TB, d *receipt.Decoded, signer string) *dsse.Envelope {
	t.Helper()
	return sign(t, dsse.ReceiptType, d.Payload(), signer)
}

func leafOf(t testing.TB, env *dsse.Envelope) []byte {
	t.Helper()
	leaf, err := env.Leaf()
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// code is the code of a problem.
func (a answer) code() string {
	var p struct{ Code string }
	if json.Unmarshal(a.body, &p) != nil {
		return ""
	}
	return p.Code
}

func do(t testing.TB, method, url string, header map[string]string, body []byte) answer {
	t.Helper()
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, b}
}

// submit posts an envelope as DSSE JSON.
func submit(t testing.TB, l *servertest.Log, env *dsse.Envelope) answer {
	t.Helper()
	return do(t, "POST", l.URL+"/v1/receipts", map[string]string{"Content-Type": server.DSSEType}, env.JSON())
}

func get(t testing.TB, l *servertest.Log, path string) answer {
	t.Helper()
	return do(t, "GET", l.URL+path, nil, nil)
}

// proven parses a bundle and checks its inclusion and checkpoint by hand, with
// no code of package bundle but the parser: the leaf is the one that stands at
// the index in a tree that the log's key signed.
func proven(t testing.TB, l *servertest.Log, body []byte) (index uint64, env *dsse.Envelope) {
	t.Helper()
	b, err := bundle.Parse(body)
	if err != nil {
		t.Fatalf("the answer is no bundle: %v\n%s", err, body)
	}
	loose, err := dsse.ParseJSON(b.Envelope)
	if err != nil {
		t.Fatal(err)
	}
	frame, err := receipt.DecodeFrame(loose.Payload)
	if err != nil {
		t.Fatal(err)
	}
	if env, err = loose.BindOne(dsse.KeyID(frame.Call.By)); err != nil {
		t.Fatal(err)
	}
	head, err := checkpoint.Open(b.Proof.Checkpoint, l.Policy.Keys(servertest.Origin))
	if err != nil {
		t.Fatal(err)
	}
	leaf := merkle.LeafHash(leafOf(t, env))
	if err := merkle.VerifyInclusion(b.Proof.Index, head.Size, leaf, b.Proof.Hashes, head.Root); err != nil {
		t.Fatal(err)
	}
	return b.Proof.Index, env
}

// golden compares got with a file under testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// show prints an answer as it stands in golden files.
func show(a answer) string {
	var b strings.Builder
	b.WriteString(http.StatusText(a.status) + "\n")
	for _, name := range []string{
		"Access-Control-Allow-Origin", "Allow", "Cache-Control", "Connection", "Content-Encoding",
		"Content-Type", server.RegistryHeader, server.RepeatHeader, "Retry-After", "Vary",
	} {
		if v := a.header.Get(name); v != "" {
			b.WriteString(name + ": " + v + "\n")
		}
	}
	b.WriteString("\n")
	b.Write(a.body)
	return b.String()
}
