package server

import (
	"time"

	"github.com/obstat/obstat/report"
)

// Statuses is the table, for tests that hold it against the list of codes.
var Statuses = statuses

// StatusOf is statusOf.
func StatusOf(code report.Code) int { return statusOf(code) }

// Impatient makes a server that does not wait for slow clients.
func (s *Server) Impatient(head, body time.Duration) {
	s.limits.head, s.limits.read = head, body
}

// Narrow lets a server hold so many bytes of bodies at a time.
func (s *Server) Narrow(held int64) { s.limits.held = held }
