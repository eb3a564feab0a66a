package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/rlog"
	"github.com/obstat/obstat/report"
)

// Media types of a submitted envelope (spec/http.md#submit).
const (
	DSSEType = "application/vnd.dsse.envelope.v1+json" // DSSE JSON, under the name that cosign gives it
	JSONType = "application/json"                      // DSSE JSON too
	LeafType = "application/vnd.obstat.leaf.v1+cbor"   // the canonical leaf
	accepted = DSSEType + ", " + JSONType + ", " + LeafType
)

// RepeatHeader is "true" on the answer to a statement that stood in the log
// before.
const RepeatHeader = "Obstat-Repeat"

// RegistryHeader is, on an answer that is a bundle, the version of the registry in
// the tree that proves it. Whoever has the chain of that version needs no other.
const RegistryHeader = "Obstat-Registry-Version"

// MaxBody is how long a submitted body may be, in bytes: a payload of
// dsse.MaxPayload in base64, twice over for white space and foreign members.
const MaxBody = 128 << 10

// submit answers POST /v1/receipts with the bundle of the one envelope in the
// body (spec/http.md#submit).
func (s *Server) submit(w http.ResponseWriter, r *request) error {
	withChain, err := r.chain()
	if err != nil {
		return err
	}
	if err := r.wait(); err != nil {
		return err
	}
	since := time.Now()
	body, err := s.receive(w, r.Request, &s.held, s.limits.held)
	if err != nil {
		return err
	}
	defer body.done()
	since = s.metrics.stage(stageReceive, since)
	parse := parseJSON
	if body.leaf {
		parse = parseLeaf
	}
	sub, err := parse(body.bytes)
	if err != nil {
		return err
	}
	a, err := s.admit(sub)
	if err != nil {
		return err
	}
	since = s.metrics.stage(stageCheck, since)
	res, err := s.sequence(r.Request, a)
	if err != nil {
		return err
	}
	since = s.metrics.stage(stageSequence, since)
	defer s.metrics.stage(stageAnswer, since)
	envelope := a.envelope
	if res.Repeat {
		// Another valid signature over the same statement may have come; what
		// stands in the log is what is proven.
		if envelope, err = dsse.ParseLeaf(res.Leaf); err != nil {
			return err
		}
	}
	if res.Repeat {
		w.Header().Set(RepeatHeader, "true")
		return s.answer(w, envelope, res, http.StatusOK, withChain)
	}
	return s.answer(w, envelope, res, http.StatusCreated, withChain)
}

// wait reads what a submission waits for. What is durable is in the tree here,
// under a signed checkpoint, so the first two are one promise; a quorum of
// witnesses is nothing that this log can wait for.
func (r *request) wait() error {
	switch level := r.query["wait"]; level {
	case "", "durable", "integrated":
		return nil
	case "witnessed":
		return &report.Error{
			Code: report.CodeWitnessesNone, Expected: "a log that has witnesses cosign", Actual: "one that does not",
			Fix: "wait for integrated, which is what this log can promise",
		}
	}
	return badQuery(r.URL, "wait=durable, integrated or witnessed")
}

// posted is a body in memory. It counts until done.
type posted struct {
	bytes []byte
	leaf  bool // it is said to be a canonical leaf, and else DSSE JSON
	done  func()
}

// receive reads the body of a submission, of which at most most bytes are held
// at a time.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, held *atomic.Int64, most int64) (p posted, err error) {
	reserve := r.ContentLength
	if reserve < 0 {
		reserve = MaxBody
	}
	if reserve > MaxBody {
		return p, tooLarge(fmt.Sprint(reserve))
	}
	if p.leaf, err = isLeaf(r.Header); err != nil {
		return p, err
	}
	p.done = func() { held.Add(-reserve) }
	if n := held.Add(reserve); n > most {
		p.done()
		return p, &report.Error{
			Code:     report.CodeBusy,
			Expected: fmt.Sprintf("at most %d bytes of submissions at a time", most),
			Actual:   fmt.Sprint(n),
			Fix:      "submit the same envelope again later",
		}
	}
	if p.bytes, err = s.readBody(w, r); err != nil {
		p.done()
	}
	return p, err
}

// isLeaf tells the two forms of a body apart by its Content-Type.
func isLeaf(h http.Header) (bool, error) {
	for _, enc := range h.Values("Content-Encoding") {
		if !strings.EqualFold(enc, "identity") {
			return false, &report.Error{Code: report.CodeHTTPEncoding, Expected: "a body without content coding", Actual: fmt.Sprintf("%q", enc)}
		}
	}
	types := h.Values("Content-Type")
	if len(types) == 1 {
		switch types[0] {
		case LeafType:
			return true, nil
		case DSSEType, JSONType:
			return false, nil
		}
		// JSON is UTF-8; some clients say so.
		t, params, err := mime.ParseMediaType(types[0])
		charset, named := params["charset"]
		utf8 := !named || strings.EqualFold(charset, "utf-8")
		switch {
		case err != nil || len(params) > 1 || len(params) == 1 && !named:
		case t == LeafType && !named:
			return true, nil
		case (t == DSSEType || t == JSONType) && utf8:
			return false, nil
		}
	}
	return false, &report.Error{
		Code: report.CodeHTTPType, Where: "Content-Type",
		Expected: "one of " + accepted, Actual: fmt.Sprintf("%q", strings.Join(types, ", ")),
	}
}

