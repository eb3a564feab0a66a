package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/rlog"
	"github.com/obstat/obstat/report"
)

// Media types of a batch (spec/http.md#batch).
const (
	LinesType    = "application/x-ndjson" // DSSE JSON, an envelope a line; and the type of the answer
	SequenceType = "application/cbor-seq" // canonical leaves, RFC 8742
)

// Bounds of one batch that is on its way. Whoever sends faster than the log
// becomes durable is read more slowly.
const (
	batchItems = 512     // between the reading of an item and the end of its answer
	batchBytes = 4 << 20 // held for the items of one batch
)

// batchItem is one envelope of a batch on its way: read, then checked, beside
// others, then given its place in the log in the order of the stream, then
// answered in that order.
type batchItem struct {
	number  int
	body    []byte
	err     error // of reading, checking or enqueueing; the item's alone
	checked chan struct{}
	admitted
	place  place
	placed chan struct{}
}

// batch answers POST /v1/receipts:batch: a stream of results for a stream of
// envelopes, in its order, while it comes (spec/http.md#batch).
func (s *Server) batch(w http.ResponseWriter, r *request) error {
	next, err := batchForm(r.Header)
	if err != nil {
		return err
	}
	if err := r.wait(); err != nil {
		return err
	}
	each, err := r.eachBundle()
	if err != nil {
		return err
	}
	withChain, err := r.chain()
	if err != nil {
		return err
	}
	if n := s.held.Add(batchBytes); n > s.limits.held {
		s.held.Add(-batchBytes)
		return &report.Error{Code: report.CodeBusy, Expected: fmt.Sprintf("at most %d bytes of submissions at a time", s.limits.held), Actual: fmt.Sprint(n), Fix: "send the same batch again later"}
	}
	defer s.held.Add(-batchBytes)
	if err := s.log.Err(); err != nil {
		return err
	}
	c := http.NewResponseController(w)
	_ = c.EnableFullDuplex() // HTTP/2 has it anyway, a recorder of tests does not need it
	if r.Header.Get("Expect") != "" {
		w.WriteHeader(http.StatusContinue) // or the answer that begins now would be taken for a refusal
	}
	h := w.Header()
	h.Set("Content-Type", LinesType)
	h.Set("Cache-Control", "no-store")
	// A stream that is cut leaves bytes behind that must not be taken for the
	// next request.
	h.Set("Connection", "close")
	h.Set("X-Accel-Buffering", "no") // a proxy that waits for the end would stop a client that waits for results
	w.WriteHeader(http.StatusOK)
	_ = c.Flush()

	b := &batchRun{server: s, request: r.Request, window: newBatchWindow(), items: make(chan *batchItem, batchItems)}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	read := make(chan error, 1)
	go func() { read <- b.read(ctx, w, next) }()
	ended, err := b.answer(ctx, w, c, each, withChain)
	readErr := <-read
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return b.end(w, c, ended, readErr)
}

// batchForm is how items are told apart, by Content-Type.
func batchForm(h http.Header) (func(*bufio.Reader) (body []byte, leaf bool, err error), error) {
	for _, enc := range h.Values("Content-Encoding") {
		if enc != "identity" {
			return nil, &report.Error{Code: report.CodeHTTPEncoding, Expected: "a body without content coding", Actual: fmt.Sprintf("%q", enc)}
		}
	}
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	switch {
	case err == nil && t == LinesType:
		return nextLine, nil
	case err == nil && t == SequenceType:
		return nextLeaf, nil
	}
	return nil, &report.Error{Code: report.CodeHTTPType, Where: "Content-Type", Expected: LinesType + " or " + SequenceType, Actual: fmt.Sprintf("%q", h.Get("Content-Type"))}
}

// eachBundle reads whether results carry their bundles.
func (r *request) eachBundle() (bool, error) {
	switch r.query["bundle"] {
	case "", "none":
		return false, nil
	case "each":
		return true, nil
	}
	return false, badQuery(r.URL, "bundle=none or each")
}

// itemError is a fault of one item behind which the next can be read.
type itemError struct{ error }

// nextLine reads a line that is not empty.
func nextLine(r *bufio.Reader) (body []byte, leaf bool, err error) {
	for {
		line, err := r.ReadSlice('\n')
		long := false
		for errors.Is(err, bufio.ErrBufferFull) {
			long = true
			_, err = r.ReadSlice('\n')
		}
		switch {
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, false, itemError{tooLarge("a longer line")}
		case err != nil && !errors.Is(err, io.EOF):
			return nil, false, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return bytes.Clone(line), false, nil
		}
		if err != nil {
			return nil, false, io.EOF
		}
	}
}

