package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/obstat/obstat/gate"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// maxProposal bounds what a proposal holds, in bytes.
const maxProposal = 64 << 20

// proposal is a change set that was judged and waits for consent, as it is kept
// in the gate's directory.
type proposal struct {
	judgment receipt.CID
	Judgment string           `json:"judgment"`
	Class    receipt.Class    `json:"class"`
	Origin   string           `json:"origin"`
	Changes  []proposedChange `json:"changes"`
}

type proposedChange struct {
	Path   []byte       `json:"path"`
	Before []byte       `json:"before,omitempty"` // BLAKE3; absent: there was nothing
	After  []byte       `json:"after"`
	Delete bool         `json:"delete,omitempty"`
	Mode   preview.Mode `json:"mode,omitempty"`
}

// cmdApply proposes changes, shows them, and applies them with consent.
func cmdApply(ctx context.Context, args []string, c console) (err error) {
	f := flags("apply", helpApply, c)
	var e said
	f.StringVar(&e.dir, "dir", ".gate", "")
	f.StringVar(&e.class, "class", "green", "")
	f.StringVar(&e.origin, "origin", "unknown", "")
	var remove list
	f.Var(&remove, "delete", "")
	later := f.Bool("later", false, "")
	run := f.Bool("run", false, "")
	if err := parse(f, args); err != nil {
		return err
	}
	class, origin, err := e.parse()
	if err != nil {
		return err
	}
	from, then := f.Arg(0), f.Args()
	if len(then) > 0 {
		then = then[1:]
	}
	if *run && from == "--" || len(then) > 0 && then[0] == "--" {
		return usagef("with --run, FOLDER comes first and the command behind it: gate apply --run FOLDER PROGRAM ARGUMENT…")
	}
	switch {
	case *run == (len(then) == 0):
		return usagef("a command stands behind the folder exactly with --run")
	case *run && *later:
		return usagef("--run needs the consent that --later leaves open")
	case from == "" && len(remove) > 0 && *later, from == "" && *later:
		return usagef("--later needs a folder to propose")
	}
	s, err := take(ctx, e.dir, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.end(ctx)) }()
	if *run && len(s.cfg.Check) == 0 {
		return usagef("--run needs a check in %s: what it runs on is then known to be clean", configName)
	}
	j, files, err := s.proposed(ctx, from, remove, class, origin)
	if err != nil {
		return err
	}
	if err := s.show(files); err != nil {
		return err
	}
	if *later {
		s.say("it waits for consent: gate apply")
		return nil
	}
	if err := s.consent(ctx, j); err != nil {
		return err
	}
	out, err := s.commit(ctx, j)
	if err := errors.Join(err, s.forget()); err != nil {
		return err
	}
	if err := s.check(ctx, class); err != nil {
		s.say("what was applied is not clean; gate undo %s takes it back", out.Statement.CID)
		return err
	}
	if *run {
		command, err := s.command(then)
		if err != nil {
			return err
		}
		return s.exec(ctx, command, class, origin)
	}
	return nil
}

// list is a flag that may stand several times.
type list []string

func (l *list) String() string     { return fmt.Sprint([]string(*l)) }
func (l *list) Set(v string) error { *l = append(*l, v); return nil }

// proposed is the proposal that is made of a folder, in the place of one that may
// be pending; without a folder, the pending one.
func (s *session) proposed(ctx context.Context, from string, remove []string, class receipt.Class, origin verdict.Origin) (*gate.Judged, *gate.Files, error) {
	if from == "" && len(remove) == 0 {
		return s.resume(ctx)
	}
	files, err := s.plan(from, remove)
	if err != nil {
		return nil, nil, err
	}
	if err := s.dropPending(ctx, (*gate.Judged).Replace); err != nil {
		return nil, nil, err
	}
	j, err := s.judge(ctx, s.request(files, class, origin))
	if err != nil {
		return nil, nil, err
	}
	return j, files, s.keep(j, files, class, origin)
}

