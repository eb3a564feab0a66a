package rlog

import (
	"runtime"
	"time"

	"github.com/obstat/obstat/internal/dagcbor"
)

type statementKey = dagcbor.CID

// sequencer is the one goroutine that gives leaves their places, signs and
// writes. All its fields are its own.
type sequencer struct {
	log    *Log
	writer writer

	version uint64                   // the registry version after the last registry leaf it sequenced; 0 before
	seen    map[statementKey]*waiter // statements of the group at work
	batch   []*waiter
	group   []*waiter // of batch: new leaves, in order
	twins   []*waiter // of batch: the same statement as one of group
	cids    []dagcbor.CID
}

// run works until the queue is closed and empty. Everything taken is answered.
func (s *sequencer) run() {
	defer close(s.log.ended)
	for {
		s.log.keepClose()
		// Callers that were just woken, or that came meanwhile, go first: where
		// there is one processor, the sync held it, and each would make a group of
		// its own otherwise.
		runtime.Gosched()
		s.batch = s.log.queue.take(s.batch[:0], s.log.cfg.GroupItems, s.log.cfg.GroupBytes)
		if len(s.batch) == 0 {
			return
		}
		if err := s.log.failed(); err != nil {
			for _, w := range s.batch {
				w.answer(0, false, nil, err)
			}
			continue
		}
		s.admit()
		if len(s.group) > 0 {
			s.commit()
		}
		clear(s.batch)
		clear(s.group)
		clear(s.twins)
		clear(s.seen)
	}
}

// admit answers what needs no leaf and leaves the rest in group and twins.
func (s *sequencer) admit() {
	s.group, s.twins = s.group[:0], s.twins[:0]
	head := s.log.head.Load()
	for _, w := range s.batch {
		index, ok, err := s.log.statements.again(w.item.Statement, w.seen)
		if err != nil {
			w.answer(0, false, nil, ioError("read", "index", err))
			continue
		}
		if ok {
			w.answer(index, true, head, nil)
			continue
		}
		if s.seen[w.item.Statement] != nil {
			s.twins = append(s.twins, w)
			continue
		}
		if err := s.recheck(w, head.Size+uint64(len(s.group))); err != nil {
			w.answer(0, false, nil, err)
			continue
		}
		w.index = head.Size + uint64(len(s.group))
		s.seen[w.item.Statement] = w
		s.group = append(s.group, w)
	}
}

// recheck asks the hook where the caller's own check may be out of date.
func (s *sequencer) recheck(w *waiter, index uint64) error {
	if s.log.cfg.Recheck == nil || !w.item.Registry && w.item.RegistryVersion >= s.version {
		return nil
	}
	if err := s.log.cfg.Recheck(w.item, index); err != nil {
		return err
	}
	if w.item.Registry {
		s.version = w.item.RegistryVersion + 1
	}
	return nil
}

// commit makes the group durable and answers it: sign, one write, one sync,
// publish, release.
func (s *sequencer) commit() {
	r, head, err := s.prepare()
	if err == nil {
		err = s.write(r)
	}
	if err == nil {
		s.release(head)
		return
	}
	s.log.fail(err)
	for _, w := range s.group {
		w.answer(0, false, nil, err)
	}
	for _, w := range s.twins {
		w.answer(0, false, nil, err)
	}
}

// release publishes a group and wakes its callers.
func (s *sequencer) release(head *Head) {
	l := s.log
	s.cids = s.cids[:0]
	for _, w := range s.group {
		s.cids = append(s.cids, w.item.Statement)
	}
	l.statements.add(head.Size-uint64(len(s.group)), s.cids)
	l.head.Store(head)
	l.groups.Add(1)
	for _, w := range s.group {
		w.answer(w.index, false, head, nil)
	}
	for _, w := range s.twins {
		w.answer(s.seen[w.item.Statement].index, true, head, nil)
	}
}

// prepare makes the group's record and signs its checkpoint, which nobody sees
// before write. After an error of either neither must be called again.
func (s *sequencer) prepare() (*record, *Head, error) {
	l := s.log
	r := &record{leaves: make([][]byte, 0, len(s.group))}
	before := l.head.Load()
	bytes := before.bytes
	r.first = before.Size
	for _, w := range s.group {
		bytes += uint64(len(w.item.Leaf))
		l.tree.append(w.hash)
		r.leaves = append(r.leaves, w.item.Leaf)
	}
	r.group, r.prev = s.writer.group+1, s.writer.prev
	r.size, r.root = l.tree.edge.Size(), l.tree.edge.Root()
	var err error
	if r.note, err = sign(l.cfg, r.size, r.root); err != nil {
		return nil, nil, stopped("sign", "checkpoint", err)
	}
	return r, &Head{Size: r.size, Root: r.root, Note: r.note, bytes: bytes}, nil
}

// write makes the record durable.
func (s *sequencer) write(r *record) error {
	l := s.log
	begin := time.Now()
	segment := s.writer.number
	at, op, name, err := s.writer.append(r, l.cfg.SegmentBytes)
	if err != nil {
		return stopped(op, name, err)
	}
	took := time.Since(begin)
	l.syncNanos.Add(int64(took))
	if l.cfg.Observe != nil {
		l.cfg.Observe(Group{Leaves: len(r.leaves), Sync: took})
	}
	if s.writer.number != segment {
		before := l.head.Load()
		l.leaves.open(s.writer.number, s.writer.file)
		l.rolled(segmentEnd{segment, before.Size, before.Root})
	}
	l.leaves.set(s.writer.number, at, r)
	return nil
}
