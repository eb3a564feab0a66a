package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// readBack reads a payload as its receiver will: the JSON by another decoder than
// what wrote it, the text line by line by the rules of CommonMark for fences. It
// accounts for every line: outside fences they are the template's, in order, and
// what stands inside each fence is one slot, whole. It uses nothing of what made
// the payload but the template and the slots.
func readBack(payload []byte, t template, slots []Slot, sources []Source) error {
	method, path, body, err := readJSON(payload)
	if err != nil {
		return err
	}
	value := func(name string) (Slot, error) {
		for _, s := range slots {
			if s.Name == name {
				return s, nil
			}
		}
		return Slot{}, fmt.Errorf("no slot %q", name)
	}
	if method != t.method {
		return fmt.Errorf("method %q", method)
	}
	if err := readPath(path, t, value); err != nil {
		return err
	}
	members := 1
	if t.title != "" {
		members++
		title, err := value(t.title)
		if err != nil || body[t.title] != title.Value {
			return fmt.Errorf("the title is not its slot: %w", err)
		}
	}
	if len(body) != members {
		return fmt.Errorf("%d members of a body, want %d", len(body), members)
	}
	return readText(body[t.body], t, value, sources)
}

// readJSON reads {"body": {…}, "method": …, "path": …} with texts in the body, each
// member once, and nothing between.
func readJSON(payload []byte) (method, path string, body map[string]string, err error) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, payload); err != nil {
		return "", "", nil, err
	}
	if !bytes.Equal(compact.Bytes(), payload) || !utf8.Valid(payload) {
		return "", "", nil, errors.New("there are blanks, or bytes that are no text, in the JSON")
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	texts := map[string]string{} // by their path in the document
	var at []string
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", "", nil, err
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '{' && len(at) <= 2 {
				at = append(at, "")
				continue
			}
			if token == '}' {
				if at = at[:len(at)-1]; len(at) > 0 {
					at[len(at)-1] = ""
				}
				continue
			}
		case string:
			if len(at) == 0 {
				break
			}
			if at[len(at)-1] == "" {
				at[len(at)-1] = "." + token
				continue
			}
			name := strings.Join(at, "")
			if _, twice := texts[name]; twice {
				return "", "", nil, fmt.Errorf("the member %s stands there twice", name)
			}
			texts[name], at[len(at)-1] = token, ""
			continue
		}
		return "", "", nil, fmt.Errorf("%v has no place in a payload", token)
	}
	body = map[string]string{}
	for name, text := range texts {
		if member, in := strings.CutPrefix(name, ".body."); in {
			body[member] = text
		}
	}
	if len(texts) != len(body)+2 {
		return "", "", nil, errors.New("there are other members than method, path and body")
	}
	return texts[".method"], texts[".path"], body, nil
}

func readPath(path string, t template, value func(string) (Slot, error)) error {
	elements := strings.Split(path, "/")
	if len(elements) != len(t.path)+1 || elements[0] != "" {
		return fmt.Errorf("path %q", path)
	}
	for i, s := range t.path {
		want := s.literal
		if s.unbound != "" {
			want = "{" + s.unbound + "}"
		}
		if s.slot != "" {
			v, err := value(s.slot)
			if err != nil {
				return err
			}
			want = v.Value
		}
		if elements[i+1] != want {
			return fmt.Errorf("element %d of the path is %q", i, elements[i+1])
		}
	}
	return nil
}

// readText walks through the lines of a text.
func readText(text string, t template, value func(string) (Slot, error), sources []Source) error {
	lines := strings.Split(text, "\n")
	at := 0
	next := func() (string, bool) {
		if at == len(lines) {
			return "", false
		}
		at++
		return lines[at-1], true
	}
	for i, p := range t.parts {
		slot, err := value(p.slot)
		if err != nil {
			return err
		}
		label := ""
		for _, s := range sources {
			if s.Name == slot.Source {
				label = labels[s.Role]
			}
		}
		above := []string{"### " + p.heading, "", label, ""}
		if i > 0 {
			above = append([]string{""}, above...)
		}
		for _, want := range above {
			if got, ok := next(); !ok || got != want {
				return fmt.Errorf("line %d outside a fence is %q", at, got)
			}
		}
		open, _ := next()
		ticks := strings.TrimSuffix(open, "text")
		if len(ticks) < 3 || strings.Trim(ticks, "`") != "" || open == ticks {
			return fmt.Errorf("line %d opens no fence: %q", at, open)
		}
		if long := len(ticks) > 3 && !strings.Contains(slot.Value, ticks[1:]); long || strings.Contains(slot.Value, ticks) {
			return fmt.Errorf("the fence in line %d is not one longer than the longest run inside", at)
		}
		var inside []string
		for {
			line, ok := next()
			if !ok {
				return errors.New("a fence is not closed")
			}
			if closes(line, len(ticks)) {
				if line != ticks {
					return fmt.Errorf("line %d closes a fence and says more: %q", at, line)
				}
				break
			}
			inside = append(inside, line)
		}
		if strings.Join(inside, "\n") != slot.Value {
			return fmt.Errorf("what stands in the fence before line %d is not the slot %q", at, p.slot)
		}
	}
	if last, ok := next(); !ok || last != "" {
		return fmt.Errorf("behind the last fence stands %q", last)
	}
	if more, ok := next(); ok {
		return fmt.Errorf("a line more than there should be: %q", more)
	}
	return nil
}

// closes says whether a line closes a fence of so many backticks: at most three
// blanks, at least as many backticks, and nothing else but blanks and tabs.
func closes(line string, size int) bool {
	body := strings.TrimLeft(line, " ")
	if len(line)-len(body) > 3 {
		return false
	}
	ticks := len(body) - len(strings.TrimLeft(body, "`"))
	return ticks >= size && strings.Trim(body[ticks:], " \t") == ""
}
