package report

import (
	"bytes"
	"encoding/json"
)

// MediaType names the JSON form (spec/report.schema.json).
const MediaType = "application/vnd.obstat.report.v1+json"

// The JSON form. Its members are those of the text, word for word.
type wireReport struct {
	MediaType  string      `json:"mediaType"`
	Command    string      `json:"command"`
	Headline   string      `json:"headline"`
	Overall    string      `json:"overall"`
	Conclusion string      `json:"conclusion"`
	Exit       int         `json:"exit"`
	Facts      []wireFact  `json:"facts"`
	Checks     []wireCheck `json:"checks"`
	Ignored    []string    `json:"ignored"`
	NotClaimed []string    `json:"notClaimed"`
}

type wireFact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type wireCheck struct {
	Name     string `json:"name"`
	Answer   string `json:"answer"`
	Required bool   `json:"required"`
	Law      bool   `json:"law"`
	Code     Code   `json:"code"`
	Expected string `json:"expected"`
	Actual   string `json:"actual"`
	Note     string `json:"note"`
}

// JSON renders the report as one JSON object and a newline. It says what Text
// says; a test holds it against spec/report.schema.json.
func (r *Report) JSON() []byte {
	w := wireReport{
		MediaType: MediaType, Command: r.Command, Headline: printable(r.Headline()),
		Overall: r.Overall().String(), Conclusion: printable(r.Conclusion()), Exit: r.ExitCode(),
		Facts: []wireFact{}, Checks: []wireCheck{}, Ignored: []string{}, NotClaimed: []string{},
	}
	for _, f := range r.Facts {
		w.Facts = append(w.Facts, wireFact{printable(f.Name), printable(f.Value)})
	}
	for _, c := range r.Checks {
		w.Checks = append(w.Checks, wireCheck{
			Name: c.Name, Answer: c.Answer.String(), Required: c.Required, Law: c.Law, Code: c.Code,
			Expected: printable(c.Expected), Actual: printable(c.Actual), Note: printable(c.Note),
		})
	}
	for _, s := range r.Ignored {
		w.Ignored = append(w.Ignored, printable(s))
	}
	if !r.ShowOnly {
		w.NotClaimed = NotClaimed()
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	// Strings, numbers and booleans into memory: Encode has nothing to refuse.
	if err := enc.Encode(w); err != nil {
		panic("report: " + err.Error())
	}
	return b.Bytes()
}
