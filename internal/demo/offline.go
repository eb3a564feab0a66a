package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

// verifier runs bin/verify, in an empty network namespace where there is one.
type verifier struct {
	prefix []string // "unshare", "-rn", or nothing
	argv   []string // of every call, up to the file
}

// offline verifies what the session left behind.
func (d *demo) offline(ctx context.Context) error {
	d.head("5  Every receipt is verified offline, from files")
	v := &verifier{argv: []string{d.program("verify"), "bundle", "--json", "--policy", d.log.policyFile, "--trust", d.log.trustFile}}
	d.isolate(ctx, v)
	d.say("   verify  bundle --policy log/log.policy --trust log/trust receipts/NN-*.receipt.json")
	good := 0
	for _, s := range d.receipts {
		status, r, err := v.check(ctx, s.file)
		if err != nil {
			return err
		}
		s.verified = fmt.Sprintf("exit %d", status)
		if status == report.ExitVerified && r.Overall == report.AllVerified.String() {
			good++
			s.verified = "yes"
		} else {
			d.say("   %s: exit %d: %s", filepath.Base(s.file), status, r.Conclusion)
		}
	}
	d.check(good == len(d.receipts), "%d of %d: exit 0, every required check verified", good, len(d.receipts))
	if err := d.notAGoAhead(ctx, v); err != nil {
		return err
	}
	d.head("6  Forgeries")
	if err := d.flipByte(ctx, v); err != nil {
		return err
	}
	return d.flipVerdict(ctx, v)
}

// isolate looks for an empty network namespace and says what it finds.
func (d *demo) isolate(ctx context.Context, v *verifier) {
	prefix := []string{"unshare", "-rn"}
	list := append(append([]string{}, prefix...), "cat", "/proc/net/dev")
	out, err := exec.CommandContext(ctx, list[0], list[1:]...).Output()
	if err != nil {
		d.say("   network not taken away: this system allows no empty network namespace (unshare -rn: %s)", reason(err))
		d.say("           verify has no networking code all the same; a test of this project holds that")
		return
	}
	v.prefix = prefix
	d.say("   network taken away: unshare -rn, an empty network namespace")
	var interfaces []string
	for line := range strings.Lines(string(out)) {
		if name, _, ok := strings.Cut(line, ":"); ok {
			interfaces = append(interfaces, strings.TrimSpace(name))
		}
	}
	d.check(len(interfaces) == 1 && interfaces[0] == "lo", "in it there is a loopback interface and no other")
}

func reason(err error) string {
	var e *exec.ExitError
	if errors.As(err, &e) && len(e.Stderr) > 0 {
		first, _, _ := strings.Cut(string(e.Stderr), "\n")
		return first
	}
	return err.Error()
}

// answer is what verify --json says, as far as the demo reads it.
type answer struct {
	Headline   string `json:"headline"`
	Overall    string `json:"overall"`
	Conclusion string `json:"conclusion"`
	Checks     []struct {
		Name   string      `json:"name"`
		Answer string      `json:"answer"`
		Code   report.Code `json:"code"`
	} `json:"checks"`
}

// refutedBy is every check that ended refuted, with its code.
func (a *answer) refutedBy() string {
	var all []string
	for _, c := range a.Checks {
		if c.Answer == report.Refuted.String() {
			all = append(all, c.Name+" "+string(c.Code))
		}
	}
	return strings.Join(all, ", ")
}

// check verifies one file. An exit status that comes without a report is an
// error of the demo, not an answer.
func (v *verifier) check(ctx context.Context, file string, flags ...string) (int, *answer, error) {
	argv := append(append(append([]string{}, v.prefix...), v.argv...), flags...)
	argv = append(argv, file)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, nil, err
	}
	a := &answer{}
	if err := json.Unmarshal(stdout.Bytes(), a); err != nil {
		return 0, nil, fmt.Errorf("%s: exit %d and no report: %w\n%s", strings.Join(argv, " "), cmd.ProcessState.ExitCode(), err, stderr.Bytes())
	}
	return cmd.ProcessState.ExitCode(), a, nil
}

