package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/vectors"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/verdict"
)

// shipped says in Cedar what the policies say under which the cases were made:
// files are written anywhere but under /etc, git moves branches only, nothing
// speaks of any other substrate, and what has no inverse is a person's to admit.
const shipped = `
@id("files")
permit (principal, action in Action::"files", resource);
@id("files-not-under-etc")
@reason("PATH-NOT-ALLOWED")
forbid (principal, action in Action::"files", resource in Directory::"etc");
@id("files-not-etc")
@reason("PATH-NOT-ALLOWED")
forbid (principal, action in Action::"files", resource == File::"etc");
@id("git")
permit (principal, action == Action::"tool", resource in Server::"git");
@id("git-branches-only")
@reason("ARGUMENT-NOT-ALLOWED")
forbid (principal, action == Action::"tool", resource in Server::"git")
unless { context.arguments.locator like "*#refs/heads/*" && !(context.arguments.locator like "*/../*") };
@id("no-inverse")
@escalate("RULE-ASKS")
forbid (principal, action, resource) unless { context.reversible };
`

type effectCase struct {
	Substrate string `json:"substrate"`
	Locator   string `json:"locator"`
	Order     int    `json:"order"`
	Invert    bool   `json:"invert_available"`
	Evidence  int    `json:"evidence"`
}

// proposal is the case's request as an engine of ours would put it: a path of a
// file is clean before any policy sees it, and another substrate is a tool.
func (c effectCase) proposal(t *testing.T) gate.Proposal {
	t.Helper()
	var in preview.Intent
	switch c.Substrate {
	case "fs":
		in = preview.Files{Root: "/", Changes: []preview.Change{{
			Path: strings.TrimPrefix(path.Clean("/"+c.Locator), "/"), After: preview.ContentOf([]byte("new")),
		}}}
	default:
		arguments, err := json.Marshal(map[string]any{"locator": c.Locator, "order": c.Order})
		if err != nil {
			t.Fatal(err)
		}
		in = preview.Tool{Server: c.Substrate, Tool: "write", Arguments: arguments}
	}
	p := propose(in)
	p.Reversible = c.Invert
	p.Inputs = append(p.Inputs, preview.Input{Name: "evidence", Value: strconv.Itoa(c.Evidence)})
	return p
}

// TestVectorsFalseAdmit: what somebody else's policies must not admit is denied
// by the same policies here, and the request next to it passes.
func TestVectorsFalseAdmit(t *testing.T) {
	const file = "tracefold/false-admit.jsonl"
	p := parse(t, shipped)
	judge := func(c effectCase) verdict.Verdict {
		t.Helper()
		v, err := p.Judge(t.Context(), c.proposal(t))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	type falseAdmit struct {
		ID       string     `json:"id"`
		Request  effectCase `json:"request"`
		Must     string     `json:"must"`
		Expected struct {
			Source string `json:"source"`
		} `json:"expected_reason"`
		Control     effectCase `json:"control_request"`
		ControlMust string     `json:"control_must"`
	}
	cases := vectors.Lines[falseAdmit](t, file)
	if len(cases) == 0 {
		t.Fatal("no cases were read")
	}
	for _, c := range cases {
		v := judge(c.Request)
		if got := v.Arm().String(); got != c.Must {
			t.Errorf("%s: %s, want %s", c.ID, v, c.Must)
		}
		if denied := !slices.Contains(v.Reasons(), "NO-RULE"); denied != (c.Expected.Source == "Policy") {
			t.Errorf("%s: %s, want a denial by %s", c.ID, v, c.Expected.Source)
		}
		if v := judge(c.Control); !strings.Contains("-"+c.ControlMust+"-", "-"+v.Arm().String()+"-") {
			t.Errorf("%s: the control: %s, want %s", c.ID, v, c.ControlMust)
		}
		// A rule that admits everything changes nothing about it, and one that
		// cannot be evaluated makes it no weaker.
		for _, more := range []string{`permit (principal, action, resource);`, `permit (principal, action, resource) when { context.nothing.at == "all" };`} {
			v, err := parse(t, shipped+more).Judge(t.Context(), c.Request.proposal(t))
			if errors.As(err, new(verdict.Fault)) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.Expected.Source == "Policy" && v.Arm().String() != c.Must {
				t.Errorf("%s under %s: %s, want %s", c.ID, more, v, c.Must)
			}
		}
	}
	fmt.Printf("vectors: %s: %d cases\n", file, len(cases))
}
