package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// caller is one client that waits for each answer: a raw HTTP/1.1 connection,
// since net/http's client costs as much as the server.
type caller struct {
	conn net.Conn
	r    *bufio.Reader
	body []byte // of the last answer; reused
}

func dial(addr string) (*caller, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &caller{conn: conn, r: bufio.NewReaderSize(conn, 8<<10)}, nil
}

// request makes the bytes of one submission.
func request(mediaType string, body []byte) []byte {
	head := fmt.Sprintf("POST /v1/receipts HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", mediaType, len(body))
	return append([]byte(head), body...)
}

// do sends a request and reads the answer, body and all. An error ends the
// connection.
func (c *caller) do(req []byte) (status int, err error) {
	if err := c.conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return 0, err
	}
	if _, err := c.conn.Write(req); err != nil {
		return 0, err
	}
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < len("HTTP/1.1 200") || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, fmt.Errorf("%q is no status line", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, err
	}
	length := -1
	for {
		if line, err = c.r.ReadSlice('\n'); err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, err
			}
		}
	}
	if length < 0 {
		return 0, fmt.Errorf("an answer without Content-Length")
	}
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	c.body = c.body[:length]
	_, err = io.ReadFull(c.r, c.body)
	return status, err
}