// find returns the saved statement of a kind and word.
func (d *demo) find(suffix string) (*saved, error) {
	for _, s := range d.receipts {
		if strings.HasSuffix(s.file, suffix+".receipt.json") {
			return s, nil
		}
	}
	return nil, fmt.Errorf("no receipt of %s", suffix)
}

// notAGoAhead shows that a genuine denial does not pass where an admit is asked.
func (d *demo) notAGoAhead(ctx context.Context, v *verifier) error {
	s, err := d.find("judgment-deny")
	if err != nil {
		return err
	}
	status, _, err := v.check(ctx, s.file, "--expect", "verdict=admit")
	if err != nil {
		return err
	}
	d.check(status == report.ExitRefuted, "the denial is genuine and no go-ahead: with --expect verdict=admit it is exit %d", status)
	return nil
}

// flipByte changes one byte of a bundle: the base64 digit that holds the lowest
// bit of a byte of the digest that was fired, so that all of it still reads.
func (d *demo) flipByte(ctx context.Context, v *verifier) error {
	s, err := d.find("outcome-committed")
	if err != nil {
		return err
	}
	const member, digits = `"payload":"`, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	forged := bytes.Clone(s.recorded.JSON)
	outcome, ok := s.recorded.Statement.Statement.Receipt.(receipt.Outcome)
	begin := bytes.Index(forged, []byte(member))
	digest := bytes.Index(s.recorded.Statement.Payload(), outcome.Request[:])
	if !ok || begin < 0 || digest < 0 {
		return fmt.Errorf("%s: there is no digest where one is expected", s.file)
	}
	// Three bytes are four digits; the last six bits of the third are the fourth.
	third := digest + 2 - digest%3
	at := begin + len(member) + third/3*4 + 3
	was := strings.IndexByte(digits, forged[at])
	if was < 0 {
		return fmt.Errorf("%s: byte %d is no base64 digit", s.file, at)
	}
	forged[at] = digits[was^1]
	file := d.path("flipped-byte.receipt.json")
	if err := os.WriteFile(file, forged, 0o644); err != nil {
		return err
	}
	d.say("   byte    %s, byte %d of %d: %q becomes %q", filepath.Base(s.file), at, len(forged), digits[was], forged[at])
	return d.refuted(ctx, v, file)
}

// flipVerdict makes an admission of the denial: a sound receipt, canonical and
// within the schema, under the signature of the one that was given.
func (d *demo) flipVerdict(ctx context.Context, v *verifier) error {
	s, err := d.find("judgment-deny")
	if err != nil {
		return err
	}
	b, err := bundle.Parse(s.recorded.JSON)
	if err != nil {
		return err
	}
	loose, err := dsse.ParseJSON(b.Envelope)
	if err != nil {
		return err
	}
	st := s.recorded.Statement.Statement
	judgment, ok := st.Receipt.(receipt.Judgment)
	if !ok {
		return fmt.Errorf("%s is no judgment", s.file)
	}
	admit, err := verdict.Admit("demo/git")
	if err != nil {
		return err
	}
	if judgment.Ruling, err = receipt.Rule(admit, receipt.Recovery{}); err != nil {
		return err
	}
	st.Receipt = judgment
	if loose.Payload, err = st.Encode(); err != nil {
		return err
	}
	env, err := loose.BindOne(dsse.KeyID(st.Call.By))
	if err != nil {
		return err
	}
	b.Envelope = env.JSON()
	file := d.path("forged-verdict.receipt.json")
	if err := os.WriteFile(file, b.Append(nil), 0o644); err != nil {
		return err
	}
	d.say("   field   %s: the verdict becomes admit, all else stays", filepath.Base(s.file))
	return d.refuted(ctx, v, file)
}

// refuted verifies a forgery and shows which check refutes it.
func (d *demo) refuted(ctx context.Context, v *verifier, file string) error {
	status, a, err := v.check(ctx, file)
	if err != nil {
		return err
	}
	d.say("           %s", a.Headline)
	d.check(status == report.ExitRefuted && a.refutedBy() != "", "exit %d, refuted by: %s", status, a.refutedBy())
	return nil
}
