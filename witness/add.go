package witness

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// ConflictError is the answer to a request whose old size is not that of the
// checkpoint that was cosigned last (C2SP tlog-witness: 409).
type ConflictError struct {
	Size uint64 // cosigned last, 0 where none was
	old  uint64
}

func (e *ConflictError) Error() string { return e.Unwrap().Error() }

// Unwrap gives it its code, WITNESS-CONFLICT.
func (e *ConflictError) Unwrap() error {
	return &report.Error{Code: report.CodeWitnessConflict, Where: "old size", Expected: strconv.FormatUint(e.Size, 10), Actual: strconv.FormatUint(e.old, 10),
		Fix: "prove the growth from the size that was cosigned last"}
}

// Add takes the body of an add-checkpoint request and returns the lines that
// cosign its checkpoint, once they are durable. Errors, in the order in which
// they are asked: ADD-CHECKPOINT-MALFORMED, CHECKPOINT-MALFORMED,
// WITNESS-LOG-UNKNOWN, NOTE-… and CHECKPOINT-UNSIGNED and
// CHECKPOINT-SIGNATURE-INVALID, WITNESS-RATE, WITNESS-OLD-SIZE, a
// *ConflictError, CHECKPOINT-EMPTY-ROOT, PROOF-…, LOG-FORKED, WITNESS-STOPPED.
// Nobody who cannot sign as the log learns how far it was cosigned.
func (w *Witness) Add(body []byte) ([]byte, error) {
	a, err := checkpoint.ParseAddCheckpoint(body)
	if err != nil {
		return nil, err
	}
	text, ok := checkpoint.NoteText(a.Checkpoint)
	if !ok {
		return nil, &report.Error{Code: report.CodeCheckpointMalformed, Where: "checkpoint", Expected: "an empty line before its signatures", Actual: "none"}
	}
	head, empty := checkpoint.ParseBody(text)
	if empty != nil && report.CodeOf(empty) != report.CodeCheckpointEmptyRoot {
		return nil, empty
	}
	origin, _, _ := strings.Cut(text, "\n")
	st, err := w.log(origin)
	if err != nil {
		return nil, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	signed, err := st.signed(a.Checkpoint)
	if err != nil {
		return nil, err
	}
	if !st.limit.AllowN(w.cfg.Now(), 1) {
		return nil, &report.Error{Code: report.CodeWitnessRate, Where: "log " + origin, Expected: "as many checkpoints as its line of the log list says", Actual: "more"}
	}
	if empty != nil {
		return nil, empty
	}
	if err := w.extends(st, a, head); err != nil {
		return nil, err
	}
	return w.cosign(st, signed, head)
}

// signed opens the note under the log's keys and returns it with the lines that
// verified and no other. What cannot be read as signatures is no signature of
// anybody.
func (st *state) signed(note []byte) (*checkpoint.Note, error) {
	if len(st.keys) == 0 {
		return nil, &report.Error{Code: report.CodeWitnessLogUnknown, Where: "origin", Expected: "a log on this witness's list", Actual: fmt.Sprintf("%q", st.origin)}
	}
	n, err := checkpoint.ParseNote(note)
	if err != nil {
		return nil, err
	}
	verified, err := n.Verify(st.keys)
	if err != nil {
		return nil, err
	}
	out := &checkpoint.Note{Text: n.Text}
	for _, line := range n.Sigs {
		for _, v := range verified {
			if v.Key.Name == line.Name && v.Key.ID == line.ID {
				out.Sigs = append(out.Sigs, line)
			}
		}
	}
	return out, nil
}

// extends holds the checkpoint against the one that was cosigned last. The
// caller holds st.mu until it has stored it.
func (w *Witness) extends(st *state, a *checkpoint.AddCheckpoint, head checkpoint.Checkpoint) error {
	switch {
	case a.Old > head.Size:
		return &report.Error{Code: report.CodeWitnessOldSize, Where: "old size", Expected: fmt.Sprintf("at most %d, the size of the checkpoint", head.Size), Actual: strconv.FormatUint(a.Old, 10)}
	case a.Old != st.head.Size:
		return &ConflictError{Size: st.head.Size, old: a.Old}
	case a.Old == 0 && len(a.Proof) > 0:
		return &report.Error{Code: report.CodeProofLength, Where: "proof", Expected: "no hash: every tree extends the empty one", Actual: strconv.Itoa(len(a.Proof))}
	case a.Old == 0:
		return nil
	}
	err := merkle.VerifyConsistency(a.Old, head.Size, st.head.Root, head.Root, a.Proof)
	if err == nil {
		return nil
	}
	return w.accuse(st, a, head, err)
}

// accuse keeps what a validly signed checkpoint that does not extend the last one
// proves against its log, and returns the refusal.
func (w *Witness) accuse(st *state, a *checkpoint.AddCheckpoint, head checkpoint.Checkpoint, refusal error) error {
	f := bundle.Fork{Checkpoints: [2][]byte{st.note, a.Checkpoint}, Grown: a.Old < head.Size}
	root, ok := merkle.OlderRoot(a.Old, head.Size, head.Root, a.Proof)
	if a.Old == head.Size {
		root, ok = head.Root, true // the two roots are the evidence, whatever the proof
	}
	if !ok || root == st.head.Root {
		w.cfg.Logger.Warn("a log's checkpoint does not extend the last one by its proof", "origin", st.origin, "old", a.Old, "size", head.Size, "code", report.CodeOf(refusal))
		if report.CodeOf(refusal) == report.CodeProofInvalid && root != st.head.Root {
			w.keep(st, refusedExt, a.Bytes())
		}
		return refusal
	}
	if f.Grown {
		f.Root, f.Proof = root, a.Proof
	}
	w.cfg.Logger.Error("a log signed two histories", "origin", st.origin, "old", a.Old, "size", head.Size)
	w.keep(st, forkExt, f.Append(nil))
	st.metrics.Forks++
	return &report.Error{Code: report.CodeLogForked, Where: "root", Expected: fmt.Sprintf("%s at size %d, as it was cosigned", st.head.Root, a.Old), Actual: root.String(),
		Fix: "nothing: this log signed two histories, and the evidence is kept"}
}

// Evidence against a log: proof that it forked, and requests that were refused
// because their proof does not hold, which may or may not lead to one.
const (
	forkExt    = ".fork.json"
	refusedExt = ".add-checkpoint"

	// maxEvidence is how many of each are kept about one log: one proves it, and
	// whoever can sign as the log could make any number.
	maxEvidence = 8
)

// keep writes a file of evidence, once.
func (w *Witness) keep(st *state, ext string, b []byte) {
	if st.kept[ext] >= maxEvidence {
		return
	}
	sum := sha256.Sum256(b)
	name := fmt.Sprintf("%s/%s-%x%s", forksDir, st.hash, sum[:8], ext)
	if r, err := w.cfg.FS.Open(name); err == nil {
		_ = r.Close() // it was only looked for
		return
	}
	if err := durable.WriteFile(w.cfg.FS, name, b); err != nil {
		w.cfg.Logger.Error("evidence against a log could not be kept", "origin", st.origin, "file", name, "error", err)
		return
	}
	st.kept[ext]++
	w.cfg.Logger.Warn("evidence kept", "origin", st.origin, "file", name)
}

// cosign signs, stores, and only then returns the lines. The time never goes
// back: a cosignature says that no larger tree was seen by then.
func (w *Witness) cosign(st *state, signed *checkpoint.Note, head checkpoint.Checkpoint) ([]byte, error) {
	if err := w.Err(); err != nil {
		return nil, err
	}
	unix := uint64(max(w.cfg.Now().Unix(), 1))
	if unix <= st.time {
		if len(st.lines) > 0 && st.head.Body() == signed.Text {
			return st.lines, nil // the same second, or a clock that went back
		}
		unix = st.time
	}
	var lines []byte
	for _, s := range w.cfg.Signers {
		line, err := s.Sign(signed.Text, unix)
		if err != nil {
			return nil, err
		}
		signed.Sigs = append(signed.Sigs, line)
		lines = append(lines, line.Line()...)
	}
	note := signed.Bytes()
	name := st.hash + stateExt
	if err := durable.WriteFile(w.cfg.FS, name, note); err != nil {
		return nil, w.fail(name, err)
	}
	if head.Size > st.head.Size {
		st.metrics.Grown++
	}
	st.head, st.note, st.lines, st.time = head, note, lines, unix
	st.metrics.Cosigned++
	return lines, nil
}

// Checkpoint returns the checkpoint of a log that was cosigned last, with the
// log's signature and ours; nil where none was. hash is the lowercase hex SHA-256
// of the origin.
func (w *Witness) Checkpoint(hash string) []byte {
	w.mu.Lock()
	st := w.byHash[hash]
	w.mu.Unlock()
	if st == nil {
		return nil
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.note
}
