package server_test

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/report"
)

// FuzzSubmit: any body gets an answer of the table: a bundle that proves it,
// or a problem with a code, and then the log is as it was.
func FuzzSubmit(f *testing.F) {
	l := servertest.New(f)
	env := signed(f, opening(servertest.Engine, "fuzz"), servertest.Engine)
	wrong := signed(f, opening("stranger", "fuzz"), "stranger")
	for _, e := range [][]byte{env.JSON(), wrong.JSON(), []byte("{}"), nil} {
		f.Add(false, e)
	}
	f.Add(true, leafOf(f, env))
	f.Add(true, leafOf(f, wrong))
	f.Fuzz(func(t *testing.T, leaf bool, body []byte) {
		before := l.Server.Head().Size
		r := httptest.NewRequest("POST", "/v1/receipts", bytes.NewReader(body))
		r.Header.Set("Content-Type", server.DSSEType)
		if leaf {
			r.Header.Set("Content-Type", server.LeafType)
		}
		w := httptest.NewRecorder()
		l.Server.ServeHTTP(w, r)
		if w.Code == 200 || w.Code == 201 {
			proven(t, l, w.Body.Bytes())
			if after := l.Server.Head().Size; w.Code == 200 && after != before || after > before+1 {
				t.Errorf("status %d, and the size went from %d to %d", w.Code, before, after)
			}
			return
		}
		var p struct {
			Status int
			Code   report.Code
		}
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatalf("%d is no problem: %v\n%s", w.Code, err, w.Body)
		}
		if p.Status != w.Code || server.Statuses[p.Code] != w.Code {
			t.Errorf("status %d with code %s", w.Code, p.Code)
		}
		if after := l.Server.Head().Size; after != before {
			t.Errorf("a refusal (%s) left a trace: size %d, then %d", p.Code, before, after)
		}
	})
}

// BenchmarkSubmit is one caller without a network or a disk.
func BenchmarkSubmit(b *testing.B) {
	l := servertest.New(b)
	body := signed(b, opening(servertest.Engine, "bench"), servertest.Engine).JSON()
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest("POST", "/v1/receipts", bytes.NewReader(body))
		r.Header.Set("Content-Type", server.DSSEType)
		l.Server.ServeHTTP(httptest.NewRecorder(), r)
	}
}
