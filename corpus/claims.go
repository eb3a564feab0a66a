package corpus

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/verdict"
)

// claims reads a list of claims (spec/corpus.md#claims) and holds each: what
// evaluations meet in, what origins combine to, which ticket and digest a
// refusal has. The form of a list holds where each of its values can be at all.
func (a *answerer) claims(command Command, data []byte) {
	v, err := jcs.Parse(data)
	if err != nil {
		a.form(err)
		return
	}
	list, ok := v.(jcs.Array)
	if !ok || len(list) == 0 {
		a.form(malformed("/", "a list of claims", kind(v)))
		return
	}
	hold := map[Command]func(*claim) (string, string){AskMeet: (*claim).meet, AskCombine: (*claim).combine, AskTicket: (*claim).ticket}[command]
	var wrong error
	for i, item := range list {
		c := &claim{where: "/" + strconv.Itoa(i)}
		c.o = c.r.object(c.where, item, map[Command][]string{AskMeet: {"of", "is"}, AskCombine: {"of", "is"}, AskTicket: {"request", "verdict"}}[command],
			map[Command][]string{AskTicket: {"refusal", "ticket"}}[command]...)
		want, got := hold(c)
		if c.r.err != nil {
			a.form(c.r.err)
			return
		}
		if want != got && wrong == nil {
			wrong = &report.Error{Code: report.CodeExpectationUnmet, Where: c.where, Expected: want, Actual: got}
		}
	}
	a.form(nil)
	a.check(CheckClaims, wrong)
}

// claim is one claim while it is read.
type claim struct {
	where string
	o     jcs.Object
	r     reader
}

// refuse keeps an error of package verdict or preview, with its own code.
func (c *claim) refuse(where string, err error) {
	if err == nil || c.r.err != nil {
		return
	}
	if e, ok := err.(*verdict.Error); ok {
		c.r.err = &report.Error{Code: report.Code(e.Code), Where: where, Expected: e.Expected, Actual: e.Actual}
		return
	}
	c.r.err = &report.Error{Code: report.CodeOf(err), Where: where, Actual: err.Error()}
}

// arm reads an object of one member that is an object, and returns both.
func (c *claim) arm(where string, v jcs.Value) (string, jcs.Object) {
	o, ok := v.(jcs.Object)
	if !ok || len(o) != 1 {
		c.r.fail(where, "an object of one member", kind(v))
		return "", nil
	}
	inner, ok := o[0].Value.(jcs.Object)
	if !ok {
		c.r.fail(where+"/"+o[0].Name, "an object", kind(o[0].Value))
	}
	return o[0].Name, inner
}

// evaluation reads {"admit": {"by": […]}}, {"deny": {"reasons": […]}},
// {"escalate": {"reasons": […]}}, {"fault": {"codes": […]}} or {"nothing": {}}.
func (c *claim) evaluation(where string, v jcs.Value) verdict.Evaluation {
	word, o := c.arm(where, v)
	where += "/" + word
	set := map[string]string{"admit": "by", "deny": "reasons", "escalate": "reasons", "fault": "codes"}[word]
	if word == "nothing" && len(o) == 0 {
		return verdict.Evaluation{}
	}
	if set == "" {
		c.r.fail(where, "admit, deny, escalate, fault or nothing", strconv.Quote(word))
		return verdict.Evaluation{}
	}
	c.r.object(where, o, []string{set})
	list := c.r.array(where, o, set)
	words := make([]string, 0, len(list))
	for i, w := range list {
		s, ok := w.(jcs.String)
		if !ok {
			c.r.fail(fmt.Sprintf("%s/%s/%d", where, set, i), "a string", kind(w))
		}
		words = append(words, string(s))
	}
	var made verdict.Verdict
	var err error
	switch word {
	case "admit":
		made, err = verdict.Admit(words...)
	case "deny":
		made, err = verdict.Deny(words...)
	case "escalate":
		made, err = verdict.Escalate(words...)
	default:
		fault, faultErr := verdict.NewFault(words...)
		if faultErr == nil {
			return verdict.Evaluated(made, fault)
		}
		err = faultErr
	}
	c.refuse(where, err)
	return verdict.Evaluated(made, nil)
}

// result is how an evaluation ends: nothing ends in a fault.
func result(e verdict.Evaluation) string {
	v, err := e.Result()
	if err != nil {
		return err.Error()
	}
	return v.String()
}

func (c *claim) meet() (want, got string) {
	var all []verdict.Evaluation
	for i, v := range c.r.array(c.where, c.o, "of") {
		all = append(all, c.evaluation(fmt.Sprintf("%s/of/%d", c.where, i), v))
	}
	is, _ := c.o.Get("is")
	return result(c.evaluation(c.where+"/is", is)), result(verdict.Meet(all...))
}

func (c *claim) origin(where string, v jcs.Value) verdict.Origin {
	word, o := c.arm(where, v)
	if word != "mixed" {
		s, err := verdict.ParseStage(word)
		c.refuse(where, err)
		if len(o) > 0 {
			c.r.fail(where+"/"+word, "an empty object", "members")
		}
		return verdict.Whole(s)
	}
	where += "/mixed"
	c.r.object(where, o, []string{"intent", "rendering"})
	intent, err := verdict.ParseStage(c.r.text(where, o, "intent"))
	c.refuse(where+"/intent", err)
	rendering, err := verdict.ParseStage(c.r.text(where, o, "rendering"))
	c.refuse(where+"/rendering", err)
	return verdict.Mixed(intent, rendering)
}

func (c *claim) combine() (want, got string) {
	var all verdict.Origin
	for i, v := range c.r.array(c.where, c.o, "of") {
		o := c.origin(fmt.Sprintf("%s/of/%d", c.where, i), v)
		if i == 0 {
			all = o
		} else {
			all = verdict.Combine(all, o)
		}
	}
	is, _ := c.o.Get("is")
	return c.origin(c.where+"/is", is).String(), all.String()
}

// ticket compares the refusal digest and the ticket that a claim states with
// those that its request and verdict have.
func (c *claim) ticket() (want, got string) {
	b, err := hex.DecodeString(c.r.text(c.where, c.o, "request"))
	if err != nil || len(b) != len(preview.Digest{}) {
		c.r.fail(c.where+"/request", "64 hex digits", "something else")
		return "", ""
	}
	stated, _ := c.o.Get("verdict")
	v, err := c.evaluation(c.where+"/verdict", stated).Result()
	c.refuse(c.where+"/verdict", err)
	if c.r.err != nil {
		return "", ""
	}
	derived := map[string]func() (fmt.Stringer, error){
		"refusal": func() (fmt.Stringer, error) { return preview.RefusalOf(preview.Digest(b), v) },
		"ticket":  func() (fmt.Stringer, error) { return preview.TicketOf(preview.Digest(b), v) },
	}
	var wants, gots []string
	for _, name := range []string{"refusal", "ticket"} {
		if _, ok := c.o.Get(name); !ok {
			continue
		}
		d, err := derived[name]()
		c.refuse(c.where+"/"+name, err)
		wants, gots = append(wants, name+" "+c.r.text(c.where, c.o, name)), append(gots, name+" "+d.String())
	}
	if slices.Equal(wants, gots) {
		return "", ""
	}
	return fmt.Sprint(wants), fmt.Sprint(gots)
}
