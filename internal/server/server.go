package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/rlog"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// Config is what a server serves. FS, Signer, Policy and Engines are needed.
type Config struct {
	FS      durable.FS         // the log's directory, made by Create
	Signer  *checkpoint.Signer // the log's key
	Policy  *trust.Policy      // what verifiers of this log are given
	Engines *trust.Engines     // the same; in registry mode
	Public  bool               // reads are for everybody: web pages may read, under any host name
	Logger  *slog.Logger       // nil means silence

	// IndexDir is a directory for what is derived from the log, which can be made
	// again from it; without one, statements are kept in memory and the whole log
	// is read at every start.
	IndexDir string

	// Anchors are asked before anything is signed. A file outside FS, best on
	// another volume, holds the newest checkpoint and is kept while the server
	// serves; one that is missing cannot be asked, an empty one knows nothing yet.
	// An http or https URL is the monitoring prefix of a C2SP witness, which is
	// asked and never written to.
	Anchors []string
	// UnreachableAnchors is the operator's word for this start that the log may
	// go on although an anchor cannot be asked.
	UnreachableAnchors bool
}

// Server answers requests about one log. It is an http.Handler, safe for
// concurrent use.
type Server struct {
	origin   string
	log      *rlog.Log
	registry *registries
	index    *derived // nil where there is none
	logger   *slog.Logger
	limits   limits
	routes   []route   // never changed
	public   bool      // as Config.Public; never changed
	anchors  []*anchor // never changed
	metrics  *metrics

	witnesses []*witnessAnchor // never changed

	held      atomic.Int64 // bytes of bodies that are in memory or on their way
	changes   atomic.Int64 // the same, of registry statements
	receivers receivers
	misled    sync.Once // for the operator to be told once of HTTP-HOST
	buffers   sync.Pool // of *[]byte, for answers
	zippers   sync.Pool // of *gzip.Writer
}

// Engine is what the engine needs to know of the log, for whoever checks or
// copies it. Anchors are for Open.
func (cfg Config) Engine() rlog.Config {
	return rlog.Config{Origin: cfg.Engines.Origin, Signer: cfg.Signer, FS: cfg.FS, Statement: statementOf, Logger: cfg.Logger}
}

// Open recovers the log and makes it ready to serve. It fails with the errors
// of rlog.Open, those of a registry that does not follow from the pinned
// genesis, and those of a checkpoint that the policy's log key does not open:
// a server must not answer what its own trust files refute.
func Open(cfg Config) (*Server, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if err := registryMode(cfg.Engines); err != nil {
		return nil, err
	}
	st := cfg.startup()
	st.engine.UnreachableAnchors = cfg.UnreachableAnchors
	m := newMetrics()
	st.engine.Observe = m.group
	var anchors []*anchor
	var witnesses []*witnessAnchor
	for _, path := range cfg.Anchors {
		if isWitness(path) {
			w := newWitnessAnchor(path, cfg.Engines.Origin, cfg.Signer.Key)
			witnesses = append(witnesses, w)
			st.engine.Anchors = append(st.engine.Anchors, w.asked())
			continue
		}
		a := &anchor{path: path, origin: cfg.Engines.Origin, key: cfg.Signer.Key}
		anchors = append(anchors, a)
		st.engine.Anchors = append(st.engine.Anchors, a.asked())
	}
	l, err := rlog.Open(st.engine)
	if err != nil {
		return nil, errors.Join(err, st.index.close())
	}
	s := &Server{origin: cfg.Engines.Origin, log: l, registry: st.registry, index: st.index, logger: cfg.Logger, limits: defaultLimits(), routes: routes(), public: cfg.Public, anchors: anchors, witnesses: witnesses, metrics: m}
	m.registry.MustRegister(state{s})
	s.receivers.active = make(map[*http.ResponseController]struct{})
	if err := s.fits(cfg); err != nil {
		_ = s.Close() // nothing was submitted; err says why there is no server
		return nil, err
	}
	return s, nil
}

// Reindex makes the index in cfg.IndexDir again and returns the size of the log,
// which it then covers. No server may have the log open.
func Reindex(cfg Config) (size uint64, err error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if err := registryMode(cfg.Engines); err != nil {
		return 0, err
	}
	st := cfg.startup()
	defer func() { err = errors.Join(err, st.index.close()) }()
	return rlog.Reindex(st.engine)
}

// registryMode refuses a trust file of plain keys, which no log has.
func registryMode(engines *trust.Engines) error {
	if !engines.PlainMode() {
		return nil
	}
	return &report.Error{
		Code:     report.CodeTrustMode,
		Where:    "the log's own engine trust file",
		Expected: "a genesis line",
		Actual:   "key lines",
	}
}

// fits checks the log against the policy that its verifiers are given.
func (s *Server) fits(cfg Config) error {
	origin := cfg.Engines.Origin
	head, err := checkpoint.Open(s.log.Head().Note, cfg.Policy.Keys(origin))
	if err != nil {
		return fmt.Errorf("the log's checkpoint under the log's policy: %w", err)
	}
	if _, ok := cfg.Policy.SignedByLog(head); !ok {
		return &report.Error{
			Code:     report.CodeCheckpointUnsigned,
			Where:    "the log's checkpoint under the log's policy",
			Expected: "a signature by a log key of " + origin,
			Actual:   "none",
		}
	}
	return nil
}

// Close stops the log: what was accepted is answered, and the directory's lock
// is released. It returns the reason of a fail-stop, if there was one.
func (s *Server) Close() error { return errors.Join(s.log.Close(), s.index.close()) }

// Head is the newest signed checkpoint.
func (s *Server) Head() rlog.Head { return s.log.Head() }

// Err is nil while the log takes submissions; then the reason why it does not.
func (s *Server) Err() error { return s.log.Err() }

// Origin is the log's name.
func (s *Server) Origin() string { return s.origin }

// Stats is a reading of the engine.
func (s *Server) Stats() rlog.Stats { return s.log.Stats() }
