package server_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/receipt/receipttest"
)

// batchLine is a line of an answer.
type batchLine struct {
	Item      int
	Status    int
	Index     uint64
	Statement string
	Repeat    bool
	Bundle    json.RawMessage
	Problem   struct{ Code string }
	End       *struct {
		Items, Created, Repeated, Refused int
		Problem                           *struct{ Code string }
	}
}

func lines(t *testing.T, body []byte) []batchLine {
	t.Helper()
	var out []batchLine
	for line := range bytes.Lines(body) {
		var l batchLine
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		out = append(out, l)
	}
	if len(out) == 0 || out[len(out)-1].End == nil {
		t.Fatalf("no end: %s", body)
	}
	return out
}

func batch(t *testing.T, l *servertest.Log, query, mediaType string, body []byte) []batchLine {
	t.Helper()
	a := do(t, "POST", l.URL+"/v1/receipts:batch"+query, map[string]string{"Content-Type": mediaType}, body)
	if a.status != 200 || a.header.Get("Content-Type") != server.LinesType {
		t.Fatalf("%d %v %s", a.status, a.header, a.body)
	}
	return lines(t, a.body)
}

// inForm spells envelopes as the body of a batch.
func inForm(t *testing.T, mediaType string, envs ...*dsse.Envelope) []byte {
	t.Helper()
	var b []byte
	for _, e := range envs {
		if mediaType == server.SequenceType {
			b = append(b, leafOf(t, e)...)
			continue
		}
		b = append(append(b, e.JSON()...), '\n')
	}
	return b
}

// TestBatch: every kind in either form, in the order of the stream, with repeats
// and what is refused between them; each bundle proves its leaf.
func TestBatch(t *testing.T) {
	for _, mediaType := range []string{server.LinesType, server.SequenceType} {
		l := servertest.New(t)
		var envs []*dsse.Envelope
		for _, d := range everyKind() {
			signer := servertest.Engine
			if d.Statement.Receipt.Kind() == receipt.KindDecision {
				signer = servertest.Approver
			}
			envs = append(envs, signed(t, d, signer))
		}
		n := len(envs)
		bad := signed(t, opening(servertest.Engine, "bad"), servertest.Engine)
		forged := *bad
		forged.Sigs = []dsse.Signature{{By: bad.Sigs[0].By, Sig: [64]byte{1}}}
		all := append(append(envs[:n:n], &forged), envs[0])
		got := batch(t, l, "?bundle=each&registry=chain", mediaType, inForm(t, mediaType, all...))
		if len(got) != n+3 {
			t.Fatalf("%s: %d lines", mediaType, len(got))
		}
		for i, g := range got[:n] {
			if g.Item != i || g.Status != 201 || g.Index != uint64(i+1) || g.Repeat {
				t.Errorf("%s: item %d: %+v", mediaType, i, g)
			}
			if index, env := proven(t, l, g.Bundle); index != g.Index || !bytes.Equal(leafOf(t, env), leafOf(t, envs[i])) {
				t.Errorf("%s: item %d is proven at %d", mediaType, i, index)
			}
		}
		if g := got[n]; g.Status != 403 || g.Problem.Code != "SIGNATURE-INVALID" {
			t.Errorf("%s: forged: %+v", mediaType, g)
		}
		if g := got[n+1]; g.Status != 200 || !g.Repeat || g.Index != 1 {
			t.Errorf("%s: a repeat: %+v", mediaType, g)
		}
		if e := got[n+2].End; e.Items != n+2 || e.Created != n || e.Repeated != 1 || e.Refused != 1 || e.Problem != nil {
			t.Errorf("%s: end %+v", mediaType, e)
		}
	}
}

