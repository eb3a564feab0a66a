package server_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
	"github.com/obstat/obstat/report"
)

// refusal is one request that must be refused, and how.
type refusal struct {
	name   string
	method string // POST where empty
	path   string // /v1/receipts where empty
	header map[string]string
	body   []byte
	status int
	code   report.Code
}

// asJSON and asLeaf are bodies of the two forms, with their Content-Type.
func asJSON(name string, body []byte, status int, code report.Code) refusal {
	return refusal{name: name, header: map[string]string{"Content-Type": server.DSSEType}, body: body, status: status, code: code}
}

func asLeaf(name string, body []byte, status int, code report.Code) refusal {
	return refusal{name: name, header: map[string]string{"Content-Type": server.LeafType}, body: body, status: status, code: code}
}

// rawJSON is DSSE JSON of anything, well-formed or not.
func rawJSON(payloadType string, payload []byte, sigs ...[]byte) []byte {
	var lines []string
	for _, sig := range sigs {
		lines = append(lines, `{"sig":"`+base64.StdEncoding.EncodeToString(sig)+`"}`)
	}
	return fmt.Appendf(nil, `{"payload":%q,"payloadType":%q,"signatures":[%s]}`,
		base64.StdEncoding.EncodeToString(payload), payloadType, strings.Join(lines, ","))
}

// refusals is the table of bad input.
func refusals(t *testing.T) []refusal {
	good := signed(t, opening(servertest.Engine, "refused"), servertest.Engine)
	all := slices.Concat(badRequests(t, good), badForms(t, good), badKeys(t), badStatements(t))
	names := map[string]bool{}
	for _, r := range all {
		if names[r.name] {
			t.Fatalf("two cases are named %q", r.name)
		}
		names[r.name] = true
	}
	return all
}

// badRequests are refused for what HTTP says, whatever is in them.
func badRequests(t *testing.T, good *dsse.Envelope) []refusal {
	typed := func(mediaType string) map[string]string { return map[string]string{"Content-Type": mediaType} }
	coded := map[string]string{"Content-Type": server.DSSEType, "Content-Encoding": "gzip"}
	return []refusal{
		{name: "method", method: "GET", status: 405, code: "HTTP-METHOD"},
		{name: "method, preflight", method: "OPTIONS", status: 405, code: "HTTP-METHOD"},
		{name: "method, put a checkpoint", method: "PUT", path: "/checkpoint", status: 405, code: "HTTP-METHOD"},
		{name: "method, post to a tile", method: "POST", path: "/tile/0/000.p/1", status: 405, code: "HTTP-METHOD"},
		{name: "path", path: "/v1/receipt", header: typed(server.DSSEType), body: good.JSON(), status: 404, code: "HTTP-PATH"},
		{name: "path, escaped", path: "/v1/%72eceipts", header: typed(server.DSSEType), body: good.JSON(), status: 404, code: "HTTP-PATH"},
		{name: "path, control characters", method: "GET", path: "/%0a%1b%22", status: 404, code: "HTTP-PATH"},
		{name: "query, unknown", path: "/v1/receipts?verbose=1", header: typed(server.DSSEType), body: good.JSON(), status: 400, code: "HTTP-QUERY"},
		{name: "query, value", path: "/v1/receipts?registry=yes", header: typed(server.DSSEType), body: good.JSON(), status: 400, code: "HTTP-QUERY"},
		{name: "query, on a read", method: "GET", path: "/checkpoint?x", status: 400, code: "HTTP-QUERY"},
		{name: "query, an empty one", path: "/v1/receipts?", header: typed(server.DSSEType), body: good.JSON(), status: 400, code: "HTTP-QUERY"},
		{name: "query, an empty one on a read", method: "GET", path: "/checkpoint?", status: 400, code: "HTTP-QUERY"},
		{name: "size, before the type is looked at", header: typed("text/plain"), body: make([]byte, server.MaxBody+1), status: 413, code: "HTTP-SIZE"},
		{name: "type, none", body: good.JSON(), status: 415, code: "HTTP-TYPE"},
		{name: "type, text", header: typed("text/plain"), body: good.JSON(), status: 415, code: "HTTP-TYPE"},
		{name: "type, form", header: typed("application/x-www-form-urlencoded"), body: good.JSON(), status: 415, code: "HTTP-TYPE"},
		{name: "type, unknown parameter", header: typed("application/json; version=2"), body: good.JSON(), status: 415, code: "HTTP-TYPE"},
		{name: "type, charset", header: typed("application/json; charset=utf-16"), body: good.JSON(), status: 415, code: "HTTP-TYPE"},
		{name: "type, charset of a leaf", header: typed(server.LeafType + "; charset=utf-8"), body: leafOf(t, good), status: 415, code: "HTTP-TYPE"},
		{name: "type, malformed", header: typed("application/json; ="), body: good.JSON(), status: 415, code: "HTTP-TYPE"},
		{name: "content coding", header: coded, body: good.JSON(), status: 415, code: "HTTP-ENCODING"},
	}
}

