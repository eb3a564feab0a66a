package rlog

import (
	"time"

	"github.com/obstat/obstat/merkle"
)

// publisher works behind the sequencer: about once a second it writes the tiles
// and bundles of what is durable, then the checkpoint that they make servable;
// lets the index absorb the leaves; and drops segments that nothing needs any
// more. All its fields are its own.
type publisher struct {
	log       *Log
	published Head         // as on disk; without a note where there is none
	checked   merkle.Range // leaves that were read back from disk and hashed again
}

// absorbLeaves is the most that the index is handed at once.
const absorbLeaves = 16 * merkle.TileWidth

// run works until stop is closed; then once more, unless the log has failed.
func (p *publisher) run(every time.Duration, stop <-chan struct{}) {
	defer close(p.log.published)
	var tick <-chan time.Time
	if every > 0 {
		t := time.NewTicker(every)
		defer t.Stop()
		tick = t.C
	}
	for done := false; !done; {
		var answer chan error
		select {
		case <-tick:
		case <-p.log.kick:
		case answer = <-p.log.ask:
		case <-stop:
			done = true
		}
		err := p.log.failed()
		if err == nil {
			if err = p.step(); err != nil {
				err = stoppedBy(err)
				p.log.fail(err)
			}
		}
		p.log.progressed()
		if answer != nil {
			answer <- err
		}
	}
}

func (p *publisher) step() error {
	head := *p.log.head.Load()
	if p.published.Note == nil || head.Size > p.published.Size {
		if err := p.publish(head); err != nil {
			return err
		}
	}
	if err := absorb(p.log.cfg, p.log.contents, p.log.statements, head.Size); err != nil {
		return err
	}
	p.log.statements.release(head.Size)
	p.log.behind.Store(&head)
	return p.drop()
}

// publish writes what head covers, head last.
func (p *publisher) publish(head Head) error {
	l := p.log
	if err := l.site.grow(p.published.Size, head.Size, l.contents.tile, l.contents.entries); err != nil {
		return err
	}
	if err := l.site.setCheckpoint(head.Note); err != nil {
		return err
	}
	before := p.published.Size
	p.published = head
	l.contents.written(head.Size)
	l.onDisk.Store(head.Size)
	return l.site.removePartials(before, head.Size)
}

// absorb hands the index what it does not cover yet, up to size.
func absorb(cfg *Config, c *contents, st *statements, size uint64) error {
	if st.store == nil {
		return nil
	}
	var batch [][]byte
	return c.eachBundle(st.absorbed.Load(), size, func(first uint64, leaves [][]byte) error {
		batch = append(batch, leaves...)
		end := first + uint64(len(leaves))
		if len(batch) < absorbLeaves && end < size {
			return nil
		}
		root, err := merkle.Root(end, c.tree.node)
		if err != nil {
			return err
		}
		if err := st.store.Absorb(batch, st.of(end-uint64(len(batch)), end), end, root); err != nil {
			return ioError("write", "index", err)
		}
		batch = batch[:0]
		st.absorbed.Store(end)
		return nil
	})
}

// drop removes the oldest segments as long as all their entries stand in full
// bundles that were written, read back, and found to give the root that the
// segment holds. The name of each is gone for good before the next goes, so
// that no power cut leaves a hole.
func (p *publisher) drop() error {
	whole := p.published.Size - p.published.Size%merkle.TileWidth
	for {
		s, ok := p.log.oldest(whole)
		if !ok {
			return nil
		}
		if err := p.check(s); err != nil {
			return err
		}
		p.log.leaves.drop(s.number)
		name := segmentName(s.number)
		if err := p.log.cfg.FS.Remove(name); err != nil {
			return ioError("remove", name, err)
		}
		if err := p.log.cfg.FS.SyncDir(segmentsDir); err != nil {
			return ioError("sync directory", segmentsDir, err)
		}
		p.log.dropped()
	}
}

// check reads the bundles and tiles below the end of a segment back from disk.
func (p *publisher) check(s segmentEnd) error {
	c := siteChecker{site: p.log.site, range_: &p.checked}
	if err := c.to(s.size); err != nil {
		return err
	}
	if got := p.checked.Root(); got != s.root {
		return damaged(siteDir, 0, "entries of root "+s.root.String(), got.String())
	}
	return nil
}
