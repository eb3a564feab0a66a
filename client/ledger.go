package client

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

// ledger is what a journal says about a run: what was said, what the log has
// answered, and which of its answers are still promises.
type ledger struct {
	name  receipt.Name  // of the run, and
	by    receipt.KeyID // its key; both as the first statement has them
	seq   uint64        // of the next statement
	prev  receipt.CID   // the statement before it
	tally receipt.RunClose
	ended bool // the run-close has been said

	lost     uint64 // places before seq whose statements were dropped, and not disclosed yet
	lostCode receipt.Code

	places []place    // every statement, in order
	queue  []*pending // those that the log has not answered
	queued int64      // bytes of their leaves

	answered  uint64    // statements that have an answer: the first of places
	fulfilled uint64    // of those: the answers that are promises no more
	promises  []promise // the others, in the order of the answers
	newest    []byte    // signed checkpoint of the largest tree that the log has shown
	top       tree      // of that checkpoint
}

// place is where a statement stands in the journal.
type place struct {
	seq uint64
	off int64
	n   int
	log string // whose answer it has; empty while it has none
}

// pending is a statement on its way to the log.
type pending struct {
	seq      uint64
	kept     bool // nobody waits for the answer
	envelope *dsse.Envelope
	decoded  *receipt.Decoded
	size     int64     // of its leaf
	end      int64     // of its record
	answer   *Recorded // once there is one
}

// promise is an answer by the log that no checkpoint under the whole policy
// stands for yet.
type promise struct {
	seq, index uint64
	tree             // that the log has promised
	off        int64 // where the signed checkpoint stands in the journal
	n          int
}

// tree is what a signed checkpoint is about.
type tree struct {
	origin string
	size   uint64
}

// replay takes in one record.
func (l *ledger) replay(r record) error {
	switch r.kind {
	case kindRecorded, kindKept:
		return l.replayStatement(r)
	case kindLost:
		l.lose(receipt.Code(r.body))
	case kindAnswered:
		if len(r.body) < 16 || len(l.queue) == 0 || binary.BigEndian.Uint64(r.body) != l.queue[0].seq {
			return damaged(r.off, "the answer to the first statement without one", "another")
		}
		return l.answer(binary.BigEndian.Uint64(r.body[8:]), r.body[16:], r.off+16)
	case kindWitness:
		if len(r.body) < 8 {
			return damaged(r.off, "a size and a checkpoint", "less")
		}
		return l.fulfil(binary.BigEndian.Uint64(r.body), r.body[8:])
	}
	return nil
}

func (l *ledger) replayStatement(r record) error {
	e, err := dsse.ParseLeaf(r.body)
	if err != nil {
		return fmt.Errorf("%s, offset %d: %w", journalName, r.off, err)
	}
	d, err := receipt.Decode(e.Payload)
	if err != nil {
		return fmt.Errorf("%s, offset %d: %w", journalName, r.off, err)
	}
	c := d.Statement.Call
	if len(l.places) == 0 {
		l.name, l.by = c.Run, c.By
	}
	if c.Run != l.name || c.By != l.by || c.Seq != l.seq || c.Prev != l.prev || l.ended {
		return damaged(r.off, fmt.Sprintf("run %s, seq %d, after %s", l.name, l.seq, l.prev),
			fmt.Sprintf("run %s, seq %d, after %s", c.Run, c.Seq, c.Prev))
	}
	l.said(&pending{
		seq: c.Seq, kept: r.kind == kindKept, envelope: e, decoded: d, size: int64(len(r.body)), end: r.off + int64(len(r.body)),
	}, r.off)
	return nil
}

// said moves on behind p, whose leaf stands at off.
func (l *ledger) said(p *pending, off int64) {
	l.seq, l.prev = p.seq+1, p.decoded.CID
	l.tally.Count(p.decoded.Statement.Receipt)
	switch p.decoded.Statement.Receipt.Kind() {
	case receipt.KindRunClose:
		l.ended = true
	case receipt.KindGap:
		l.lost, l.lostCode = 0, ""
	}
	l.places = append(l.places, place{seq: p.seq, off: off, n: int(p.size)})
	l.queue = append(l.queue, p)
	l.queued += p.size
}

