package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// TestHTTPCaller: the raw client reads what net/http's server writes, of either
// framing, keeps its connection, and tells failures.
func TestHTTPCaller(t *testing.T) {
	var connections sync.Map
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connections.Store(r.RemoteAddr, true)
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "text/plain" {
			t.Errorf("%s %v, %v", r.Method, r.Header, err)
		}
		if r.URL.Path == "/refuse" {
			http.Error(w, "not today", http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusCreated)
		w.Write(body)
		if r.URL.Path == "/chunked" {
			w.(http.Flusher).Flush()
			w.Write(body)
		}
	}))
	defer s.Close()
	c := &httpCaller{addr: s.Listener.Addr().String()}
	defer c.close()
	big := strings.Repeat("x", 100_000)
	for _, test := range []struct{ path, body, want, fails string }{
		{path: "/", body: "one", want: "one"},
		{path: "/chunked", body: "two", want: "twotwo"},
		{path: "/", body: "", want: ""},
		{path: "/", body: big, want: big},
		{path: "/chunked", body: big, want: big + big},
		{path: "/", body: "three", want: "three"},
		{path: "/refuse", body: "four", fails: "status 503: not today"},
		{path: "/", body: "five", want: "five"},
	} {
		err := c.submit(t.Context(), request(test.path, "text/plain", []byte(test.body)))
		if test.fails != "" {
			if err == nil || !strings.Contains(err.Error(), test.fails) {
				t.Errorf("%s: %v, want %q", test.path, err, test.fails)
			}
			continue
		}
		if err != nil || string(c.answer) != test.want {
			t.Errorf("%s: %d bytes, %v, want %d", test.path, len(c.answer), err, len(test.want))
		}
	}
	count := 0
	connections.Range(func(any, any) bool { count++; return true })
	if count != 2 {
		t.Errorf("%d connections, want one, and another after the failure", count)
	}
}
