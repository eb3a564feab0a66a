package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/internal/server/servertest"
)

// raw opens a connection and writes text.
func raw(t *testing.T, l *servertest.Log, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(l.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// read reads one response, and whether the connection ends behind it.
func read(t *testing.T, conn net.Conn) (a answer, closed bool) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	a.status, a.header = resp.StatusCode, resp.Header
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	_, err = r.ReadByte()
	return a, errors.Is(err, io.EOF)
}

const postHead = "POST /v1/receipts HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

// TestSlowClients: silence, half a head and half a body end in time, and a
// client that keeps still holds no room.
func TestSlowClients(t *testing.T) {
	l := servertest.New(t)
	l.Stop()
	l.Start(func(s *server.Server) { s.Impatient(50*time.Millisecond, time.Hour) })
	for name, text := range map[string]string{"silence": "", "half a head": postHead} {
		conn := raw(t, l, text)
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(conn); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	slow, err := net.Dial("tcp", strings.TrimPrefix(l.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	began := time.Now()
	for time.Since(began) < 30*time.Second { // a byte now and then is no way around it
		if _, err := io.WriteString(slow, "G"); err != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if time.Since(began) >= 30*time.Second {
		t.Error("a head that never ends was waited for")
	}
	l.Stop()
	l.Start(func(s *server.Server) { s.Impatient(time.Hour, 100*time.Millisecond); s.Narrow(100) })
	for range 3 { // each would fill the room
		a, closed := read(t, raw(t, l, postHead+"Content-Length: 90\r\n\r\n{"))
		if a.status != 408 || a.code() != "HTTP-TIMEOUT" || !closed {
			t.Errorf("half a body: %d %s, closed %v, want 408 HTTP-TIMEOUT, true", a.status, a.code(), closed)
		}
	}
}

// TestCutShort: a body that ends early, or goes on too long without saying so.
func TestCutShort(t *testing.T) {
	l := servertest.New(t)
	conn := raw(t, l, postHead+"Content-Length: 10\r\n\r\n{")
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if a, closed := read(t, conn); a.status != 400 || a.code() != "HTTP-BODY" || !closed {
		t.Errorf("%d %s, closed %v, want 400 HTTP-BODY, true", a.status, a.code(), closed)
	}
	chunked := postHead + "Transfer-Encoding: chunked\r\n\r\n"
	a, _ := read(t, raw(t, l, chunked+"zz\r\n"))
	if a.status != 400 || a.code() != "HTTP-BODY" {
		t.Errorf("a bad chunk: %d %s, want 400 HTTP-BODY", a.status, a.code())
	}
	long := fmt.Sprintf("%x\r\n%s\r\n", server.MaxBody+1, strings.Repeat(" ", server.MaxBody+1))
	conn = raw(t, l, chunked+long)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	a, closed := read(t, conn)
	if a.status != 413 || a.code() != "HTTP-SIZE" || !closed {
		t.Errorf("a long chunk: %d %s, closed %v, want 413 HTTP-SIZE, true", a.status, a.code(), closed)
	}
	env := signed(t, opening(servertest.Engine, "chunks"), servertest.Engine).JSON()
	a, _ = read(t, raw(t, l, chunked+fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(env), env)+"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
	if a.status != 201 {
		t.Errorf("a body in chunks: %d %s", a.status, a.body)
	}
}

// TestRefusedSenders: whoever is still sending when the refusal is decided
// gets to read it, also where the connection ends with it.
func TestRefusedSenders(t *testing.T) {
	l := servertest.New(t)
	for size, want := range map[int]int{server.MaxBody: 415, server.MaxBody + 1: 413, 250_000: 413} {
		conn := raw(t, l, fmt.Sprintf("POST /v1/receipts HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", size))
		for _, part := range []int{size / 2, size - size/2} {
			if _, err := conn.Write(make([]byte, part)); err != nil {
				t.Fatalf("%d bytes: %v", size, err)
			}
			time.Sleep(20 * time.Millisecond) // time to answer too early
		}
		if a, _ := read(t, conn); a.status != want {
			t.Errorf("%d bytes: %d, want %d", size, a.status, want)
		}
	}
	// Asked first, it says so before anything is sent.
	a, _ := read(t, raw(t, l, "POST /v1/receipts HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 9\r\nConnection: close\r\nExpect: 100-continue\r\n\r\n"))
	if a.status != 415 {
		t.Errorf("%d, want 415", a.status)
	}
}

// TestKeepAlive: one connection serves many requests, refusals among them.
func TestKeepAlive(t *testing.T) {
	l := servertest.New(t)
	body := signed(t, opening(servertest.Engine, "kept"), servertest.Engine).JSON()
	post := func(body []byte) string {
		return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", postHead, len(body), body)
	}
	conn := raw(t, l, post(body)+post([]byte("{"))+post(body)+"GET /checkpoint HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
	r := bufio.NewReader(conn)
	for i, want := range []int{201, 400, 200, 200} {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("request %d: %d, want %d", i, resp.StatusCode, want)
		}
	}
}

// TestEndsOverHalfABody: a client that sent half a body and waits does not hold
// back the end of the server, and is told to come again.
func TestEndsOverHalfABody(t *testing.T) {
	l := servertest.New(t)
	l.Stop()
	l.Start(func(s *server.Server) { s.Hurry(50 * time.Millisecond) })
	half := raw(t, l, postHead+"Content-Length: 90\r\n\r\n{")
	refused := raw(t, l, "POST /v1/receipts HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 90\r\n\r\n{")
	for end := time.Now().Add(time.Minute); l.Server.Receiving() < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the two bodies are not read")
		}
	}
	began := time.Now()
	l.Stop()
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the server took %v to end", took)
	}
	if a, closed := read(t, half); a.status != 503 || a.code() != "LOG-CLOSED" || a.header.Get("Retry-After") != "5" || !closed {
		t.Errorf("%d %s, Retry-After %q, closed %v, want 503 LOG-CLOSED, 5, true", a.status, a.code(), a.header.Get("Retry-After"), closed)
	}
	if a, _ := read(t, refused); a.status != 415 {
		t.Errorf("refused before: %d %s, want 415", a.status, a.code())
	}
}

// TestSlowDisk: neither how long a body may take nor the end of the server
// bounds how long the answer to a whole body may.
func TestSlowDisk(t *testing.T) {
	files := faultfs.New()
	l := servertest.On(t, files)
	l.Stop()
	l.Start(func(s *server.Server) { s.Impatient(time.Hour, 100*time.Millisecond); s.Hurry(50 * time.Millisecond) })
	g := &gate{reached: make(chan struct{}), open: make(chan struct{})}
	files.SetHook(g.hook)
	body := signed(t, opening(servertest.Engine, "slow"), servertest.Engine).JSON()
	conn := raw(t, l, fmt.Sprintf("%sConnection: close\r\nContent-Length: %d\r\n\r\n%s", postHead, len(body), body))
	<-g.reached
	stopped := make(chan struct{})
	go func() { l.Stop(); close(stopped) }()
	time.Sleep(300 * time.Millisecond) // longer than either
	close(g.open)
	if a, _ := read(t, conn); a.status != 201 {
		t.Errorf("%d %s, want 201", a.status, a.code())
	}
	<-stopped
}

// TestHosts: a log that is not public and listens on loopback answers for this
// machine's names alone, so that no web page reads it under a name of its own.
func TestHosts(t *testing.T) {
	l := servertest.New(t)
	statuses := func() map[string]int {
		got := map[string]int{}
		for _, host := range []string{"localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:1", "127.8.8.8", "[::1]", "[::1]:443", "[::ffff:127.0.0.1]",
			"", "log.example.com", "log.example.com:8080", "localhost.example.com", "192.0.2.1", "[2001:db8::1]:80", "x"} {
			a, _ := read(t, raw(t, l, "GET /checkpoint HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n"))
			if got[host] = a.status; a.status != 200 && (a.status != 421 || a.code() != "HTTP-HOST") {
				t.Errorf("Host %q: %d %s", host, a.status, a.code())
			}
		}
		return got
	}
	for host, status := range statuses() {
		foreign := strings.Contains(host, "example") || strings.HasPrefix(host, "192.") || strings.HasPrefix(host, "[2001") || host == "x"
		if (status == 421) != foreign {
			t.Errorf("Host %q: %d", host, status)
		}
	}
	l.Stop()
	l.Public = true
	l.Start()
	for host, status := range statuses() {
		if status != 200 {
			t.Errorf("public, Host %q: %d", host, status)
		}
	}
}

// TestNoHTTP: what is not HTTP is answered in plain text, and not by us.
func TestNoHTTP(t *testing.T) {
	l := servertest.New(t)
	for text, want := range map[string]int{
		"hello\r\n\r\n":                               400,
		"GET /checkpoint HTTP/1.1\r\n\r\n":            400, // no Host
		"GET /checkpoint HTTP/3.0\r\nHost: x\r\n\r\n": 505,
		postHead + "Connection: close\r\nExpect: praise\r\nContent-Length: 1\r\n\r\n":     417,
		postHead + "Transfer-Encoding: gzip\r\n\r\n":                                      501,
		postHead + "X: " + strings.Repeat("x", 24<<10) + "\r\nContent-Length: 1\r\n\r\nx": 431,
	} {
		a, closed := read(t, raw(t, l, text))
		if mediaType := a.header.Get("Content-Type"); a.status != want || !closed || mediaType == server.ProblemType {
			t.Errorf("%.40q: %d %s, closed %v, want %d", text, a.status, mediaType, closed, want)
		}
	}
	if a, _ := read(t, raw(t, l, postHead+"X: "+strings.Repeat("x", 15<<10)+"\r\nConnection: close\r\nContent-Length: 1\r\n\r\n{")); a.code() != "DSSE-SYNTAX" {
		t.Errorf("a head of 15 KiB: %d %s", a.status, a.body)
	}
}