// badForms are no envelope of a receipt in the one spelling.
func badForms(t *testing.T, good *dsse.Envelope) []refusal {
	payload, sig, leaf := good.Payload, good.Sigs[0].Sig[:], leafOf(t, good)
	two := sign(t, dsse.ReceiptType, payload, servertest.Engine, servertest.Engine2)
	swapped := bytes.Clone(leaf)
	copy(swapped[1:], "\x64type") // the first key becomes the second
	forged := opening(servertest.Engine, "refused").Payload()
	return []refusal{
		asJSON("empty", nil, 400, "DSSE-SYNTAX"),
		asJSON("no JSON", []byte("hello"), 400, "DSSE-SYNTAX"),
		asJSON("JSON cut short", good.JSON()[:100], 400, "DSSE-SYNTAX"),
		asJSON("JSON with more behind it", append(good.JSON(), "{}"...), 400, "DSSE-TRAILING"),
		asJSON("invalid UTF-8", []byte("{\"payload\":\"\xff\"}"), 400, "DSSE-UTF8"),
		asJSON("member missing", []byte(`{"payload":"","payloadType":"x"}`), 400, "DSSE-MEMBER-MISSING"),
		asJSON("member twice", []byte(`{"payload":"","payload":""}`), 400, "DSSE-MEMBER-DUPLICATE"),
		asJSON("member in other case", []byte(`{"Payload":""}`), 400, "DSSE-MEMBER-CASE"),
		asJSON("member of another type", []byte(`{"payload":1}`), 400, "DSSE-MEMBER-TYPE"),
		asJSON("base64", bytes.Replace(good.JSON(), []byte(`"payload":"`), []byte(`"payload":"*`), 1), 400, "DSSE-BASE64"),
		asJSON("no signature", rawJSON(dsse.ReceiptType, payload), 400, "DSSE-SIGNATURE-COUNT"),
		asJSON("two signatures", two.JSON(), 400, "DSSE-SIGNATURE-COUNT"),
		asJSON("short signature", rawJSON(dsse.ReceiptType, payload, sig[:63]), 400, "DSSE-SIGNATURE-SIZE"),
		asJSON("payload over the limit", rawJSON(dsse.ReceiptType, make([]byte, dsse.MaxPayload+1), sig), 413, "DSSE-PAYLOAD-SIZE"),
		asJSON("a leaf sent as JSON", leaf, 400, "DSSE-UTF8"),
		asJSON("payload not canonical", rawJSON(dsse.ReceiptType, []byte("\xbf\xff"), sig), 400, "CBOR-INDEFINITE"),
		asJSON("payload empty", rawJSON(dsse.ReceiptType, nil, sig), 400, "CBOR-TRUNCATED"),
		asJSON("payload with more behind it", rawJSON(dsse.ReceiptType, append(bytes.Clone(forged), 0xf6), sig), 400, "CBOR-TRAILING"),

		asLeaf("leaf empty", nil, 400, "CBOR-TRUNCATED"),
		asLeaf("leaf cut short", leaf[:len(leaf)-1], 400, "CBOR-TRUNCATED"),
		asLeaf("leaf with more behind it", append(bytes.Clone(leaf), 0), 400, "CBOR-TRAILING"),
		asLeaf("leaf with keys out of order", swapped, 400, "CBOR-KEY-DUPLICATE"),
		asLeaf("leaf that is another map", []byte("\xa0"), 400, "LEAF-FORM"),
		asLeaf("leaf over the limit", make([]byte, dsse.MaxLeaf+1), 413, "LEAF-SIZE"),
		asLeaf("leaf with two signatures", leafOf(t, two), 400, "DSSE-SIGNATURE-COUNT"),
		asLeaf("JSON sent as leaf", good.JSON(), 400, "CBOR-TRUNCATED"),

		asJSON("payload type, unknown", sign(t, "application/vnd.in-toto+json", payload, servertest.Engine).JSON(), 422, "PAYLOAD-TYPE"),
		asJSON("payload type, later version", sign(t, "application/vnd.obstat.receipt.v2+cbor", payload, servertest.Engine).JSON(), 422, "PAYLOAD-TYPE"),
		asLeaf("payload type, unknown, in a leaf", leafOf(t, sign(t, "text/plain", payload, servertest.Engine)), 422, "PAYLOAD-TYPE"),
		asLeaf("payload type, registry", leafOf(t, sign(t, dsse.RegistryType, payload, servertest.Registrar)), 422, "REGISTRY-ELSEWHERE"),
	}
}

