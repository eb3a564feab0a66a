package server

import (
	"net"
	"net/http"
	"testing"
)

type namedConn struct {
	net.Conn
	closed bool
}

func (c *namedConn) Close() error { c.closed = true; return nil }

// TestConnectionsAreBounded: over the bound the longest idle connection goes,
// an active one never, and where none is idle the newcomer.
func TestConnectionsAreBounded(t *testing.T) {
	c := newConns(3)
	var conns [6]*namedConn
	for i := range conns {
		conns[i] = &namedConn{}
	}
	for _, i := range []int{0, 1, 2} {
		c.state(conns[i], http.StateNew)
		c.state(conns[i], http.StateActive)
	}
	c.state(conns[1], http.StateIdle)
	c.state(conns[0], http.StateIdle)

	c.state(conns[3], http.StateNew)
	if !conns[1].closed || conns[0].closed || conns[2].closed || conns[3].closed {
		t.Fatal("the connection that was idle longest must go, and no other")
	}
	c.state(conns[1], http.StateClosed)
	c.state(conns[3], http.StateActive)
	c.state(conns[0], http.StateActive)

	c.state(conns[4], http.StateNew)
	if !conns[4].closed || conns[0].closed || conns[2].closed || conns[3].closed {
		t.Fatal("where all are at work the newcomer must go")
	}
	c.state(conns[4], http.StateClosed)
	c.state(conns[0], http.StateClosed)
	c.state(conns[5], http.StateNew)
	if conns[5].closed {
		t.Fatal("there is room again")
	}
	if c.shed != 2 || len(c.open) != 3 {
		t.Fatalf("shed %d, open %d", c.shed, len(c.open))
	}
}

func TestConnectionBoundFollowsTheDescriptors(t *testing.T) {
	for _, c := range []struct {
		descriptors uint64
		known       bool
		want        int
	}{{0, false, mostConns}, {1 << 20, true, mostConns}, {1024, true, 512}, {64, true, 32}} {
		if got := connBound(c.descriptors, c.known); got != c.want {
			t.Errorf("%d descriptors: %d connections, want %d", c.descriptors, got, c.want)
		}
	}
}
