package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/obstat/obstat/report"
)

// maxConfigFile is far above what any settings take, in bytes.
const maxConfigFile = 1 << 20

// readFile takes what a file of settings says (docs/operation.md#configuration).
func (c *Config) readFile(file string) error {
	b, err := readConfig(file)
	if err != nil {
		return err
	}
	tree := map[string]any{}
	if err := toml.Unmarshal(b, &tree); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, column := at.Position()
			return usagef("%s:%d: it is no TOML: %v, at column %d", file, line, err, column)
		}
		return usagef("%s: it is no TOML: %v", file, err)
	}
	lines := linesOf(b)
	at := func(name string) string { return fmt.Sprintf("%s:%d", file, lines.of(name)) }
	said := flatten("", tree)
	var known []string
	for _, s := range c.given {
		if s.onlyBy {
			continue
		}
		known = append(known, s.name)
		v, given := said[s.name]
		if !given {
			continue
		}
		if err := s.value.decode(v); err != nil {
			return usagef("%s: %s: %v", at(s.name), s.name, err)
		}
		s.from = at(s.name)
		delete(said, s.name)
	}
	for _, name := range slices.SortedFunc(maps.Keys(said), func(a, b string) int { return lines.of(a) - lines.of(b) }) {
		return usagef("%s: there is no setting %s%s", at(name), name, nearest(name, known))
	}
	return nil
}

func readConfig(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fileError(report.CodeFileUnreadable, file, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxConfigFile+1))
	if err != nil {
		return nil, fileError(report.CodeFileUnreadable, file, err)
	}
	if len(b) > maxConfigFile {
		return nil, usagef("%s is longer than %d bytes, as no file of settings is", file, maxConfigFile)
	}
	return b, nil
}

// flatten gives every value that is no table its dotted name. An empty table
// says nothing.
func flatten(prefix string, tree map[string]any) map[string]any {
	flat := map[string]any{}
	for name, v := range tree {
		if table, is := v.(map[string]any); is {
			maps.Copy(flat, flatten(prefix+name+".", table))
			continue
		}
		flat[prefix+name] = v
	}
	return flat
}

// lines are the lines that dotted names stand in.
type lines map[string]int

// of is the line of a name, or of the inline table that it stands in.
func (l lines) of(name string) int {
	for {
		if line, ok := l[name]; ok {
			return line
		}
		i := strings.LastIndexByte(name, '.')
		if i < 0 {
			return 1
		}
		name = name[:i]
	}
}

// linesOf finds them. The library decodes values without their places; only its
// parser knows those.
func linesOf(b []byte) lines {
	found, prefix := lines{}, ""
	p := unstable.Parser{}
	p.Reset(b)
	for p.NextExpression() {
		e := p.Expression()
		var parts []string
		line := 0
		for it := e.Key(); it.Next(); {
			n := it.Node()
			parts = append(parts, string(n.Data))
			line = p.Shape(n.Raw).Start.Line
		}
		name := strings.Join(parts, ".")
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			prefix = name + "."
		case unstable.KeyValue:
			found[prefix+name] = line
		}
	}
	return found
}

// quote writes a TOML string.
func quote(s string) string {
	b, err := toml.Marshal(map[string]string{"s": s})
	if err != nil {
		return fmt.Sprintf("%q", s)
	}
	return string(bytes.TrimSpace(bytes.TrimPrefix(b, []byte("s = "))))
}

// tomlType names the type of a TOML value.
func tomlType(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case bool:
		return "true or false"
	case int64:
		return "a number"
	case float64:
		return "a decimal"
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "a time"
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
