package spec

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
	"github.com/obstat/obstat/verdict"
)

// fieldsOf returns the names of the members at a path of a JSON object, sorted.
func fieldsOf(doc []byte, path ...string) []string {
	for _, step := range path {
		var o map[string]json.RawMessage
		if err := json.Unmarshal(doc, &o); err != nil {
			panic(err)
		}
		doc = o[step]
	}
	var o map[string]json.RawMessage
	if err := json.Unmarshal(doc, &o); err != nil {
		panic(err)
	}
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// limits prints the limits of the formats from the constants that hold them.
func limits() string {
	var b strings.Builder
	b.WriteString("| what | at most | code |\n|---|---|---|\n")
	row := func(what string, n uint64, unit string, codes ...report.Code) {
		quoted := make([]string, len(codes))
		for i, c := range codes {
			quoted[i] = "`" + string(c) + "`"
		}
		fmt.Fprintf(&b, "| %s | %s %s | %s |\n", what, thousands(n), unit, strings.Join(quoted, " "))
	}
	row("leaf", dsse.MaxLeaf, "bytes", report.CodeLeafSize)
	row("DSSE payload, statement, registry statement", dsse.MaxPayload, "bytes", report.CodeDSSEPayloadSize, report.CodeSchemaSize, report.CodeRegistryLimit)
	row("signatures of an envelope", dsse.MaxSignatures, "", report.CodeDSSESigCount)
	row("nesting of CBOR", dagcbor.MaxDepth, "levels", report.CodeCBORDepth)
	row("integer in CBOR, either side of 0", dagcbor.MaxInt, "", report.CodeCBORIntRange)
	row("nesting of JSON", jcs.MaxDepth, "levels", report.CodeJSONDepth)
	row("code", verdict.MaxCode, "bytes", report.CodeSchemaCode)
	row("name", verdict.MaxName, "bytes", report.CodeSchemaName)
	row("clear form", receipt.MaxClear, "bytes", report.CodeSchemaClear)
	row("preview", preview.MaxRho, "bytes", report.CodePreviewSize)
	row("path in a preview", preview.MaxPath, "bytes", report.CodePreviewPath)
	row("keys that a registry ever lists", trust.MaxKeys, "", report.CodeRegistryLimit)
	row("registry statements of a log, the genesis included", trust.MaxVersions, "", report.CodeRegistryLimit)
	row("registry leaves of a log together", trust.MaxLeaves, "bytes", report.CodeRegistryLimit)
	row("tlog-policy file", trust.MaxPolicy, "bytes", report.CodePolicyLimit)
	row("log, witness and group lines of a policy", trust.MaxPolicyLines, "", report.CodePolicyLimit)
	row("engine trust file", trust.MaxEngines, "bytes", report.CodeTrustSyntax)
	row("signed note", checkpoint.MaxNote, "bytes", report.CodeNoteTooLarge)
	row("signature lines of a note", checkpoint.MaxSignatures, "", report.CodeNoteTooLarge)
	row("origin, key name of a note", checkpoint.MaxName, "bytes", report.CodeCheckpointMalformed, report.CodeNoteMalformed)
	row("tree size", merkle.MaxSize, "", report.CodeTreeSize)
	row("hashes of an inclusion proof", merkle.MaxProof, "", report.CodeProofLength)
	row("entry of an entry bundle", merkle.MaxEntry, "bytes", report.CodeEntryTooLarge)
	row("bundle, registry chain, envelope", bundle.MaxBundle, "bytes", report.CodeProofBundleSize)
	row("disclosures of a bundle", bundle.MaxDisclosures, "", report.CodeProofBundleValue)
	row(".tlog-proof file", bundle.MaxTlogProof, "bytes", report.CodeProofBundleSize)
	row("body of a submission", server.MaxBody, "bytes", report.CodeHTTPSize)
	return b.String()
}

func thousands(n uint64) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// statuses prints the server's table from codes to HTTP statuses, which it reads
// off the source: the table is nobody else's business and so not exported.
func statuses(t *testing.T) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../internal/server/status.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := codeNames(t)
	by := map[int][]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		kv, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		code, status := selected(kv.Key), selected(kv.Value)
		number, known := httpStatus[status]
		if codes[code] == "" || !known {
			t.Errorf("status.go: %s: %s is not in this test's lists", code, status)
			return true
		}
		by[number] = append(by[number], "`"+codes[code]+"`")
		return true
	})
	var b strings.Builder
	b.WriteString("| status | codes |\n|---|---|\n")
	numbers := make([]int, 0, len(by))
	for n := range by {
		numbers = append(numbers, n)
	}
	slices.SortFunc(numbers, cmp.Compare[int])
	for _, n := range numbers {
		slices.Sort(by[n])
		fmt.Fprintf(&b, "| %d %s | %s |\n", n, http.StatusText(n), strings.Join(by[n], " "))
	}
	if len(numbers) < 6 {
		t.Error("status.go: the table was not found")
	}
	return b.String()
}

func selected(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}
	return ""
}

var httpStatus = map[string]int{
	"StatusBadRequest": 400, "StatusForbidden": 403, "StatusNotFound": 404, "StatusMethodNotAllowed": 405,
	"StatusRequestTimeout": 408, "StatusConflict": 409, "StatusGone": 410, "StatusRequestEntityTooLarge": 413,
	"StatusUnsupportedMediaType": 415, "StatusMisdirectedRequest": 421, "StatusUnprocessableEntity": 422, "StatusTooManyRequests": 429,
	"StatusInternalServerError": 500, "StatusServiceUnavailable": 503, "StatusInsufficientStorage": 507,
}

// codeNames maps the constants of report/codes.go to their codes.
func codeNames(t testing.TB) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../report/codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range v.Names {
			if i < len(v.Values) {
				if lit, ok := v.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
					out[name.Name] = must(strconv.Unquote(lit.Value))
				}
			}
		}
		return true
	})
	return out
}
