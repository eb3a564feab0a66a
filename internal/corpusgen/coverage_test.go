package corpusgen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/obstat/obstat/audit"
	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

// unshown are the codes that the verifier can say and no file of a corpus can
// show, and why.
func unshown() map[string][]report.Code {
	return map[string][]report.Code{
		"of a program that was stopped, bounded or is broken":                               {report.CodeInterrupted, report.CodeLawStateLimit, report.CodeInternal},
		"only of what waits for another check, which never counts":                          {report.CodeNotReached},
		"of the caller's own pin, command line or secret":                                   {report.CodeTrustDigest, report.CodePreviewSecret, report.CodeKeyPEM, report.CodeInputUnknown, report.CodeNotAsked},
		"of a writer: a reader finds BUNDLE-MALFORMED":                                      {report.CodeEntryTooLarge},
		"needs a file of a megabyte or more":                                                {report.CodePreviewSize, report.CodeProofBundleSize},
		"needs more than 4,096 keys":                                                        {report.CodeRegistryLimit},
		"cannot be broken alone: the largest payload and all signatures fit a leaf":         {report.CodeLeafSize},
		"an envelope is refused before its statement: DSSE-PAYLOAD-SIZE is the same size":   {report.CodeSchemaSize},
		"of a key by itself; in a file it is TRUST-KEY, POLICY-KEY or REGISTRY-KEY-WEAK":    {report.CodeKeyForm, report.CodeKeySmallOrder},
		"of a verifier key by itself; in a policy it is POLICY-KEY":                         {report.CodeVKeyMalformed, report.CodeVKeyID, report.CodeVKeyType},
		"of two keys whose names and 32-bit key IDs collide":                                {report.CodeVKeyAmbiguous},
		"of a CID by itself; in a block it is SCHEMA-LINK or CBOR-LINK":                     {report.CodeCIDForm},
		"of a caller of the tree, who asks for what no checkpoint can say":                  {report.CodeProofEmptyTree, report.CodeTreeSize, report.CodeNodeRange, report.CodeTilePath},
		"a log that holds such a leaf is refuted (KEY-ROLE), and no law is then asked":      {report.CodeLawRole},
		"needs a cosignature over a smaller tree, and a directory has one checkpoint":       {report.CodeLaw2LateLogged},
		"of a tar around a log, or of a state that somebody kept: a corpus has directories": {report.CodeArchive, report.CodeArchiveEntry, report.CodeResumeOther, report.CodeResumeMalformed},
		"of a corpus itself: corpus.TestCheckFinds": {
			report.CodeCorpusManifest, report.CodeCorpusDigest, report.CodeCorpusFile, report.CodeCorpusMissing, report.CodeCorpusExtra, report.CodeCorpusAnswer,
		},
	}
}

// reachable are the codes that the program verify can say: those that the
// packages it is built from name. The others belong to servers, engines and
// clients.
func reachable(t *testing.T) map[report.Code]bool {
	t.Helper()
	constants := map[string]report.Code{}
	visit(t, filepath.Join("..", "..", "report"), func(n ast.Node) {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
			if lit, ok := v.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				constants[v.Names[0].Name] = report.Code(strings.Trim(lit.Value, `"`))
			}
		}
	})
	cmd := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{.Dir}}", "./cmd/verify")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	codes := map[report.Code]bool{
		verdict.CodeEmpty: true, verdict.CodeReason: true, verdict.CodeName: true, verdict.CodeOrigin: true, // it imports nothing
	}
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(path, "github.com/obstat/obstat/") {
			continue
		}
		visit(t, dir, func(n ast.Node) {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return
			}
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "report" && constants[sel.Sel.Name] != "" {
				codes[constants[sel.Sel.Name]] = true
			}
		})
	}
	if len(codes) < 150 {
		t.Fatalf("only %d codes: the verifier was not found", len(codes))
	}
	return codes
}

// visit walks the syntax of a package without its tests.
func visit(t *testing.T, dir string, do func(ast.Node)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool { do(n); return true })
	}
}

// TestEveryCodeHasACase: every code that the verifier can say and a file can
// show is that of a case, and a code that is said not to be is in none.
func TestEveryCodeHasACase(t *testing.T) {
	m, _ := built(t)
	shown, about := map[report.Code]bool{}, map[report.Code]bool{}
	for _, c := range m.Cases {
		about[c.Code()] = true
		for _, f := range c.Found {
			shown[f.Code] = true
		}
	}
	can, argued := reachable(t), map[report.Code]bool{}
	for why, codes := range unshown() {
		for _, code := range codes {
			argued[code] = true
			if shown[code] {
				t.Errorf("%s is shown by a case, although it is said to be %s", code, why)
			}
			if !can[code] {
				t.Errorf("the verifier cannot say %s: it needs no reason", code)
			}
		}
	}
	// The check once is refuted with it, so no case is about it alone.
	about[report.CodeLawRepeated] = shown[report.CodeLawRepeated]
	for code := range report.Meaning {
		if can[code] && !argued[code] && !about[code] {
			t.Errorf("no case is about %s (%s): write one, or say in unshown why no file can show it", code, report.Meaning[code])
		}
	}
}