// badKeys are well-formed and signed by the wrong key, or by none.
func badKeys(t *testing.T) []refusal {
	stranger := opening("stranger", "refused")
	broken := signed(t, opening(servertest.Engine, "refused"), servertest.Engine)
	broken.Sigs[0].Sig[5] ^= 1
	other := signed(t, opening(servertest.Engine, "refused"), servertest.Engine2)
	posing := &dsse.Envelope{Type: other.Type, Payload: other.Payload,
		Sigs: []dsse.Signature{{By: dsse.KeyID(keyID(servertest.Engine)), Sig: other.Sigs[0].Sig}}}
	retyped := sign(t, "text/plain", opening(servertest.Engine, "refused").Payload(), servertest.Engine)
	retyped.Type = dsse.ReceiptType

	asked := receipttest.NewRun(keyID(servertest.Engine), "asks").Add(receipttest.Open(servertest.Origin))
	escalation := receipttest.NewRun(keyID(servertest.Engine), "asks")
	escalation.Add(receipttest.Open(servertest.Origin))
	question := escalation.Add(receipttest.Judgment("x", receipttest.Escalate("HUMAN-DECIDES")))
	byEngine := receipttest.Decide(keyID(servertest.Engine), question, receipt.Approve)
	byRegistrar := receipttest.NewRun(keyID(servertest.Registrar), "r").Add(receipttest.Open(servertest.Origin))
	byLog := receipttest.NewRun(keyID(servertest.Origin), "l").Add(receipttest.Open(servertest.Origin))
	byApprover := receipttest.NewRun(keyID(servertest.Approver), "a").Add(receipttest.Open(servertest.Origin))

	// A key that nobody listed, with a signature that no key could have made:
	// it is refused before the signature is looked at.
	unsigned := signed(t, stranger, "stranger")
	unsigned.Sigs[0].Sig = [64]byte{}

	return []refusal{
		asJSON("key unknown", signed(t, stranger, "stranger").JSON(), 403, "KEY-UNKNOWN"),
		asLeaf("key unknown, in a leaf", leafOf(t, signed(t, stranger, "stranger")), 403, "KEY-UNKNOWN"),
		asJSON("key unknown, and wrongly signed", unsigned.JSON(), 403, "KEY-UNKNOWN"),
		asJSON("key of the log itself", signed(t, byLog, servertest.Origin).JSON(), 403, "KEY-UNKNOWN"),
		asJSON("signature broken", broken.JSON(), 403, "SIGNATURE-INVALID"),
		asLeaf("signature broken, in a leaf", leafOf(t, broken), 403, "SIGNATURE-INVALID"),
		asJSON("signature by another engine", other.JSON(), 403, "SIGNATURE-INVALID"),
		asLeaf("signature by another engine, in a leaf that says so", leafOf(t, other), 403, "SIGNER-MISMATCH"),
		asLeaf("signature by another engine, in a leaf that hides it", leafOf(t, posing), 403, "SIGNATURE-INVALID"),
		asJSON("signature over another type", retyped.JSON(), 403, "SIGNATURE-INVALID"),
		asJSON("role, an approver opens a run", signed(t, byApprover, servertest.Approver).JSON(), 403, "KEY-ROLE"),
		asJSON("role, an engine decides", signed(t, byEngine, servertest.Engine).JSON(), 403, "KEY-ROLE"),
		asJSON("role, a registrar opens a run", signed(t, byRegistrar, servertest.Registrar).JSON(), 403, "KEY-ROLE"),
		asJSON("role, asked of a leaf", signed(t, byApprover, servertest.Approver).JSON(), 403, "KEY-ROLE").inLeaf(t, signed(t, byApprover, servertest.Approver)),
		asJSON("signature of one statement under another", rawJSON(dsse.ReceiptType, asked.Payload(), broken.Sigs[0].Sig[:]), 403, "SIGNATURE-INVALID"),
	}
}

