package server

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// conns bounds the connections that are open at once, so that clients cannot
// take the descriptors which the log's own files need. Over the bound the
// connection that has been idle longest is closed; where none is idle, the new
// one. So many silent clients cost an honest one nothing.
type conns struct {
	most int

	mu   sync.Mutex
	open map[net.Conn]*list.Element // the element is in idle, or nil
	idle list.List                  // of net.Conn, the longest idle first
	shed uint64
}

// mostConns is how many connections may be open at once.
const mostConns = 8192

// connBound leaves half of the process's descriptors to the log's files.
func connBound(descriptors uint64, known bool) int {
	if known && descriptors/2 < mostConns {
		return int(descriptors / 2)
	}
	return mostConns
}

func newConns(most int) *conns {
	return &conns{most: most, open: make(map[net.Conn]*list.Element)}
}

// state is the ConnState hook of an http.Server.
func (c *conns) state(conn net.Conn, st http.ConnState) {
	victim := c.note(conn, st)
	if victim != nil {
		_ = victim.Close() // its reader sees that, and says StateClosed
	}
}

// note takes the change in and returns the connection that has to go, if any.
func (c *conns) note(conn net.Conn, st http.ConnState) net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.open[conn]; e != nil {
		c.idle.Remove(e)
		c.open[conn] = nil
	}
	switch st {
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	case http.StateIdle:
		c.open[conn] = c.idle.PushBack(conn)
	case http.StateNew:
		c.open[conn] = nil
		if len(c.open) <= c.most {
			return nil
		}
		c.shed++
		if e := c.idle.Front(); e != nil {
			victim := c.idle.Remove(e).(net.Conn)
			c.open[victim] = nil
			return victim
		}
		return conn
	}
	return nil
}