// unasked are sections that no case can be about, and why.
func unasked() map[string][]string {
	return map[string][]string{
		"an example or an overview": {
			"bundle.md#example", "checkpoint.md#examples", "jsonview.md#example", "leaf.md#example", "preview.md#examples", "report.md#example", "statement.md#examples", "trust.md#examples",
			"evolution.md#versions", "evolution.md#rules", "laws.md#how-to-check-them",
		},
		"of what is printed, not of what is answered": {"report.md#exit-status", "report.md#what-is-not-claimed"},
		"of an engine's secret":                       {"preview.md#run-secret"},
		"asked by no command":                         {"preview.md#full-disclosure"},
		"of the log's own directory": {
			"log.md#promises", "log.md#directory", "log.md#segment", "log.md#group-record", "log.md#recovery", "log.md#index", "log.md#codes-of-the-engine",
		},
		"sizes of a registry":                                  {"trust.md#limits"},
		"what a log asks of what it is given":                  {"trust.md#at-the-head"},
		"of a state that somebody kept, and a corpus has none": {"report.md#resuming"},
		"what lies beyond":                                     {"limits.md#what-a-receipt-does-not-prove"},
	}
}

// formatPages are those that a verifier is written from.
var formatPages = []string{
	"bundle", "checkpoint", "encoding", "evolution", "jsonview", "laws", "leaf", "limits", "log", "preview", "receipt", "report", "statement", "trust", "verdict", "vocabulary",
}

var heading = regexp.MustCompile(`(?m)^## (.+)$`)

// sections returns the sections of a page, page.md#section.
func sections(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "spec", page+".md"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, h := range heading.FindAllStringSubmatch(string(text), -1) {
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
				return r
			}
			return -1
		}, strings.ToLower(h[1]))
		out = append(out, page+".md#"+anchor)
	}
	return out
}

// TestEverySectionHasACase: every section that says what a verifier answers has
// a case that is about it, and every case is about a section that there is.
func TestEverySectionHasACase(t *testing.T) {
	m, _ := built(t)
	about := map[string]bool{}
	for _, c := range m.Cases {
		about[c.Spec] = true
	}
	argued, known := map[string]bool{}, map[string]bool{}
	for why, list := range unasked() {
		for _, s := range list {
			argued[s] = true
			if about[s] {
				t.Errorf("a case is about %s, although it is said to be %s", s, why)
			}
		}
	}
	for _, page := range formatPages {
		known[page+".md"] = true
		for _, s := range sections(t, page) {
			known[s] = true
			if !about[s] && !argued[s] {
				t.Errorf("no case is about %s: write one, or say in unasked why there can be none", s)
			}
		}
	}
	for s := range about {
		if !known[s] {
			t.Errorf("a case is about %s, which there is not", s)
		}
	}
	for s := range argued {
		if !known[s] {
			t.Errorf("there is no section %s to argue about", s)
		}
	}
}

// TestEveryWordIsSaid: a verified case for every kind, verdict, disposition,
// answer and posture; every command with both answers; every check failed once.
func TestEveryWordIsSaid(t *testing.T) {
	m, _ := built(t)
	said, failed := map[string]bool{}, map[string]bool{}
	asked := map[corpus.Command][2]bool{}
	for _, c := range m.Cases {
		n := asked[c.Command]
		n[0], n[1] = n[0] || c.Answer == corpus.Verified, n[1] || c.Answer != corpus.Verified
		asked[c.Command] = n
		for _, f := range c.Found {
			failed[string(c.Command)+" "+f.Check] = true
		}
		for _, e := range c.Ask.Expect {
			said[e] = said[e] || c.Answer == corpus.Verified
		}
	}
	want := []string{"answer=approve", "posture=open", "posture=closed"}
	for _, k := range receipt.Kinds() {
		want = append(want, "kind="+string(k))
	}
	for _, a := range []verdict.Arm{verdict.ArmAdmit, verdict.ArmDeny, verdict.ArmEscalate} {
		want = append(want, "verdict="+a.String())
	}
	for _, d := range []receipt.Disposition{
		receipt.Committed{}, receipt.Diverged{}, receipt.Refused{}, receipt.Rejected{}, receipt.Expired{}, receipt.Cancelled{},
		receipt.Stale{}, receipt.Withheld{}, receipt.Rendered{}, receipt.Failed{}, receipt.Unobserved{},
	} {
		want = append(want, "disposition="+d.Word())
	}
	for _, w := range want {
		if !said[w] {
			t.Errorf("no verified case expects %s", w)
		}
	}
	for _, c := range corpus.Commands() {
		if asked[c] != [2]bool{true, true} {
			t.Errorf("%s has not both a verified case and another", c)
		}
	}
	checks := map[corpus.Command][]string{
		corpus.AskReceipt: bundle.RequiredOfEnvelope(), corpus.AskBundle: append(bundle.RequiredOfBundle(), bundle.CheckKeyNotDisowned, bundle.CheckRegistryComplete, bundle.CheckDisclosures),
		corpus.AskLog: audit.Required(), corpus.AskRun: audit.LawChecks(), corpus.AskConsistency: audit.RequiredOfConsistency(), corpus.AskFork: audit.RequiredOfFork(),
	}
	for command, list := range checks {
		for _, name := range list {
			if name != bundle.CheckIdentity && !failed[string(command)+" "+name] {
				t.Errorf("the check %s of %s fails in no case", name, command)
			}
		}
	}
}

// TestAreas: those that the specification of the corpus promises, in this order.
func TestAreas(t *testing.T) {
	m, _ := built(t)
	want := []string{
		"canonical-form", "schema", "identity", "signature-and-leaf", "roles", "verdicts-and-meet", "dispositions", "origin", "vocabulary", "preview-digests",
		"commitments", "inclusion", "consistency", "checkpoints-and-cosignatures", "witness-policy", "registry-and-disowning", "bundles", "laws", "whole-logs",
		"design-a-preview-commit", "design-b-change-sets", "design-c-escrow", "design-d-reversible", "design-e-rendered",
	}
	var have []string
	for _, c := range m.Counts() {
		have = append(have, c.Area)
	}
	if !slices.Equal(have, want) {
		t.Errorf("areas %q", have)
	}
}
