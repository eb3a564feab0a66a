package witness

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/report"
)

// Names in a witness's directory.
const (
	lockFile  = "LOCK"
	stateExt  = ".checkpoint" // behind the hash of an origin: the checkpoint cosigned last
	forksDir  = "forks"       // evidence against logs
	maxState  = checkpoint.MaxNote
	perClient = 10 // refusals a second that one address may cause, by default
)

// Config is what a witness is made of. FS, Signers and Logs are needed.
type Config struct {
	FS      durable.FS           // its directory; nobody else writes there
	Signers []*checkpoint.Signer // of TypeCosignature, one for each signature that is answered
	Logs    []Log                // which logs it cosigns

	// Refusals is how many refused requests a second one network address may
	// cause before it is answered 429 without being looked at; 0 means 10,
	// negative any number.
	Refusals float64

	Now    func() time.Time // nil means time.Now
	Logger *slog.Logger     // nil means silence
}

// Witness cosigns. Its methods may be called from many goroutines.
type Witness struct {
	cfg  Config
	lock durable.Lock

	mu      sync.Mutex
	logs    map[string]*state // guarded by mu; by origin
	byHash  map[string]*state // guarded by mu; by hex SHA-256 of the origin
	failure error             // guarded by mu; the reason of the fail-stop
	closed  bool              // guarded by mu

	clients clients
	counts  counts
}

// state is what is known of one log.
type state struct {
	origin string
	hash   string // hex SHA-256 of the origin

	mu      sync.Mutex
	keys    []checkpoint.VKey     // guarded by mu; none where the log was taken off the list
	limit   *rate.Limiter         // guarded by mu
	head    checkpoint.Checkpoint // guarded by mu; cosigned last; size 0 also where none was
	note    []byte                // guarded by mu; as stored and served; nil where none was
	time    uint64                // guarded by mu; when it was cosigned, Unix seconds
	lines   []byte                // guarded by mu; that cosigned it; nil where that was before Open
	kept    map[string]int        // guarded by mu; evidence written, by extension
	metrics LogStats              // guarded by mu
}

// Open reads what was cosigned before. Errors: WITNESS-CONFIG; WITNESS-LOCKED
// where another process has the directory; WITNESS-STATE where the file of a log
// is not what a witness wrote: a witness that forgets may cosign a rollback, so
// it does not start.
func Open(cfg Config) (*Witness, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Refusals == 0 {
		cfg.Refusals = perClient
	}
	if err := checkSigners(cfg.Signers); err != nil {
		return nil, err
	}
	lock, err := cfg.FS.Lock(lockFile)
	if err != nil {
		var held *durable.LockedError
		if errors.As(err, &held) {
			return nil, &report.Error{Code: report.CodeWitnessLocked, Where: cfg.FS.String(), Expected: "a directory that no process uses", Actual: held.Error()}
		}
		return nil, stateError(cfg.FS.String(), err)
	}
	w := &Witness{cfg: cfg, lock: lock, logs: map[string]*state{}, byHash: map[string]*state{}}
	w.clients.perSecond = rate.Limit(cfg.Refusals)
	if err := errors.Join(cfg.FS.Mkdir(forksDir), w.SetLogs(cfg.Logs)); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return w, nil
}

func checkSigners(signers []*checkpoint.Signer) error {
	if len(signers) == 0 {
		return &report.Error{Code: report.CodeWitnessConfig, Where: "signers", Expected: "at least one", Actual: "none"}
	}
	for i, s := range signers {
		if s.Key.Type == checkpoint.TypeEd25519 {
			return &report.Error{Code: report.CodeWitnessConfig, Where: "signer " + s.Key.Name, Expected: "a key that cosigns", Actual: "a log's key"}
		}
		for _, other := range signers[:i] {
			if other.Key.Name == s.Key.Name && other.Key.ID == s.Key.ID {
				return &report.Error{Code: report.CodeWitnessConfig, Where: "signer " + s.Key.Name, Expected: "each key once", Actual: "twice"}
			}
		}
	}
	return nil
}