// TestBatchForms: bodies of every shape.
func TestBatchForms(t *testing.T) {
	l := servertest.New(t)
	one := signed(t, opening(servertest.Engine, "one"), servertest.Engine)
	two := signed(t, opening(servertest.Engine, "two"), servertest.Engine)
	leaf := leafOf(t, one)
	long := bytes.Repeat([]byte("x"), 2*server.MaxBody)
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for name, c := range map[string]struct {
		mediaType string
		body      []byte
		statuses  string
		end       string
	}{
		"nothing":            {server.LinesType, nil, "", ""},
		"empty lines":        {server.LinesType, []byte("\n\r\n  \n"), "", ""},
		"no last line end":   {server.LinesType, bytes.TrimSpace(one.JSON()), "201", ""},
		"CRLF":               {server.LinesType, join(one.JSON(), []byte("\r\n"), two.JSON(), []byte("\r\n")), "200 201", ""},
		"a bad line between": {server.LinesType, join(one.JSON(), []byte("\n{\n"), two.JSON()), "200 400 200", ""},
		"a long line":        {server.LinesType, join(long, []byte("\n"), one.JSON(), []byte("\n"), long), "413 200 413", ""},
		"a leaf":             {server.SequenceType, leaf, "200", ""},
		"not canonical":      {server.SequenceType, join(leaf, []byte{0x18, 0x01}, leaf), "200 400 200", ""},
		"indefinite":         {server.SequenceType, join([]byte{0x9f, 0xff}, leaf), "400 200", ""},
		"no CBOR":            {server.SequenceType, join(leaf, []byte{0xff}, leaf), "200", "LEAF-FORM"},
		"cut":                {server.SequenceType, join(leaf, leaf[:len(leaf)-1]), "200", "HTTP-BODY"},
		"4 GiB claimed":      {server.SequenceType, []byte{0x5a, 0xff, 0xff, 0xff, 0xff}, "", "HTTP-BODY"},
		"4 GiB begun":        {server.SequenceType, join([]byte{0x5a, 0xff, 0xff, 0xff, 0xff}, long), "", "HTTP-SIZE"},
	} {
		// The map has no order: both may stand already.
		got := batch(t, l, "", c.mediaType, c.body)
		var statuses []string
		for _, g := range got[:len(got)-1] {
			if g.Status == 201 || g.Status == 200 {
				g.Status = 200
			}
			statuses = append(statuses, fmt.Sprint(g.Status))
		}
		end := ""
		if p := got[len(got)-1].End.Problem; p != nil {
			end = p.Code
		}
		if want := strings.ReplaceAll(c.statuses, "201", "200"); strings.Join(statuses, " ") != want || end != c.end {
			t.Errorf("%s: %v, end %q; want %s, %q", name, statuses, end, want, c.end)
		}
	}
	for _, mediaType := range []string{"", "application/json", "application/cbor", server.LeafType} {
		a := do(t, "POST", l.URL+"/v1/receipts:batch", map[string]string{"Content-Type": mediaType}, leaf)
		if a.status != 415 || a.code() != "HTTP-TYPE" {
			t.Errorf("%q: %d %s", mediaType, a.status, a.code())
		}
	}
	for query, code := range map[string]string{"?bundle=all": "HTTP-QUERY", "?wait=witnessed": "WITNESSES-NONE", "?x=1": "HTTP-QUERY"} {
		a := do(t, "POST", l.URL+"/v1/receipts:batch"+query, map[string]string{"Content-Type": server.LinesType}, one.JSON())
		if a.code() != code {
			t.Errorf("%s: %d %s, want %s", query, a.status, a.code(), code)
		}
	}
}

