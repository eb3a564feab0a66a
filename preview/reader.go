package preview

import (
	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/report"
)

// members reads the members of one JSON object, each at most once, and refuses
// at the end those that nobody asked for.
type members struct {
	where string
	left  jcs.Object
}

// openObject starts to read the members of v.
func openObject(where string, v jcs.Value) (*members, error) {
	o, ok := v.(jcs.Object)
	if !ok {
		return nil, bad(report.CodePreviewSchema, where, "an object", kind(v))
	}
	return &members{where, append(jcs.Object(nil), o...)}, nil
}

func (m *members) at(name string) string {
	if m.where == "" {
		return name
	}
	return m.where + "." + name
}

func (m *members) has(name string) bool {
	_, ok := m.left.Get(name)
	return ok
}

// take returns a member that must be there.
func (m *members) take(name string) (jcs.Value, error) {
	for i, e := range m.left {
		if e.Name == name {
			m.left = append(m.left[:i], m.left[i+1:]...)
			return e.Value, nil
		}
	}
	return nil, bad(report.CodePreviewSchema, m.at(name), "a member of this name", "none")
}

func (m *members) text(name string) (string, error) {
	v, err := m.take(name)
	if err != nil {
		return "", err
	}
	s, ok := v.(jcs.String)
	if !ok {
		return "", bad(report.CodePreviewSchema, m.at(name), "a string", kind(v))
	}
	return string(s), nil
}

func (m *members) bytes(name string) (string, error) {
	v, err := m.take(name)
	if err != nil {
		return "", err
	}
	return readBytes(m.at(name), v)
}

func (m *members) content(name string) (Content, error) {
	v, err := m.take(name)
	if err != nil {
		return Content{}, err
	}
	return readContent(m.at(name), v)
}

func (m *members) object(name string) (jcs.Object, error) {
	v, err := m.take(name)
	if err != nil {
		return nil, err
	}
	o, ok := v.(jcs.Object)
	if !ok {
		return nil, bad(report.CodePreviewSchema, m.at(name), "an object", kind(v))
	}
	return o, nil
}

func (m *members) array(name string) (jcs.Array, error) {
	v, err := m.take(name)
	if err != nil {
		return nil, err
	}
	a, ok := v.(jcs.Array)
	if !ok {
		return nil, bad(report.CodePreviewSchema, m.at(name), "an array", kind(v))
	}
	return a, nil
}

// done refuses a member that was not taken.
func (m *members) done() error {
	if len(m.left) == 0 {
		return nil
	}
	return bad(report.CodePreviewSchema, m.at(m.left[0].Name), "no member of this name", kind(m.left[0].Value))
}