// SetLogs replaces the list of logs. What is known of a log that is taken off it
// is kept, for the case that it comes back; until then it is not cosigned, and
// its checkpoint is still served. Nothing changes where the error is not nil.
func (w *Witness) SetLogs(logs []Log) error {
	fresh := map[string]*state{}
	for _, l := range logs {
		if fresh[l.Origin] != nil || l.Origin == "" || len(l.Keys) == 0 {
			return &report.Error{Code: report.CodeWitnessConfig, Where: "log " + l.Origin, Expected: "each origin once, with a key", Actual: fmt.Sprintf("%d keys", len(l.Keys))}
		}
		for _, k := range l.Keys {
			if slices.ContainsFunc(w.cfg.Signers, func(s *checkpoint.Signer) bool { return string(s.Key.Public) == string(k.Public) }) {
				return &report.Error{Code: report.CodeWitnessConfig, Where: "log " + l.Origin, Expected: "another key than the witness's own", Actual: k.String()}
			}
		}
		st, err := w.load(l)
		if err != nil {
			return err
		}
		fresh[l.Origin] = st
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for origin, st := range w.logs {
		if fresh[origin] == nil {
			st.setLog(Log{})
		}
	}
	for _, l := range logs {
		st := w.logs[l.Origin]
		if st == nil {
			st = fresh[l.Origin]
			w.logs[l.Origin], w.byHash[st.hash] = st, st
		}
		st.setLog(l)
	}
	return nil
}

func (st *state) setLog(l Log) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.keys, st.limit = l.Keys, perDay(l.PerDay)
}

// load reads what is known of a log, unless it is in memory.
func (w *Witness) load(l Log) (*state, error) {
	w.mu.Lock()
	st := w.logs[l.Origin]
	w.mu.Unlock()
	if st != nil {
		return st, nil
	}
	sum := sha256.Sum256([]byte(l.Origin))
	st = &state{origin: l.Origin, hash: hex.EncodeToString(sum[:]), kept: map[string]int{}}
	name := st.hash + stateExt
	note, err := durable.ReadFile(w.cfg.FS, name, maxState)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return st, w.countKept(st)
	case err != nil:
		return nil, stateError(name, err)
	}
	keys := slices.Clone(l.Keys)
	for _, s := range w.cfg.Signers {
		keys = append(keys, s.Key)
	}
	o, err := checkpoint.Open(note, keys)
	if err == nil && o.Origin != l.Origin {
		err = fmt.Errorf("it is of the log %q", o.Origin)
	}
	if err != nil {
		return nil, stateError(name, err)
	}
	st.head, st.note = o.Checkpoint, note
	for _, v := range o.Verified {
		st.time = max(st.time, v.Time)
	}
	return st, w.countKept(st)
}

// countKept counts the evidence that is there.
func (w *Witness) countKept(st *state) error {
	entries, err := w.cfg.FS.ReadDir(forksDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return stateError(forksDir, err)
	}
	for _, e := range entries {
		for _, ext := range []string{forkExt, refusedExt} {
			if strings.HasPrefix(e.Name(), st.hash) && strings.HasSuffix(e.Name(), ext) {
				st.kept[ext]++
			}
		}
	}
	return nil
}

// perDay is the limiter of a log: bursts of what an hour brings, and of ten at
// the least, since a log that comes back asks more often.
func perDay(n float64) *rate.Limiter {
	if n == 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(n/86400), int(max(10, math.Ceil(n/24))))
}

// log returns what is known of an origin.
func (w *Witness) log(origin string) (*state, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, &report.Error{Code: report.CodeWitnessStopped, Expected: "a witness that is open", Actual: "one that is ending"}
	}
	st := w.logs[origin]
	if st == nil {
		return nil, &report.Error{Code: report.CodeWitnessLogUnknown, Where: "origin", Expected: "a log on this witness's list", Actual: fmt.Sprintf("%q", origin)}
	}
	return st, nil
}

// Err is nil while the witness cosigns; then the reason why it does not, until
// it is opened again.
func (w *Witness) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failure
}

// fail ends cosigning: what is on disk is not known any more.
func (w *Witness) fail(where string, cause error) error {
	err := &report.Error{Code: report.CodeWitnessStopped, Where: where, Expected: "a durable write", Actual: cause.Error(), Fix: "mend the disk and start the witness again"}
	w.mu.Lock()
	first := w.failure == nil
	if first {
		w.failure = err
	}
	w.mu.Unlock()
	if first {
		w.cfg.Logger.Error("the witness stopped: nothing more is cosigned", "reason", err.Error())
	}
	return err
}

// Close ends cosigning and releases the directory.
func (w *Witness) Close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	states := make([]*state, 0, len(w.logs))
	for _, st := range w.logs {
		states = append(states, st)
	}
	w.mu.Unlock()
	for _, st := range states { // whoever writes has ended
		st.mu.Lock()
		st.keys = nil
		st.mu.Unlock()
	}
	return w.lock.Close()
}

func stateError(name string, cause error) error {
	return &report.Error{Code: report.CodeWitnessState, Where: name, Expected: "the checkpoint that was cosigned last", Actual: cause.Error(),
		Fix: "put the file back; a witness that forgets what it cosigned may cosign a rollback"}
}
