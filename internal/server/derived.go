package server

import (
	"github.com/obstat/obstat/internal/index"
	"github.com/obstat/obstat/internal/rlog"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/trust"
)

// derived is the index as the engine is given it: it is opened when the engine
// first asks, since by then the engine has locked the log, and a second process
// is told who has that.
type derived struct {
	dir     string
	options index.Options
	*index.Index
}

func (d *derived) open() (err error) {
	if d.Index == nil {
		d.Index, err = index.Open(d.dir, d.options)
	}
	return err
}

// Covered implements rlog.Index. It is the first that a start asks.
func (d *derived) Covered() (size uint64, root merkle.Hash, err error) {
	if err := d.open(); err != nil {
		return 0, merkle.Hash{}, err
	}
	return d.Index.Covered()
}

// Reset implements rlog.Index. It is the first that a reindexing asks.
func (d *derived) Reset() error {
	if err := d.open(); err != nil {
		return err
	}
	return d.Index.Reset()
}

func (d *derived) close() error {
	if d == nil || d.Index == nil {
		return nil
	}
	return d.Index.Close()
}

// startup is what a start of the engine makes: the index and the registry.
type startup struct {
	engine   rlog.Config
	index    *derived // nil where the configuration has none
	registry *registries
}

// startup prepares a start.
func (cfg Config) startup() *startup {
	st := &startup{engine: cfg.Engine(), registry: &registries{}}
	st.engine.Recheck = st.registry.recheck
	if cfg.IndexDir != "" {
		st.index = &derived{dir: cfg.IndexDir, options: index.Options{
			Origin: cfg.Engines.Origin, Logger: cfg.Logger,
		}}
		st.engine.Index = st.index
	}
	pin := trust.Pin{Origin: cfg.Engines.Origin, Genesis: cfg.Engines.Genesis, Foreign: cfg.Policy.Foreign()}
	st.engine.Begin = func(r rlog.Reading) error {
		var x *index.Index
		if st.index != nil {
			x = st.index.Index
		}
		return st.registry.read(r, x, pin)
	}
	return st
}