// plan makes a change set of a folder: what stands below it is what the files of
// the root are to hold.
func (s *session) plan(from string, remove []string) (*gate.Files, error) {
	var changes []gate.FileChange
	if from != "" {
		folder, err := os.OpenRoot(from)
		if err != nil {
			return nil, err
		}
		defer folder.Close()
		left := int64(maxProposal)
		err = fs.WalkDir(folder.FS(), ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if !d.Type().IsRegular() {
				return fmt.Errorf("%s is no regular file", filepath.Join(from, name))
			}
			b, err := folder.ReadFile(name)
			if err != nil {
				return err
			}
			if left -= int64(len(b)); left < 0 {
				return fmt.Errorf("%s holds more than %d bytes", from, maxProposal)
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			ch := gate.FileChange{Path: name, After: b}
			if info.Mode().Perm()&0o111 != 0 {
				ch.Mode = preview.ModeProgram
			}
			changes = append(changes, ch)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, name := range remove {
		changes = append(changes, gate.FileChange{Path: name, Delete: true})
	}
	files, err := gate.PlanFiles(s.cfg.Root, changes...)
	if err != nil {
		return nil, err
	}
	return files, s.onlyChanges(files)
}

// onlyChanges leaves out what is as it is to be.
func (s *session) onlyChanges(f *gate.Files) error {
	kept := f.Changes[:0]
	for _, c := range f.Changes {
		after := preview.ContentOf(c.After)
		if c.Delete {
			after = preview.Content{}
		}
		if c.Before == after {
			if after.IsAbsent() || c.Mode == preview.ModeKept {
				continue
			}
			st, err := os.Stat(filepath.Join(f.Root, filepath.FromSlash(c.Path)))
			if err != nil {
				return err
			}
			if st.Mode().Perm() == 0o755 {
				continue
			}
		}
		kept = append(kept, c)
	}
	if f.Changes = kept; len(kept) == 0 {
		return errors.New("there is nothing to change")
	}
	return nil
}

// consent reads one line. yes consents, and anything else discards.
func (s *session) consent(ctx context.Context, j *gate.Judged) error {
	fmt.Fprint(s.err, "gate: apply this? yes, or anything else to discard it: ")
	yes, err := answer(s.in)
	fmt.Fprintln(s.err)
	if err == nil && yes && ctx.Err() == nil {
		return nil
	}
	out, e := j.Discard(context.WithoutCancel(ctx))
	if err := errors.Join(err, e, s.forget()); err != nil {
		return err
	}
	return s.tell(out)
}

// keep remembers a proposal until it is answered.
func (s *session) keep(j *gate.Judged, f *gate.Files, class receipt.Class, origin verdict.Origin) error {
	p := proposal{Judgment: j.Statement().CID.String(), Class: class, Origin: origin.Intent().String()}
	for _, c := range f.Changes {
		x := proposedChange{Path: []byte(c.Path), After: c.After, Delete: c.Delete, Mode: c.Mode}
		if sum, ok := c.Before.Sum(); ok {
			x.Before = sum[:]
		}
		p.Changes = append(p.Changes, x)
	}
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return durable.WriteFile(s.tree, pendingName, b)
}

// forget lets go of the proposal that was answered.
func (s *session) forget() error {
	err := s.tree.Remove(pendingName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// pending is the proposal that waits, nil where there is none.
func (s *session) pending() (*proposal, error) {
	b, err := durable.ReadFile(s.tree, pendingName, 4*maxProposal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var p proposal
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, fmt.Errorf("%s: %w", pendingName, err)
	}
	p.judgment, err = parseCID(p.Judgment)
	return &p, err
}

// resume takes the pending proposal up.
func (s *session) resume(ctx context.Context) (*gate.Judged, *gate.Files, error) {
	p, err := s.pending()
	if err != nil {
		return nil, nil, err
	}
	if p == nil {
		return nil, nil, usagef("nothing is pending: gate apply FOLDER")
	}
	stage, err := verdict.ParseStage(p.Origin)
	if err != nil {
		return nil, nil, err
	}
	files := &gate.Files{Root: s.cfg.Root}
	for _, c := range p.Changes {
		x := gate.FileChange{Path: string(c.Path), After: c.After, Delete: c.Delete, Mode: c.Mode}
		if len(c.Before) == 32 {
			x.Before = preview.ContentSum([32]byte(c.Before))
		}
		files.Changes = append(files.Changes, x)
	}
	j, err := s.gate.Resume(ctx, p.judgment, s.request(files, p.Class, verdict.Whole(stage)), s.run.Statements(ctx))
	return j, files, err
}

// dropPending settles a pending proposal that nobody will answer any more.
func (s *session) dropPending(ctx context.Context, how func(*gate.Judged, context.Context) (*gate.Outcome, error)) error {
	p, err := s.pending()
	if p == nil || err != nil {
		return err
	}
	j, _, err := s.resume(ctx)
	if err != nil {
		s.say("the pending proposal is settled: %v", err)
		return s.forget()
	}
	out, err := how(j, ctx)
	if err != nil {
		return err
	}
	s.say("the pending proposal %s: %s", p.Judgment, out.Refusal())
	return s.forget()
}