// lose moves on behind a place that has no statement.
func (l *ledger) lose(code receipt.Code) {
	l.seq++
	l.lost++
	l.lostCode = code
}

// answer takes in the answer to the first statement that has none: the log holds
// it at index, under the signed checkpoint note, which stands at off.
func (l *ledger) answer(index uint64, note []byte, off int64) error {
	of, err := treeOf(note)
	if err != nil {
		return fmt.Errorf("%s, offset %d: %w", journalName, off, err)
	}
	p := l.queue[0]
	l.queue[0] = nil // or it lives as long as the array
	l.queue = l.queue[1:]
	l.queued -= p.size
	l.see(of, note)
	of.origin = l.top.origin // one string, and not one for each answer
	l.places[l.answered].log = of.origin
	l.answered++
	l.promises = append(l.promises, promise{p.seq, index, of, off, len(note)})
	return nil
}

// promisesOf are those of one log that are not fulfilled.
func (l *ledger) promisesOf(origin string) []promise {
	return slices.DeleteFunc(slices.Clone(l.promises), func(p promise) bool { return p.origin != origin })
}

// fulfil takes in a checkpoint that meets the policy, of a tree that extends
// those of every promise of its log up to size.
func (l *ledger) fulfil(size uint64, note []byte) error {
	of, err := treeOf(note)
	if err != nil {
		return err
	}
	l.see(of, note)
	var left []promise
	for _, p := range l.promises {
		if p.size > size || p.origin != of.origin {
			left = append(left, p)
		}
	}
	l.fulfilled += uint64(len(l.promises) - len(left))
	l.promises = left
	return nil
}

// see takes in a checkpoint. One of another log than those before is of the log
// that goes on where that one ended.
func (l *ledger) see(of tree, note []byte) {
	if of.origin != l.top.origin || of.size > l.top.size {
		l.top, l.newest = of, note
	}
}

func treeOf(note []byte) (tree, error) {
	n, err := checkpoint.ParseNote(note)
	if err != nil {
		return tree{}, err
	}
	c, err := checkpoint.ParseBody(n.Text)
	return tree{c.Origin, c.Size}, err
}

// need is the end of the last statement without an answer.
func (l *ledger) need() int64 {
	if len(l.queue) == 0 {
		return 0
	}
	return l.queue[len(l.queue)-1].end
}

// Standing is how a run stands.
type Standing struct {
	Run        receipt.Name
	Statements uint64 // that were said, gaps and run-close included
	Closed     bool   // the run-close has been said

	Unanswered uint64 // statements that the log has not answered yet
	Spooled    int64  // bytes of those
	Lost       uint64 // statements that were dropped and are not disclosed yet

	Fulfilled uint64 // answers for which a checkpoint under the whole policy stands
	Promises  uint64 // answers for which the log's word stands alone
	Oldest    uint64 // index of the leaf of the oldest of these
	Bygone    uint64 // of these: by a log that ended since, so nobody can keep them any more
	Evidence  []string
}

func (l *ledger) standing() Standing {
	s := Standing{
		Run: l.name, Statements: uint64(len(l.places)), Closed: l.ended, Unanswered: uint64(len(l.queue)), Spooled: l.queued, Lost: l.lost,
		Fulfilled: l.fulfilled, Promises: uint64(len(l.promises)),
	}
	if len(l.promises) > 0 {
		s.Oldest = l.promises[0].index
		s.Bygone = s.Promises - uint64(len(l.promisesOf(l.top.origin)))
	}
	return s
}

// wrongRun says that a directory is another run's.
func wrongRun(expected, actual string) error {
	return &report.Error{Code: report.CodeRunStore, Where: journalName, Expected: expected, Actual: actual}
}
