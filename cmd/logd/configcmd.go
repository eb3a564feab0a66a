package main

import (
	"fmt"
	"io"
	"strings"
)

// config prints what serve would be told, and by whom, as a file of settings
// that says the same. What is wrong with it is told behind it.
func config(args, environ []string, stdout io.Writer) error {
	c := &Config{}
	if err := c.setup("config", args, environ, helpConfig, stdout); err != nil {
		return err
	}
	if err := say(stdout, c.text()); err != nil {
		return err
	}
	return c.validateServe()
}

// text is the settings as a file. Tables stand behind what is in none, as TOML
// has it.
func (c *Config) text() string {
	var b strings.Builder
	line := func(name string, s *setting) {
		from := s.from
		if from == "" {
			from = "default"
		}
		fmt.Fprintf(&b, "%-36s # %s\n", name+" = "+s.value.String(), from)
	}
	table := ""
	for _, s := range c.given {
		in, name, tabled := strings.Cut(s.name, ".")
		switch {
		case s.onlyBy && s.from == "":
			continue
		case s.onlyBy: // no file may say it
			line("# "+s.name, s)
			continue
		case !tabled:
			line(s.name, s)
			continue
		case in != table:
			table = in
			fmt.Fprintf(&b, "\n[%s]\n", table)
		}
		line(name, s)
	}
	return b.String()
}
