package server

import (
	"net/http"
	"time"

	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
)

// Statuses is the table, for tests that hold it against the list of codes.
var Statuses = statuses

// ProblemBase is what the type of every problem begins with.
const ProblemBase = problemBase

// StatusOf is statusOf.
func StatusOf(code report.Code) int { return statusOf(code) }

// Impatient makes a server that does not wait for slow clients.
func (s *Server) Impatient(head, body time.Duration) {
	s.limits.head, s.limits.read = head, body
}

// Hurry makes a server that ends over half-sent bodies after so long.
func (s *Server) Hurry(linger time.Duration) { s.limits.linger = linger }

// Anchoring makes a server that keeps its anchors so often.
func (s *Server) Anchoring(every time.Duration) { s.limits.anchor = every }

// Receiving is how many bodies are being read.
func (s *Server) Receiving() int {
	s.receivers.mu.Lock()
	defer s.receivers.mu.Unlock()
	return len(s.receivers.active)
}

// Narrow lets a server hold so many bytes of bodies at a time.
func (s *Server) Narrow(held int64) { s.limits.held = held }

// Err is nil while the log takes submissions.

// Refuse is refuse.
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, err error) { s.refuse(w, r, err) }

// Proof is the engine's own inclusion proof.
func (s *Server) Proof(index, size uint64) ([]merkle.Hash, error) {
	return s.log.InclusionProof(index, size)
}

// Routes are the paths and methods of every route.
func Routes() (all []string) {
	for _, t := range routes() {
		all = append(all, t.method+" "+t.path)
	}
	return all
}