// nextLeaf reads one well-formed CBOR item, canonical or not; that is for
// dsse.ParseLeaf. Behind bytes that are none, no item can be found.
func nextLeaf(r *bufio.Reader) (body []byte, leaf bool, err error) {
	for want := 1; ; {
		have, err := r.Peek(want)
		if len(have) == 0 && err != nil {
			return nil, true, err // io.EOF at the end of an item is the end
		}
		have, _ = r.Peek(r.Buffered())
		var item cbor.RawMessage
		rest, e := cbor.UnmarshalFirst(have, &item)
		switch {
		case e == nil:
			_, _ = r.Discard(len(have) - len(rest))
			if len(item) > dsse.MaxLeaf {
				return nil, true, itemError{tooLarge(fmt.Sprint(len(item)))}
			}
			return item, true, nil
		case !errors.Is(e, io.ErrUnexpectedEOF):
			return nil, true, &report.Error{Code: report.CodeLeafForm, Expected: "one well-formed CBOR item after the other", Actual: "bytes that are none, and behind them nothing can be found"}
		case err != nil: // and nothing more comes
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, true, err
		case len(have) >= r.Size():
			return nil, true, tooLarge("a longer item, and behind it nothing can be found")
		}
		want = len(have) + 1
	}
}

// batchRun is one batch.
type batchRun struct {
	server  *Server
	request *http.Request
	window  *batchWindow
	items   chan *batchItem // in order; closed when nothing more is read
}

