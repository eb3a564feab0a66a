package corpus

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"github.com/obstat/obstat/internal/jcs"
)

// Append appends the manifest to dst in the one layout that this package
// writes, a file and a case a line, with its digest, which it also sets in m.
// Cases keep their order. It panics where a text of the manifest is not UTF-8.
func (m *Manifest) Append(dst []byte) []byte {
	m.Digest = Digest{} // its digits are the zeros that spec/corpus.md#digest asks for
	m.Digest = sha256.Sum256(m.layout())
	return append(dst, m.layout()...)
}

func (m *Manifest) layout() []byte {
	var b strings.Builder
	b.WriteString("{\n")
	for _, f := range [][2]string{{"mediaType", MediaType}, {"name", m.Name}, {"status", string(m.Status)}, {"digest", m.Digest.String()}} {
		b.WriteString(quote(f[0]) + ": " + quote(f[1]) + ",\n")
	}
	b.WriteString(`"files": {`)
	for i, path := range keys(m.Files) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + quote(path) + ": " + quote(m.Files[path].String()))
	}
	b.WriteString("\n},\n\"cases\": [")
	for i := range m.Cases {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + m.Cases[i].line())
	}
	b.WriteString("\n]\n}\n")
	return []byte(b.String())
}

func quote(s string) string {
	b, err := jcs.Append(nil, jcs.String(s))
	if err != nil {
		panic("corpus: " + err.Error())
	}
	return string(b)
}

// line is one case in one line.
func (c *Case) line() string {
	var b strings.Builder
	b.WriteString(`{"name": ` + quote(c.Name) + `, "area": ` + quote(c.Area()) + `, "command": ` + quote(string(c.Command)) + `, "files": {`)
	first := true
	for _, p := range parts() {
		if path, ok := c.Files[p]; ok {
			if !first {
				b.WriteString(", ")
			}
			first = false
			b.WriteString(quote(string(p)) + ": " + quote(path))
		}
	}
	b.WriteString("}, ")
	if a := c.Ask.members(); a != "" {
		b.WriteString(`"ask": {` + a + "}, ")
	}
	b.WriteString(`"answer": ` + quote(string(c.Answer)) + `, "code": ` + quote(string(c.Code())))
	if len(c.Found) > 0 {
		b.WriteString(`, "check": ` + quote(c.Found[0].Check))
	}
	if len(c.Found) > 1 {
		b.WriteString(`, "also": [`)
		for i, f := range c.Found[1:] {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(`{"check": ` + quote(f.Check) + `, "answer": ` + quote(string(f.Answer)) + `, "code": ` + quote(string(f.Code)) + "}")
		}
		b.WriteByte(']')
	}
	b.WriteString(`, "why": ` + quote(c.Why) + `, "spec": ` + quote(c.Spec) + "}")
	return b.String()
}

func (a Ask) members() string {
	var out []string
	if a.Now != 0 {
		out = append(out, `"now": `+strconv.FormatInt(a.Now, 10))
	}
	for _, f := range [][2]string{{"principal", a.Principal}, {"run", a.Run}} {
		if f[1] != "" {
			out = append(out, quote(f[0])+": "+quote(f[1]))
		}
	}
	for _, f := range []struct {
		name string
		list []string
	}{{"require", a.Require}, {"expect", a.Expect}} {
		if len(f.list) == 0 {
			continue
		}
		list := slices.Clone(f.list)
		for i := range list {
			list[i] = quote(list[i])
		}
		out = append(out, quote(f.name)+": ["+strings.Join(list, ", ")+"]")
	}
	return strings.Join(out, ", ")
}