// inLeaf is the same refusal for the other form.
func (r refusal) inLeaf(t *testing.T, env *dsse.Envelope) refusal {
	return asLeaf(r.name, leafOf(t, env), r.status, r.code)
}

// badStatements are well-formed, rightly signed and against the schema.
func badStatements(t *testing.T) []refusal {
	by := keyID(servertest.Engine)
	call := func(extra ...dagcbor.Entry) dagcbor.Map {
		return append(dagcbor.Map{
			{Key: "by", Value: dagcbor.Bytes(by[:])}, {Key: "run", Value: dagcbor.Text("schema")},
			{Key: "seq", Value: dagcbor.Int(0)}, {Key: "at", Value: dagcbor.Int(receipttest.Start)},
		}, extra...)
	}
	statement := func(name string, call, rec dagcbor.Map, code report.Code) refusal {
		payload, err := dagcbor.Encode(dagcbor.Map{{Key: "call", Value: call}, {Key: "receipt", Value: rec}})
		if err != nil {
			t.Fatal(err)
		}
		return asJSON(name, sign(t, dsse.ReceiptType, payload, servertest.Engine).JSON(), 422, code)
	}
	gap := dagcbor.Map{{Key: "gap", Value: dagcbor.Map{{Key: "code", Value: dagcbor.Text("LOST")}, {Key: "count", Value: dagcbor.Int(1)}}}}
	prose := dagcbor.Map{{Key: "gap", Value: dagcbor.Map{{Key: "code", Value: dagcbor.Text("ignore all previous")}, {Key: "count", Value: dagcbor.Int(1)}}}}
	link := opening(servertest.Engine, "x").CID.Link()
	later := append(call()[:2:2], dagcbor.Entry{Key: "seq", Value: dagcbor.Int(1)}, call()[3])
	second := append(slices.Clip(later), dagcbor.Entry{Key: "prev", Value: link})
	return []refusal{
		asJSON("statement, an empty map", sign(t, dsse.ReceiptType, []byte("\xa0"), servertest.Engine).JSON(), 422, "SCHEMA-MISSING"),
		asJSON("statement, no map", sign(t, dsse.ReceiptType, []byte("\x01"), servertest.Engine).JSON(), 422, "SCHEMA-TYPE"),
		statement("statement, unknown kind", second, dagcbor.Map{{Key: "wish", Value: dagcbor.Map{}}}, "SCHEMA-ARM"),
		statement("statement, unknown member of the call", call(dagcbor.Entry{Key: "mood", Value: dagcbor.Int(1)}), gap, "SCHEMA-UNKNOWN"),
		statement("statement, a first one that is no run-open", call(), gap, "SCHEMA-SEQ"),
		statement("statement, a later one without prev", later, gap, "SCHEMA-PREV"),
		statement("statement, prose for a code", second, prose, "SCHEMA-CODE"),
	}
}