// read reads items until the end of the stream, and has each checked beside the
// others. The error is why the stream ended before its end.
func (b *batchRun) read(ctx context.Context, w http.ResponseWriter, next func(*bufio.Reader) ([]byte, bool, error)) error {
	s := b.server
	defer close(b.items)
	in := bufio.NewReaderSize(b.request.Body, MaxBody)
	workers := make(chan struct{}, runtime.GOMAXPROCS(0))
	return s.receivers.read(w, func() error {
		for number := 0; ; number++ {
			s.receivers.extend(w, s.limits.read)
			body, leaf, err := next(in)
			var own itemError
			switch {
			case errors.Is(err, io.EOF) && body == nil:
				return nil
			case errors.As(err, &own):
			case err != nil:
				return err
			}
			if !b.window.enter(len(body)) {
				return ctx.Err()
			}
			it := &batchItem{number: number, body: body, checked: make(chan struct{}), placed: make(chan struct{})}
			select {
			case workers <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			go func() {
				defer func() { <-workers; close(it.checked) }()
				if it.err = own.error; it.err == nil {
					it.err = b.check(it, leaf)
				}
			}()
			b.items <- it // has room for every item of the window
		}
	})
}

func (b *batchRun) check(it *batchItem, leaf bool) error {
	parse := parseJSON
	if leaf {
		parse = parseLeaf
	}
	sub, err := parse(it.body)
	if err != nil {
		return err
	}
	a, err := b.server.admit(sub)
	if err == nil {
		it.admitted = *a
	}
	return err
}

// batchTotals is the last line of an answer.
type batchTotals struct {
	Items    int      `json:"items"`
	Created  int      `json:"created"`
	Repeated int      `json:"repeated"`
	Refused  int      `json:"refused"`
	Problem  *problem `json:"problem,omitempty"` // why the stream ended before its end
}

// answer gives every item its place and writes its result, both in order. The
// error is that of writing.
func (b *batchRun) answer(ctx context.Context, w http.ResponseWriter, c *http.ResponseController, each, withChain bool) (t batchTotals, err error) {
	placed := make(chan *batchItem, batchItems)
	go func() {
		defer close(placed)
		for it := range b.items {
			<-it.checked
			if it.err == nil {
				it.place, it.err = b.enqueue(ctx, &it.admitted)
			}
			placed <- it
		}
	}()
	out := bufio.NewWriterSize(w, 64<<10)
	var line []byte
	for it := range placed {
		if err == nil {
			_ = c.SetWriteDeadline(time.Now().Add(b.server.limits.write))
			line = b.result(ctx, line[:0], it, &t, each, withChain)
			_, err = out.Write(line)
			if err == nil && len(placed) == 0 { // somebody may wait for it before the next item
				err = flush(c, out, b.server.limits.write)
			}
			if err != nil { // a client that takes no answers is read no further
				b.window.close()
				_ = c.SetReadDeadline(time.Now())
			}
		}
		b.window.leave(len(it.body))
	}
	return t, err
}

func flush(c *http.ResponseController, out *bufio.Writer, within time.Duration) error {
	_ = c.SetWriteDeadline(time.Now().Add(within))
	if err := out.Flush(); err != nil {
		return err
	}
	return c.Flush()
}

// enqueue waits where the queue is full: this stream can be read more slowly, and
// what it holds is bounded.
func (b *batchRun) enqueue(ctx context.Context, a *admitted) (place, error) {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		p, err := b.server.enqueue(a)
		if report.CodeOf(err) != report.CodeBusy || err == nil {
			return p, err
		}
		select {
		case <-ctx.Done():
			return place{}, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// result appends the line of an item.
func (b *batchRun) result(ctx context.Context, line []byte, it *batchItem, t *batchTotals, each, withChain bool) []byte {
	s := b.server
	t.Items++
	var res rlog.Result
	if it.err == nil {
		// What has its place becomes durable, whether somebody waits for it or not.
		res, it.err = it.place.wait(context.WithoutCancel(ctx))
	}
	var proof []byte
	if it.err == nil && each {
		proof, it.err = s.bundleOf(&it.admitted, res, withChain)
	}
	line = append(line, `{"item":`...)
	line = strconv.AppendInt(line, int64(it.number), 10)
	if it.err != nil {
		t.Refused++
		e, status := s.said(b.request, it.err)
		s.metrics.item(status, e.Code)
		line = append(line, `,"status":`...)
		line = strconv.AppendInt(line, int64(status), 10)
		text, err := json.Marshal(problemOf(e, status))
		if err != nil {
			text = []byte("{}")
		}
		line = append(append(line, `,"problem":`...), text...)
		return append(line, "}\n"...)
	}
	status := http.StatusCreated
	if res.Repeat {
		status = http.StatusOK
		t.Repeated++
	} else {
		t.Created++
	}
	s.metrics.item(status, "")
	line = append(line, `,"status":`...)
	line = strconv.AppendInt(line, int64(status), 10)
	line = append(line, `,"index":`...)
	line = strconv.AppendUint(line, res.Index, 10)
	line = append(line, `,"statement":"`...)
	line = append(line, it.statement.String()...)
	line = append(line, '"')
	if res.Repeat {
		line = append(line, `,"repeat":true`...)
	}
	if proof != nil {
		line = append(append(line, `,"bundle":`...), bytes.TrimSpace(proof)...)
	}
	return append(line, "}\n"...)
}

// bundleOf is what the answer to a single submission would have been.
func (s *Server) bundleOf(a *admitted, res rlog.Result, withChain bool) ([]byte, error) {
	env := a.envelope
	if res.Repeat {
		var err error
		if env, err = dsse.ParseLeaf(res.Leaf); err != nil {
			return nil, err
		}
	}
	b := promise(env, res)
	if withChain {
		var err error
		if b.Registry, err = s.registry.durable(res.Head.Size).chain(s.log, res.Head.Size); err != nil {
			return nil, err
		}
	}
	return b.Append(nil), nil
}

// end writes the last line. A stream that was cut has none, so it is known from
// one that was answered to its end.
func (b *batchRun) end(w http.ResponseWriter, c *http.ResponseController, t batchTotals, readErr error) error {
	s := b.server
	if readErr != nil {
		e, status := s.said(b.request, s.unread(readErr))
		p := problemOf(e, status)
		t.Problem = &p
		s.metrics.item(status, e.Code)
	}
	text, err := json.Marshal(struct {
		End batchTotals `json:"end"`
	}{t})
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_ = c.SetWriteDeadline(time.Now().Add(s.limits.write))
	_, _ = w.Write(append(text, '\n')) // a client that is gone is its own loss
	if readErr != nil {
		// Over unread bytes the connection would be reset, and a client that is
		// still sending never see why.
		_ = c.Flush()
		_ = c.SetReadDeadline(time.Now().Add(s.limits.linger))
		_, _ = io.CopyN(io.Discard, b.request.Body, maxDrain)
	}
	return nil
}
