package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// How long a client may take. A connection that says nothing, or says it too
// slowly, is closed.
const (
	headerTimeout   = 5 * time.Second  // for the head of a request
	readTimeout     = 15 * time.Second // for a whole request
	writeTimeout    = 30 * time.Second // from the head of a request to the end of its answer
	idleTimeout     = 2 * time.Minute  // between requests
	shutdownTimeout = 20 * time.Second // for answers that are due at shutdown
	maxHeader       = 16 << 10         // bytes
)

// Serve answers requests on ln until ctx ends, then takes no new ones and
// answers those it has. It does not close the log. The error is that of the
// listener, or of answers that were not taken within shutdownTimeout.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	hs := &http.Server{
		Handler:                      s,
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            headerTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeader,
		ErrorLog:                     slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(ln) }()
	stopped := s.log.Stopped()
	for {
		select {
		case <-stopped:
			s.logger.Error("the log takes no more submissions; reads go on", "reason", s.log.Err())
			stopped = nil
		case err := <-served:
			return err
		case <-ctx.Done():
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
			defer cancel()
			err := hs.Shutdown(within)
			if err != nil {
				err = errors.Join(err, hs.Close())
			}
			if e := <-served; !errors.Is(e, http.ErrServerClosed) {
				err = errors.Join(err, e)
			}
			return err
		}
	}
}
