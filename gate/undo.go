package gate

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// outcomeRecord is what the undo of an outcome must know: as JSON, on this
// machine only.
type outcomeRecord struct {
	Version int    `json:"v"`
	Request string `json:"request"` // hex; names the escrowed inverse
	Delta   string `json:"delta"`   // hex of its BLAKE3
	// Wrote are the postconditions that the outcome recorded, each with what
	// opens its place; empty where it recorded none.
	Wrote []wroteRecord `json:"wrote,omitempty"`
	// Undone is the outcome of the undo that was committed, if one was.
	Undone string `json:"undone,omitempty"`
}

type wroteRecord struct {
	Path   []byte          `json:"path"`
	Key    string          `json:"key"`    // hex of the commitment to path
	Opens  json.RawMessage `json:"opens"`  // the disclosure of what was announced
	Expect string          `json:"expect"` // hex of the commitment that was recorded
}

func outcomeName(outcome receipt.CID) string { return path.Join("outcome", outcome.String()) }

func parseCID(s string) (receipt.CID, error) { return dagcbor.ParseCID(s) }

// settled keeps what follows from an outcome that stands in the log, and lets go
// of what was only for a crash before that.
func (s *Store) settled(judgment, outcome *receipt.Decoded, sealed *sealed) error {
	err := s.keepOutcome(judgment, outcome, sealed)
	if err == nil {
		err = s.dropIntent(judgment.CID)
	}
	return err
}

func (s *Store) keepOutcome(judgment, outcome *receipt.Decoded, sealed *sealed) error {
	out, ok := outcome.Statement.Receipt.(receipt.Outcome)
	if !ok {
		return nil
	}
	committed, ok := out.Disposition.(receipt.Committed)
	if !ok {
		return nil
	}
	if out.Compensates != nil {
		if err := s.markUndone(out.Compensates.Outcome, outcome.CID); err != nil {
			return err
		}
	}
	jd, ok := judgment.Statement.Receipt.(receipt.Judgment)
	if !ok {
		return nil
	}
	if _, held := jd.Inverse.(receipt.Escrowed); !held {
		return nil
	}
	d, err := durable.ReadFile(s.fs, inverseName(jd.Request.Digest), maxDelta)
	if err != nil {
		return err
	}
	rec := outcomeRecord{Version: 1, Request: jd.Request.Digest.String(), Delta: hexOf(preview.ContentOf(d))}
	for _, w := range committed.Wrote {
		x, err := sealed.wroteRecord(w)
		if err != nil {
			return err
		}
		rec.Wrote = append(rec.Wrote, x)
	}
	return s.putOutcome(outcome.CID, rec)
}

func (s *Store) putOutcome(outcome receipt.CID, rec outcomeRecord) error {
	b, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return durable.WriteFile(s.fs, outcomeName(outcome), b)
}

func (s *Store) outcome(outcome receipt.CID) (rec outcomeRecord, err error) {
	b, err := durable.ReadFile(s.fs, outcomeName(outcome), maxOutcome)
	if err != nil {
		return rec, err
	}
	if err := json.Unmarshal(b, &rec); err != nil {
		return rec, s.damaged(outcomeName(outcome), err)
	}
	return rec, nil
}

func (s *Store) markUndone(outcome, by receipt.CID) error {
	rec, err := s.outcome(outcome)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // of another store
	}
	if err != nil {
		return err
	}
	rec.Undone = by.String()
	return s.putOutcome(outcome, rec)
}

// wroteRecord finds the change whose postcondition w is.
func (s *sealed) wroteRecord(w receipt.Wrote) (wroteRecord, error) {
	for _, ch := range s.opened.Changes {
		if committed(ch.Path) != w.Key {
			continue
		}
		raw, _ := ch.Path.Item().Value.Raw()
		opens, err := ch.After.MarshalJSON()
		key := ch.Path.Commitment()
		return wroteRecord{
			Path: []byte(raw), Key: hex.EncodeToString(key[:]), Opens: opens, Expect: hex.EncodeToString(w.Value[:]),
		}, err
	}
	return wroteRecord{}, errors.New("a postcondition of a file that the request does not change")
}

// Undo puts files back as they were before another effect (spec/preview.md#undo).
// It is an effect of its own, judged like any other; it is stale where a file no
// longer is as that effect left it, and refused where it has been undone before.
type Undo struct {
	// Outcome is the statement of the outcome that is undone.
	Outcome receipt.CID
	files   *Files
	store   *Store
	wrote   []wroteRecord
}

// PlanUndo makes the effect that undoes an outcome, out of what was escrowed
// before it. The error is fs.ErrNotExist where this store has no inverse for it.
func (s *Store) PlanUndo(outcome receipt.CID) (*Undo, error) {
	rec, err := s.outcome(outcome)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("outcome %s has no inverse here: %w", outcome, err)
	}
	if err != nil {
		return nil, err
	}
	want, err := contentFromHex(rec.Delta)
	if err != nil {
		return nil, s.damaged(outcomeName(outcome), err)
	}
	request, err := hex.DecodeString(rec.Request)
	if err != nil || len(request) != len(receipt.Digest{}) {
		return nil, s.damaged(outcomeName(outcome), errors.New("it names no request"))
	}
	document, err := s.delta(receipt.Digest(request), want)
	if err != nil {
		return nil, err
	}
	d, err := parseDelta(document)
	if err != nil {
		return nil, err
	}
	changes, err := d.changes()
	if err != nil {
		return nil, err
	}
	return &Undo{Outcome: outcome, files: &Files{Root: string(d.Root), Changes: changes}, store: s, wrote: rec.Wrote}, nil
}

