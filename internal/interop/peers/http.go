package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strconv"
	"time"
)

// httpCaller is a client of HTTP/1.1 on one connection that persists. It does
// no more than it must: net/http's client costs as much as the server and
// halves the reading. What it submits is a whole request.
type httpCaller struct {
	addr   string
	conn   net.Conn
	r      *bufio.Reader
	answer []byte // body of the last answer
	verify func(answer []byte) error
}

// request returns the bytes of a POST.
func request(path, mediaType string, body []byte) []byte {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", path, mediaType, len(body))
	return append([]byte(head), body...)
}

const requestTimeout = 25 * time.Second

func (c *httpCaller) submit(_ context.Context, request []byte) error {
	err := c.exchange(request)
	if err != nil {
		c.close()
	}
	return err
}

func (c *httpCaller) exchange(request []byte) error {
	if c.conn == nil {
		conn, err := net.Dial("tcp", c.addr)
		if err != nil {
			return err
		}
		c.conn, c.r = conn, bufio.NewReader(conn)
	}
	if err := c.conn.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		return err
	}
	if _, err := c.conn.Write(request); err != nil {
		return err
	}
	status, err := c.read()
	if err == nil && status != 201 {
		err = fmt.Errorf("status %d: %.300s", status, c.answer)
	}
	return err
}

// read reads an answer: a status line, the two headers that matter, the body.
func (c *httpCaller) read() (status int, err error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, fmt.Errorf("status line %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, err
	}
	length, chunked := 0, false
	for {
		if line, err = c.r.ReadSlice('\n'); err != nil {
			return 0, err
		}
		name, value, ok := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
		if !ok {
			break
		}
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 || length > 1<<20 {
				return 0, fmt.Errorf("header %q", line)
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = true
		}
	}
	if chunked {
		return status, c.readChunks()
	}
	c.answer = append(c.answer[:0], make([]byte, length)...)
	_, err = io.ReadFull(c.r, c.answer)
	return status, err
}

func (c *httpCaller) readChunks() error {
	b, err := io.ReadAll(io.LimitReader(httputil.NewChunkedReader(c.r), 1<<20))
	if err != nil {
		return err
	}
	c.answer = b
	_, err = c.r.ReadSlice('\n') // the empty line behind the last chunk
	return err
}

func (c *httpCaller) check() error { return c.verify(c.answer) }

func (c *httpCaller) close() {
	if c.conn != nil {
		_ = c.conn.Close() // nothing is lost with a connection that is not used
		c.conn = nil
	}
}
