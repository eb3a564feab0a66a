package rlog

import (
	"time"

	"github.com/obstat/obstat/merkle"
)

// scrubber reads what was written long ago, so that damage is found while there
// are copies to mend it from. It only reports: damage to old entries is no
// reason to stop recording new ones. All its fields are its own.
type scrubber struct {
	log  *Log
	next uint64 // the bundle to read next
}

func (s *scrubber) run(every time.Duration, quit <-chan struct{}) {
	defer close(s.log.scrubbed)
	if every < 0 {
		return
	}
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-quit:
			return
		case <-t.C:
			s.step()
		}
	}
}

// step reads one bundle and the full tiles that it completes.
func (s *scrubber) step() {
	size := s.log.onDisk.Load()
	if s.next >= size/merkle.TileWidth {
		s.next = 0
	}
	if size < merkle.TileWidth {
		return
	}
	if err := s.check(s.next); err != nil {
		s.log.damaged(err)
	}
	s.next++
	s.log.scrubs.Add(1)
}

func (s *scrubber) check(bundle uint64) error {
	c := s.log.site
	_, entries, err := c.bundle(bundle, merkle.TileWidth)
	if err != nil {
		return err
	}
	root, err := merkle.TileRoot(merkle.AppendLeafTile(nil, entries))
	if err != nil {
		return err
	}
	want, err := s.log.tree.node(merkle.NodeID{Level: 8, Index: bundle})
	if err != nil {
		return err
	}
	if root != want {
		return damaged(c.name(merkle.EntriesPath(bundle, merkle.TileWidth)), 0, "entries under "+want.String(), root.String())
	}
	for level, index := uint(0), bundle; ; level, index = level+1, index/merkle.TileWidth {
		h, err := s.log.tree.node(merkle.NodeID{Level: 8 * (level + 1), Index: index})
		if err != nil {
			return err
		}
		if err := (&siteChecker{site: c}).tile(merkle.Tile{Level: level, Index: index, Width: merkle.TileWidth}, h); err != nil {
			return err
		}
		if index%merkle.TileWidth != merkle.TileWidth-1 {
			return nil
		}
	}
}

// damaged keeps the first damage that was found.
func (l *Log) damaged(err error) {
	l.mu.Lock()
	first := l.damage == nil
	if first {
		l.damage = err
	}
	l.mu.Unlock()
	if first {
		l.cfg.Logger.Error("old entries are damaged on disk", "error", err.Error())
	}
}