// TestBatchAnswersAsItGoes: whoever waits for a result before the next item gets
// it; a client that goes away, or is silent, ends nothing but its own stream.
func TestBatchAnswersAsItGoes(t *testing.T) {
	l := servertest.New(t)
	r, w := io.Pipe()
	req, err := http.NewRequest("POST", l.URL+"/v1/receipts:batch", r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", server.LinesType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(resp.Body)
	for i := range 5 {
		env := signed(t, opening(servertest.Engine, receipt.Name(fmt.Sprint("slow-", i))), servertest.Engine)
		if _, err := w.Write(append(env.JSON(), '\n')); err != nil {
			t.Fatal(err)
		}
		line, err := in.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, fmt.Sprintf(`{"item":%d,"status":201,"index":%d,`, i, i+1)) {
			t.Fatalf("%v %s", err, line)
		}
	}
	w.Close()
	if line, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(line, `{"end":{"items":5,"created":5,`) {
		t.Errorf("%v %s", err, line)
	}
	resp.Body.Close()

	l.Stop()
	l.Start(func(s *server.Server) { s.Impatient(time.Hour, 100*time.Millisecond) })
	env := signed(t, opening(servertest.Engine, "silent"), servertest.Engine)
	conn := raw(t, l, fmt.Sprintf("POST /v1/receipts:batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: 100000\r\n\r\n%s\n{", server.LinesType, env.JSON()))
	a, closed := read(t, conn)
	got := lines(t, a.body)
	if !closed {
		t.Error("the rest of a stream may be taken for a request")
	}
	if len(got) != 2 || got[0].Status != 201 || got[1].End.Problem == nil || got[1].End.Problem.Code != "HTTP-TIMEOUT" {
		t.Errorf("%s", a.body)
	}
	if a := submit(t, l, env); a.status != 200 {
		t.Errorf("the log goes on: %d", a.status)
	}
}

// TestBatchOrder: what one run says stands in the log in the order of its
// stream, also where many streams mingle, and each statement once.
func TestBatchOrder(t *testing.T) {
	l := servertest.New(t)
	const streams, each = 4, 120
	bodies := make([][]byte, streams)
	for i := range bodies {
		run := receipttest.NewRun(keyID(servertest.Engine), receipt.Name(fmt.Sprint("order-", i)))
		envs := []*dsse.Envelope{signed(t, run.Add(receipttest.Open(servertest.Origin)), servertest.Engine)}
		for j := range each - 1 {
			envs = append(envs, signed(t, run.Add(receipttest.Judgment(fmt.Sprint(j), receipttest.Admit("rule-1"))), servertest.Engine))
		}
		bodies[i] = inForm(t, server.SequenceType, envs...)
	}
	var wg sync.WaitGroup
	answers := make([][]batchLine, streams)
	for i := range bodies {
		wg.Go(func() { answers[i] = batch(t, l, "", server.SequenceType, bodies[i]) })
	}
	wg.Wait()
	seen := map[uint64]bool{}
	for i, a := range answers {
		last := uint64(0)
		for _, g := range a[:len(a)-1] {
			if g.Status != 201 || g.Index <= last || seen[g.Index] {
				t.Fatalf("stream %d: %+v behind %d", i, g, last)
			}
			last, seen[g.Index] = g.Index, true
		}
	}
	if size := l.Server.Head().Size; size != streams*each+1 {
		t.Errorf("%d leaves", size)
	}
}

// TestBatchEnds: a server that ends answers what it took, and says that it ends.
func TestBatchEnds(t *testing.T) {
	l := servertest.New(t)
	l.Stop()
	l.Start(func(s *server.Server) { s.Hurry(50 * time.Millisecond) })
	env := signed(t, opening(servertest.Engine, "ending"), servertest.Engine)
	conn := raw(t, l, fmt.Sprintf("POST /v1/receipts:batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: 100000\r\n\r\n%s\n{", server.LinesType, env.JSON()))
	in := bufio.NewReader(conn)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(line, `{"item":0`) {
			break
		}
	}
	l.Stop()
	rest, err := io.ReadAll(in)
	if err != nil || !bytes.Contains(rest, []byte(`{"end":{"items":1,"created":1,`)) || !bytes.Contains(rest, []byte("LOG-CLOSED")) {
		t.Errorf("%v %s", err, rest)
	}
}
