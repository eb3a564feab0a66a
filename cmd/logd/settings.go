package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// envPrefix is what variables of this program begin with. One that begins so and
// names no setting is an error, so the prefix is the program's own.
const envPrefix = "OBSTAT_LOGD_"

// configName names the file of settings: --config, OBSTAT_LOGD_CONFIG.
const configName = "config"

// setting is one thing that logd serve can be told. It has a default, and can
// be said in a file (NAME = value), by a variable (OBSTAT_LOGD_NAME) and by a
// flag (--NAME), each before the one before it. In a flag "." is "-", in a
// variable both are "_".
type setting struct {
	name   string
	value  value
	onlyBy bool // a flag says it or nothing: it is a word for one start

	from string // who said it last, for a person to find; empty where nobody did
}

// value is a place that a setting sets.
type value interface {
	words(said []string) error // as flags and variables say it, with one word for each time
	decode(v any) error        // as TOML says it
	String() string            // as TOML
}

func flagOf(name string) string { return "--" + strings.ReplaceAll(name, ".", "-") }

func variableOf(name string) string {
	return envPrefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(name))
}

// settings is the one list of what serve can be told. It puts the defaults in
// their places.
func (c *Config) settings() []*setting {
	c.Listen, c.LogFormat, c.LogLevel, c.Phrase.env = defaultListen, formatText, "info", passphraseEnv
	return []*setting{
		{name: "dir", value: (*textValue)(&c.Dir)},
		{name: "listen", value: (*textValue)(&c.Listen)},
		{name: "public", value: (*boolValue)(&c.Public)},
		{name: "passphrase-file", value: (*textValue)(&c.Phrase.file)},
		{name: "anchor", value: (*listValue)(&c.Anchors)},
		{name: "allow-unreachable-anchors", value: (*boolValue)(&c.UnreachableAnchors), onlyBy: true},
		{name: "tls.cert", value: (*textValue)(&c.TLSCert)},
		{name: "tls.key", value: (*textValue)(&c.TLSKey)},
		{name: "admin.socket", value: (*textValue)(&c.AdminSocket)},
		{name: "metrics.listen", value: (*textValue)(&c.MetricsListen)},
		{name: "log.format", value: (*textValue)(&c.LogFormat)},
		{name: "log.level", value: (*textValue)(&c.LogLevel)},
	}
}

// said is how a person finds the place where a setting was given; the flag
// where nobody gave it.
func (c *Config) said(name string) string {
	for _, s := range c.given {
		if s.name == name && s.from != "" && s.from != flagOf(name) {
			return s.from + ": " + name
		}
	}
	return flagOf(name)
}

// setup reads the command line of a command that is told what serve is told,
// over the environment, as os.Environ gives it, and the file of settings.
// Nothing is validated yet.
func (c *Config) setup(command string, args, environ []string, help string, stdout io.Writer) error {
	c.given = c.settings()
	f := newFlags(command)
	file := ""
	once(f, configName, &file)
	flags := map[string][]string{}
	for _, s := range c.given {
		add := func(word string) error {
			if _, list := s.value.(*listValue); !list && len(flags[s.name]) > 0 {
				return errors.New("it stands twice")
			}
			if word == "" {
				return errors.New("it is empty")
			}
			flags[s.name] = append(flags[s.name], word)
			return nil
		}
		name := strings.TrimPrefix(flagOf(s.name), "--")
		if _, is := s.value.(*boolValue); is {
			f.BoolFunc(name, "", add)
		} else {
			f.Func(name, "", add)
		}
	}
	if err := parse(f, args, help, stdout); err != nil {
		return err
	}
	variables := map[string]string{}
	for _, pair := range environ {
		if name, word, _ := strings.Cut(pair, "="); strings.HasPrefix(name, envPrefix) && word != "" {
			variables[name] = word
		}
	}
	if file == "" {
		file = variables[variableOf(configName)]
	}
	delete(variables, variableOf(configName))
	if file != "" {
		if err := c.readFile(file); err != nil {
			return err
		}
	}
	if err := c.readVariables(variables); err != nil {
		return err
	}
	for _, s := range c.given {
		if words := flags[s.name]; len(words) > 0 {
			if err := s.take(flagOf(s.name), words); err != nil {
				return err
			}
		}
	}
	return nil
}

// take sets a setting by words.
func (s *setting) take(from string, words []string) error {
	if err := s.value.words(words); err != nil {
		return usagef("%s: %v", from, err)
	}
	s.from = from
	return nil
}

// readVariables takes what the environment says. Several values of a list are
// apart by commas. An empty variable says nothing.
func (c *Config) readVariables(variables map[string]string) error {
	var known []string
	for _, s := range c.given {
		if s.onlyBy {
			continue
		}
		name := variableOf(s.name)
		known = append(known, name)
		word, given := variables[name]
		delete(variables, name)
		if !given {
			continue
		}
		words := []string{word}
		if _, list := s.value.(*listValue); list {
			words = strings.Split(word, ",")
		}
		if slices.Contains(words, "") {
			return usagef("%s: it is empty", name)
		}
		if err := s.take(name, words); err != nil {
			return err
		}
	}
	for _, name := range sortedKeys(variables) {
		return usagef("%s is a variable of no setting%s", name, nearest(name, known))
	}
	return nil
}

// nearest suggests what a name that is none was meant to be.
func nearest(name string, known []string) string {
	best, least := "", 4
	for _, k := range known {
		if d := distance(name, k); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return "; logd help config names them all"
	}
	return "; did you mean " + best + "?"
}

// distance is how many bytes have to be put in, left out or changed between a
// and b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// textValue is a text. Empty means none, where a setting may have none.
type textValue string

func (t *textValue) words(said []string) error {
	*t = textValue(said[0])
	return nil
}

func (t *textValue) decode(v any) error {
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("it is a string in quotes, not %s", tomlType(v))
	}
	*t = textValue(s)
	return nil
}

func (t *textValue) String() string { return quote(string(*t)) }

// boolValue is yes or no.
type boolValue bool

func (b *boolValue) words(said []string) error {
	switch said[0] {
	case "true", "false":
		*b = said[0] == "true"
		return nil
	}
	return fmt.Errorf("%q is neither true nor false", said[0])
}

func (b *boolValue) decode(v any) error {
	is, ok := v.(bool)
	if !ok {
		return fmt.Errorf("it is true or false, not %s", tomlType(v))
	}
	*b = boolValue(is)
	return nil
}

func (b *boolValue) String() string { return strconv.FormatBool(bool(*b)) }

// listValue is several texts. What says it says all of them.
type listValue []string

func (l *listValue) words(said []string) error {
	*l = slices.Clone(said)
	return nil
}

func (l *listValue) decode(v any) error {
	all, ok := v.([]any)
	if !ok {
		return fmt.Errorf("it is a list of strings, not %s", tomlType(v))
	}
	*l = nil
	for _, v := range all {
		s, ok := v.(string)
		if !ok {
			return fmt.Errorf("it is a list of strings, not of %s", tomlType(v))
		}
		*l = append(*l, s)
	}
	return nil
}

func (l *listValue) String() string {
	quoted := make([]string, len(*l))
	for i, s := range *l {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
