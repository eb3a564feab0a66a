package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/obstat/obstat/audit"
	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
)

// indexed is a log with an index and one run in it: leaves 1 to 4.
func indexed(t *testing.T) (*servertest.Log, []*receipt.Decoded) {
	t.Helper()
	dir := t.TempDir() // goes after the log that uses it
	l := servertest.On(t, faultfs.New())
	l.Stop()
	l.IndexDir = dir
	l.Start()
	run := receipttest.NewRun(keyID(servertest.Engine), "2026/run+1@host:7")
	judged := []*receipt.Decoded{run.Add(receipttest.Open(servertest.Origin))}
	admit := run.Add(receipttest.Judgment("one", receipttest.Admit("rule-1")))
	judged = append(judged, admit, run.Settle(admit, receipttest.Commit(admit)), run.Add(receipttest.Judgment("two", receipttest.Deny("CLASS-RED"))))
	for _, d := range judged {
		if a := submit(t, l, signed(t, d, servertest.Engine)); a.status != http.StatusCreated {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	// The index follows at its own pace, and says how far it is.
	until(t, "the index", func() bool {
		return strings.HasPrefix(string(get(t, l, "/v1/search?kind=judgment").body), `{"covered":5,`)
	})
	return l, judged
}

// TestLookups: what the log answers of leaves and statements is what an auditor
// verifies, and what it answers from its index names what it covers.
func TestLookups(t *testing.T) {
	l, run := indexed(t)
	o := bundle.Options{Policy: l.Policy, Engines: l.Engines}
	for i, d := range run {
		for _, path := range []string{"/v1/statements/" + d.CID.String(), fmt.Sprintf("/v1/leaves/%d", i+1)} {
			a := get(t, l, path+"?registry=chain")
			if r := bundle.Check(a.body, o); a.status != 200 || r.ExitCode() != 0 || !strings.Contains(r.Text(), d.CID.String()) {
				t.Errorf("%s: %d\n%s", path, a.status, r.Text())
			}
			wantHeader(t, a, map[string]string{"Content-Type": bundle.MediaType, "Cache-Control": "no-store", server.RepeatHeader: ""})
			if b, err := bundle.Parse(get(t, l, path).body); err != nil || b.Registry != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	place := func(i int) string { return fmt.Sprintf(`{"seq":%d,"leaf":%d,"statement":"%s"}`, i, i+1, run[i].CID) }
	runPath := "/v1/runs/engine/" + strings.ReplaceAll("2026/run+1@host:7", "/", "%2F")
	for path, want := range map[string]string{
		"/v1/receipts/" + run[1].ReceiptCID.String(): `{"covered":5,"leaves":[2]}`,
		"/v1/receipts/" + dagcbor.Sum(nil).String():  `{"covered":5,"leaves":[]}`,
		"/v1/search?kind=judgment":                   `{"covered":5,"leaves":[2,4]}`,
		"/v1/search?kind=judgment&limit=1":           `{"covered":5,"leaves":[2],"next":4}`,
		"/v1/search?kind=judgment&limit=1&from=4":    `{"covered":5,"leaves":[4]}`,
		"/v1/search?verdict=deny&engine=engine":      `{"covered":5,"leaves":[4]}`,
		"/v1/search?disposition=committed":           `{"covered":5,"leaves":[3]}`,
		"/v1/search?code=CLASS-RED":                  `{"covered":5,"leaves":[4]}`,
		"/v1/search?kind=registry":                   `{"covered":5,"leaves":[0]}`,
		runPath + "?limit=3":                         `{"covered":5,"statements":[` + place(0) + "," + place(1) + "," + place(2) + `],"next":"3.4"}`,
		runPath + "?from=3.4":                        `{"covered":5,"statements":[` + place(3) + `]}`,
		"/v1/runs/engine/another":                    `{"covered":5,"statements":[]}`,
	} {
		a := get(t, l, path)
		if a.status != 200 || strings.TrimSpace(string(a.body)) != want {
			t.Errorf("%s: %d %s, want %s", path, a.status, a.body, want)
		}
		wantHeader(t, a, map[string]string{"Content-Type": "application/json", "Cache-Control": "no-store"})
	}
	for path, code := range map[string]report.Code{
		"/v1/statements/" + dagcbor.Sum(nil).String(): report.CodeStatementUnknown,
		"/v1/statements/bafy":                         report.CodeCIDText,
		"/v1/receipts/BAFY":                           report.CodeCIDText,
		"/v1/leaves/5":                                report.CodeBeyondSize,
		"/v1/leaves/05":                               report.CodeHTTPPath,
		"/v1/leaves/-1":                               report.CodeHTTPPath,
		"/v1/leaves/0":                                report.CodeRegistryElsewhere,
		"/v1/leaves/":                                 report.CodeHTTPPath,
		"/v1/leaves/1/2":                              report.CodeHTTPPath,
		"/v1/leaves/%31":                              report.CodeHTTPPath,
		"/v1/leaves/1?registry=all":                   report.CodeHTTPQuery,
		"/v1/leaves/1?registry=chain&registry=chain":  report.CodeHTTPQuery,
		"/v1/search":                                  report.CodeHTTPQuery,
		"/v1/search?kind=":                            report.CodeHTTPQuery,
		"/v1/search?kind=a%20b":                       report.CodeHTTPQuery,
		"/v1/search?kind=judgment&limit=0":            report.CodeHTTPQuery,
		"/v1/search?kind=judgment&limit=1001":         report.CodeHTTPQuery,
		"/v1/search?kind=judgment&from=x":             report.CodeHTTPQuery,
		"/v1/search?kind=%zz":                         report.CodeHTTPQuery,
		runPath + "?from=1.":                          report.CodeHTTPQuery,
		"/v1/runs/engine":                             report.CodeHTTPPath,
		"/v1/runs/engine/a/b":                         report.CodeHTTPPath,
		"/v1/runs/engine/a%2fb":                       report.CodeHTTPPath,
	} {
		if a := get(t, l, path); report.Code(a.code()) != code {
			t.Errorf("%s: %d %s, want %s", path, a.status, a.code(), code)
		}
	}
	l.Stop()
	l.IndexDir = ""
	l.Start()
	if a := get(t, l, "/v1/search?kind=judgment"); a.code() != string(report.CodeIndexAbsent) || a.status != 404 {
		t.Errorf("%d %s", a.status, a.code())
	}
	if a := get(t, l, "/v1/statements/"+run[0].CID.String()); a.status != 200 {
		t.Errorf("without an index: %d %s", a.status, a.body)
	}
}

// TestProofs: the proofs that the log answers lead from one of its trees to
// another, and its registry is the file that a verifier takes.
func TestProofs(t *testing.T) {
	l, run := indexed(t)
	older := l.Server.Head()
	for i := range 300 {
		record(t, l, receipt.Name(fmt.Sprintf("more-%d", i)))
	}
	var in struct {
		Index, Size uint64
		Leaf        []byte
		Hashes      [][]byte
	}
	head := l.Server.Head()
	for _, size := range []uint64{5, 256, head.Size} {
		a := get(t, l, fmt.Sprintf("/v1/proofs/inclusion?index=3&size=%d", size))
		if err := json.Unmarshal(a.body, &in); err != nil || in.Index != 3 || in.Size != size {
			t.Fatalf("%v %s", err, a.body)
		}
		proof, err := l.Server.Proof(3, size)
		if err != nil || !reflect.DeepEqual(hashes(in.Hashes), proof) {
			t.Errorf("size %d: %s", size, a.body)
		}
	}
	if err := merkle.VerifyInclusion(3, head.Size, merkle.Hash(in.Leaf), hashes(in.Hashes), head.Root); err != nil {
		t.Error(err)
	}
	growth := get(t, l, fmt.Sprintf("/v1/proofs/consistency?from=%d", older.Size))
	r, err := audit.Consistency(audit.Source{Data: older.Note}, audit.Source{Data: growth.body}, l.Policy)
	if err != nil || r.Overall() != report.AllVerified {
		t.Errorf("%v\n%s", err, r.Text())
	}
	var between struct {
		From, To uint64
		Hashes   [][]byte
	}
	a := get(t, l, fmt.Sprintf("/v1/proofs/consistency?from=%d&to=%d", older.Size, head.Size))
	if err := json.Unmarshal(a.body, &between); err != nil {
		t.Fatal(err)
	}
	if err := merkle.VerifyConsistency(between.From, between.To, older.Root, head.Root, hashes(between.Hashes)); err != nil {
		t.Error(err)
	}
	if a := get(t, l, "/v1/proofs/consistency?from=0"); a.status != 200 {
		t.Errorf("from the empty tree: %d %s", a.status, a.body)
	}
	for path, code := range map[string]report.Code{
		"/v1/proofs/inclusion":                                  report.CodeHTTPQuery,
		"/v1/proofs/inclusion?index=9999":                       report.CodeBeyondSize,
		"/v1/proofs/inclusion?index=3&size=3":                   report.CodeBeyondSize,
		"/v1/proofs/inclusion?index=3&size=9999":                report.CodeBeyondSize,
		"/v1/proofs/consistency":                                report.CodeHTTPQuery,
		"/v1/proofs/consistency?from=9999":                      report.CodeHTTPQuery,
		"/v1/proofs/consistency?from=5&to=4":                    report.CodeHTTPQuery,
		"/v1/proofs/consistency?from=5&to=9999":                 report.CodeBeyondSize,
		"/v1/proofs/consistency?from=" + url.QueryEscape("1e1"): report.CodeHTTPQuery,
	} {
		if a := get(t, l, path); report.Code(a.code()) != code {
			t.Errorf("%s: %d %s, want %s", path, a.status, a.code(), code)
		}
	}
	registry := get(t, l, "/v1/registry")
	wantHeader(t, registry, map[string]string{"Content-Type": bundle.ChainMediaType})
	chain, err := bundle.ParseRegistryFile(registry.body)
	if err != nil {
		t.Fatal(err)
	}
	bare := get(t, l, "/v1/statements/"+run[1].CID.String()).body
	if r := bundle.Check(bare, bundle.Options{Policy: l.Policy, Engines: l.Engines, Registry: chain}); r.ExitCode() != 0 {
		t.Error(r.Text())
	}
	var limits map[string]float64
	if err := json.Unmarshal(get(t, l, "/v1/limits").body, &limits); err != nil || limits["body_bytes"] != server.MaxBody {
		t.Errorf("%v %v", limits, err)
	}
}

func hashes(in [][]byte) []merkle.Hash {
	var out []merkle.Hash
	for _, h := range in {
		out = append(out, merkle.Hash(h))
	}
	return out
}

// TestWait: what a log can promise it promises, and what it cannot it refuses
// before it takes anything.
func TestWait(t *testing.T) {
	l := servertest.New(t)
	post := func(wait string, run receipt.Name) answer {
		return do(t, "POST", l.URL+"/v1/receipts?wait="+wait, map[string]string{"Content-Type": server.DSSEType}, signed(t, opening(servertest.Engine, run), servertest.Engine).JSON())
	}
	for _, level := range []string{"durable", "integrated"} {
		if a := post(level, receipt.Name(level)); a.status != 201 {
			t.Errorf("%s: %d %s", level, a.status, a.body)
		}
	}
	for level, code := range map[string]report.Code{"witnessed": report.CodeWitnessesNone, "never": report.CodeHTTPQuery} {
		if a := post(level, "refused"); report.Code(a.code()) != code {
			t.Errorf("%s: %d %s", level, a.status, a.code())
		}
	}
	if size := l.Server.Head().Size; size != 3 {
		t.Errorf("size %d", size)
	}
}