// CanUndo says whether the store holds what undoes an outcome, and no undo of it
// was committed.
func (s *Store) CanUndo(outcome receipt.CID) bool {
	rec, err := s.outcome(outcome)
	return err == nil && rec.Undone == ""
}

// Files is the change set that the undo is.
func (u *Undo) Files() *Files { return u.files }

// Freeze copies the change set.
func (u *Undo) Freeze() (Frozen, error) {
	f, err := u.files.Freeze()
	if err != nil {
		return nil, err
	}
	return &frozenUndo{frozenFiles: f.(*frozenFiles), outcome: u.Outcome, wrote: u.wrote, store: u.store}, nil
}

type frozenUndo struct {
	*frozenFiles
	outcome receipt.CID
	wrote   []wroteRecord // never changed
	store   *Store
	seen    receipt.Observation // what was looked at; nil before that
}

func (f *frozenUndo) Plan() Plan {
	return Plan{
		Intent:  preview.Undo{Outcome: f.outcome, Root: f.root, Changes: f.changes()},
		Effects: f.effects(),
	}
}

// Check looks at what the undone effect left behind, then refuses what was
// undone before, then compares.
func (f *frozenUndo) Check(ctx context.Context) error {
	if err := f.observe(); err != nil {
		f.seen = receipt.Unobservable{Code: codeAccessLost}
		return &FailedError{codeIOError, receipt.RestoredYes, err}
	}
	rec, err := f.store.outcome(f.outcome)
	if err != nil {
		return &FailedError{codeIOError, receipt.RestoredYes, err}
	}
	if rec.Undone != "" {
		return &RefusedError{codeAlreadyUndone, fmt.Errorf("outcome %s was undone by %s", f.outcome, rec.Undone)}
	}
	return f.frozenFiles.Check(ctx)
}

// observe compares every postcondition that was recorded with what is there now.
func (f *frozenUndo) observe() error {
	if len(f.wrote) == 0 {
		f.seen = receipt.Unobservable{Code: codeNotRecorded}
		return nil
	}
	t, err := openTree(f.root)
	if err != nil {
		return err
	}
	defer t.close()
	var all []receipt.Comparison
	for _, w := range f.wrote {
		c, err := w.compare(t)
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	receipt.SortSet(all)
	f.seen = receipt.Attested{Compared: all}
	return nil
}

// compare looks at the file.
func (w *wroteRecord) compare(t *tree) (receipt.Comparison, error) {
	now, _, err := t.look(string(w.Path))
	if err != nil {
		return receipt.Comparison{}, err
	}
	return w.against(now)
}

// against compares what was recorded with a content.
func (w *wroteRecord) against(now preview.Content) (c receipt.Comparison, err error) {
	key, err := hex.DecodeString(w.Key)
	if err != nil || len(key) != len(preview.Commitment{}) {
		return c, fmt.Errorf("key %q is no commitment", w.Key)
	}
	expect, err := hex.DecodeString(w.Expect)
	if err != nil || len(expect) != len(preview.Commitment{}) {
		return c, fmt.Errorf("postcondition %q is no commitment", w.Expect)
	}
	opens, err := preview.ParseDisclosure(w.Opens)
	if err != nil {
		return c, err
	}
	seen, err := opens.With(now.Value())
	return receipt.Comparison{
		Key: receipt.CommittedTo(preview.Commitment(key)), Expected: receipt.Commitment(expect), Seen: seen.Commitment(),
	}, err
}

// Compensates is what was seen before anything was put back.
func (f *frozenUndo) Compensates() *receipt.Compensates {
	if f.seen == nil {
		return nil
	}
	return &receipt.Compensates{Outcome: f.outcome, Observation: f.seen}
}

// compensated is what an undo that was interrupted had seen before it changed
// anything: the witnesses of its changes, which it had compared.
func (s *Store) compensated(rho preview.Rho) (*receipt.Compensates, error) {
	in, ok := rho.Preview().Intent.(preview.Undo)
	if !ok {
		return nil, nil
	}
	c := &receipt.Compensates{Outcome: in.Outcome, Observation: receipt.Unobservable{Code: codeNotRecorded}}
	rec, err := s.outcome(in.Outcome)
	if err != nil || len(rec.Wrote) == 0 {
		return c, err
	}
	var all []receipt.Comparison
	for _, w := range rec.Wrote {
		for _, ch := range in.Changes {
			if ch.Path != string(w.Path) {
				continue
			}
			x, err := w.against(ch.Before)
			if err != nil {
				return nil, err
			}
			all = append(all, x)
		}
	}
	receipt.SortSet(all)
	c.Observation = receipt.Attested{Compared: all}
	return c, nil
}