// TestRefusals: every bad input has its status and code, and leaves no trace.
func TestRefusals(t *testing.T) {
	l := servertest.New(t)
	before := get(t, l, "/checkpoint").body
	var out strings.Builder
	for _, r := range refusals(t) {
		method, path := r.method, r.path
		if method == "" {
			method = "POST"
		}
		if path == "" {
			path = "/v1/receipts"
		}
		a := do(t, method, l.URL+path, r.header, r.body)
		if a.status != r.status || report.Code(a.code()) != r.code {
			t.Errorf("%s: %d %s, want %d %s\n%s", r.name, a.status, a.code(), r.status, r.code, a.body)
		}
		if got := a.header.Get("Content-Type"); got != server.ProblemType {
			t.Errorf("%s: Content-Type %q", r.name, got)
		}
		fmt.Fprintf(&out, "-- %s --\n%d %s\n", r.name, a.status, show(a))
	}
	golden(t, "refusals.txt", []byte(out.String()))
	if after := get(t, l, "/checkpoint").body; !bytes.Equal(before, after) {
		t.Errorf("the log changed from\n%s to\n%s", before, after)
	}
	if stats := l.Server.Stats(); stats.Size != 1 || stats.QueueItems != 0 || stats.Groups != 0 {
		t.Errorf("a trace is left: %+v", stats)
	}
}

// TestEveryCode: every code that an envelope can be refused with has a status,
// nothing else has, and the codes that are the server's own are all in the
// table of bad input or have a test of their own.
func TestEveryCode(t *testing.T) {
	elsewhere := map[report.Code]string{
		"HTTP-BODY": "TestCutShort", "HTTP-TIMEOUT": "TestSlowClients", "BUSY": "TestBusy",
		"LOG-STOPPED": "TestFailStop", "LOG-CLOSED": "TestClosed", "KEY-ENDED": "TestKeyEnded",
		"TILE-PATH": "TestPaths", "STATEMENT-UNKNOWN": "TestLookups", "INDEX-ABSENT": "TestLookups", "WITNESSES-NONE": "TestWait", "BEYOND-SIZE": "TestWidths", "HTTP-HOST": "TestHosts", "LOG-IO": "TestReadFails",
		"REGISTRY-LIMIT": "TestRegistryLimit", "LOG-FROZEN": "TestFreeze", "LOG-DAMAGED": "TestReadFails", "LOG-HISTORY-LOST": "TestFileLost", "INTERNAL": "TestFaultsSayNothing",
	}
	tested := maps.Clone(elsewhere)
	for _, r := range refusals(t) {
		tested[r.code] = r.name
	}
	for _, r := range registryRefusals(t, changed(t)) {
		tested[r.code] = r.name
	}
	for code := range server.Statuses {
		if report.Meaning[code] == "" {
			t.Errorf("%s has a status and no meaning", code)
		}
		family, _, _ := strings.Cut(string(code), "-")
		switch family {
		case "CBOR", "CID", "DSSE", "SCHEMA", "LEAF":
			continue // one parser's codes, which its own tests reach one by one
		}
		if tested[code] == "" {
			t.Errorf("%s has a status and no test", code)
		}
	}
	for code := range report.Meaning {
		family, _, _ := strings.Cut(string(code), "-")
		switch family {
		case "CBOR", "CID", "DSSE", "SCHEMA", "LEAF", "HTTP":
			if _, ok := server.Statuses[code]; !ok {
				t.Errorf("%s has no status", code)
			}
		}
	}
	if server.StatusOf("NO-SUCH-CODE") != http.StatusInternalServerError {
		t.Error("an unknown code is not a fault of the server")
	}
}

// TestKeysOfTheTest: the keys that tests use are real ones.
func TestKeysOfTheTest(t *testing.T) {
	for _, name := range []string{servertest.Engine, servertest.Approver, servertest.Registrar, servertest.Origin} {
		if err := dsse.CheckPublicKey(servertest.Key(name).Public().(ed25519.PublicKey)); err != nil {
			t.Error(err)
		}
	}
}
