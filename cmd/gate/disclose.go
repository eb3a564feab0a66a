package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/obstat/obstat/client"
	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// cmdDisclose opens commitments of one statement: it lists what could be opened,
// or writes the statement's bundle with what was chosen.
func cmdDisclose(ctx context.Context, args []string, c console) (err error) {
	f := flags("disclose", helpDisclose, c)
	dir := f.String("dir", ".gate", "")
	if err := parse(f, args); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return usagef("disclose needs a statement, as exec and apply name it")
	}
	cid, err := dagcbor.ParseCID(f.Arg(0))
	if err != nil {
		return usagef("%q names no statement: %v", f.Arg(0), err)
	}
	s, err := begin(*dir, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	past, st, err := s.find(ctx, cid)
	if err != nil {
		return err
	}
	secret, err := past.Secret()
	if err != nil {
		return err
	}
	store, err := gate.OpenStore(filepath.Join(s.tree.String(), storeName))
	if err != nil {
		return err
	}
	all, err := store.Disclosures(st, secret)
	if err != nil {
		return err
	}
	if f.NArg() == 1 {
		for _, d := range all {
			item := d.Item()
			fmt.Fprintf(c.out, "%s\t%s\n", place(item), item.Value.String())
		}
		c.say("%d values can be disclosed; name those that others may see, or all", len(all))
		return nil
	}
	chosen, err := choose(all, f.Args()[1:])
	if err != nil {
		return err
	}
	rec, err := past.Bundle(ctx, s.client, cid)
	if err != nil {
		return err
	}
	b := *rec.Bundle
	b.Disclosures = chosen
	if _, err := c.out.Write(append(b.Append(nil), '\n')); err != nil {
		return err
	}
	c.say("disclosed: %s", strings.Join(f.Args()[1:], ", "))
	return nil
}

// place is how a value is named: its field, and its name where it has one.
func place(i preview.Item) string { return string(i.Field) + "/" + i.Name }

// choose picks disclosures by "all", by a field, or by a field and a name.
func choose(all []preview.Disclosure, names []string) ([]preview.Disclosure, error) {
	chosen := make([]preview.Disclosure, 0, len(all))
	used := make([]bool, len(names))
	for _, d := range all {
		item, take := d.Item(), false
		for i, name := range names {
			if name == "all" || name == string(item.Field) || name == place(item) {
				used[i], take = true, true
			}
		}
		if take {
			chosen = append(chosen, d)
		}
	}
	for i, ok := range used {
		if !ok {
			return nil, usagef("the statement commits to no %q of which the value is known", names[i])
		}
	}
	return chosen, nil
}

// find looks for a statement in every run.
func (s *session) find(ctx context.Context, cid receipt.CID) (*client.Past, *receipt.Decoded, error) {
	names, err := s.runs()
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		past, err := client.Look(s.runDir(name))
		if err != nil {
			return nil, nil, fmt.Errorf("run %s: %w", name, err)
		}
		for st, err := range past.Statements(ctx) {
			if err != nil {
				return nil, nil, fmt.Errorf("run %s: %w", name, err)
			}
			if st.CID == cid {
				return past, st, nil
			}
		}
	}
	return nil, nil, fmt.Errorf("no run of %s has the statement %s", s.tree, cid)
}

// runs are the names of all runs.
func (s *session) runs() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.tree.String(), runsName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		if begun, err := client.Exists(s.runDir(e.Name())); err != nil {
			return nil, err
		} else if begun {
			all = append(all, e.Name())
		}
	}
	return all, nil
}

func (s *session) runDir(name string) string {
	return filepath.Join(s.tree.String(), runsName, name)
}