// readBody reads the whole body, at most MaxBody bytes.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var body []byte
	err := s.receivers.read(w, func() (err error) {
		if r.ContentLength >= 0 {
			body = make([]byte, r.ContentLength)
			_, err = io.ReadFull(r.Body, body)
		} else {
			body, err = io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
		}
		if err == nil && len(body) > MaxBody {
			err = tooLarge("more")
		}
		return err
	})
	if err != nil {
		w.Header().Set("Connection", "close")
		return nil, s.unread(err)
	}
	return body, nil
}

// unread says why a body was not read.
func (s *Server) unread(err error) error {
	var slow net.Error
	var said *report.Error
	switch {
	case errors.As(err, &said):
		return said
	case !errors.As(err, &slow) || !slow.Timeout():
		return &report.Error{Code: report.CodeHTTPBody, Expected: "the whole body", Actual: fmt.Sprintf("%q", err.Error())}
	case s.receivers.ended():
		return &report.Error{Code: report.CodeLogClosed}
	}
	return &report.Error{Code: report.CodeHTTPTimeout, Expected: fmt.Sprintf("a body within %v", s.limits.read), Actual: "none, or part of one"}
}

func tooLarge(actual string) error {
	return &report.Error{
		Code:     report.CodeHTTPSize,
		Expected: fmt.Sprintf("a body of at most %d bytes, a payload of at most %d, a leaf of at most %d", MaxBody, dsse.MaxPayload, dsse.MaxLeaf),
		Actual:   actual,
	}
}

// sequence puts a into the log, or finds it there.
func (s *Server) sequence(r *http.Request, a *admitted) (rlog.Result, error) {
	p, err := s.enqueue(a)
	if err != nil {
		return rlog.Result{}, err
	}
	return p.wait(r.Context())
}

// place is where a statement stands or will stand.
type place struct {
	pending *rlog.Pending
	found   rlog.Result // where pending is nil
}

func (p place) wait(ctx context.Context) (rlog.Result, error) {
	if p.pending == nil {
		return p.found, nil
	}
	return p.pending.Wait(ctx)
}

// enqueue gives a its place. Whether the log goes on and the key may still sign
// is asked only of a new statement.
func (s *Server) enqueue(a *admitted) (place, error) {
	refusal := a.registry.ended()
	if _, ok := a.registry.MaySign(a.signer); refusal == nil && !ok {
		refusal = keyEnded(a.signer)
	}
	if refusal == nil {
		p, err := s.log.Enqueue(rlog.Item{
			Leaf: a.leaf, Statement: a.statement, RegistryVersion: a.registry.Version(),
		})
		return place{pending: p}, err
	}
	index, ok, err := s.log.Lookup(a.statement)
	if err != nil {
		return place{}, err
	}
	if !ok {
		return place{}, refusal
	}
	res, err := s.log.Prove(index)
	res.Repeat = true
	return place{found: res}, err
}

// answer writes the bundle.
func (s *Server) answer(w http.ResponseWriter, env *dsse.Envelope, res rlog.Result, status int, withChain bool) error {
	b := promise(env, res)
	registry := s.registry.durable(res.Head.Size)
	if withChain {
		var err error
		if b.Registry, err = registry.chain(s.log, res.Head.Size); err != nil {
			return err
		}
	}
	buf, ok := s.buffers.Get().(*[]byte)
	if !ok {
		buf = new([]byte)
	}
	*buf = b.Append((*buf)[:0])
	h := w.Header()
	h.Set("Content-Type", bundle.MediaType)
	h.Set("Content-Length", strconv.Itoa(len(*buf)))
	h.Set("Cache-Control", "no-store")
	h.Set(RegistryHeader, strconv.Itoa(registry.versionOf(res.Head.Size)))
	w.WriteHeader(status)
	_, _ = w.Write(*buf) // a client that is gone asks again and gets a repeat
	s.buffers.Put(buf)
	return nil
}

// promise is the bundle of a leaf under the log's own checkpoint.
func promise(env *dsse.Envelope, res rlog.Result) bundle.Bundle {
	return bundle.Bundle{
		Envelope: env.JSON(),
		Proof:    &checkpoint.Proof{Index: res.Index, Hashes: res.Proof, Checkpoint: res.Head.Note},
		Level:    bundle.Promise,
	}
}
