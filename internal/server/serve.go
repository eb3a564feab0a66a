package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// maxHeader is how long the head of a request may be, in bytes.
const maxHeader = 16 << 10

// limits are what clients together may hold, and how long each may take. A
// connection that says nothing, or says it too slowly, is closed.
type limits struct {
	held     int64         // bytes of bodies that are in memory or on their way
	head     time.Duration // for the head of a request
	read     time.Duration // for a whole request
	write    time.Duration // from the head of a request to the end of its answer
	idle     time.Duration // between requests
	linger   time.Duration // for the rest of a body, when the server ends
	shutdown time.Duration // for the answers that are due when the server ends
	anchor   time.Duration // between two times that anchors are kept
}

func defaultLimits() limits {
	return limits{
		held:     64 << 20,
		head:     5 * time.Second,
		read:     15 * time.Second,
		write:    30 * time.Second,
		idle:     2 * time.Minute,
		linger:   2 * time.Second,
		shutdown: 20 * time.Second,
		anchor:   time.Second,
	}
}

// Serve answers requests on ln until ctx ends, then takes no new ones and
// answers those it has. It does not close the log. The error is that of the
// listener, of answers that were not taken in time, or LOG-ROLLBACK where an
// anchor shows that another history was signed meanwhile.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	handler := http.Handler(s)
	if at, ok := ln.Addr().(*net.TCPAddr); ok && at.IP.IsLoopback() && !s.public {
		handler = http.HandlerFunc(s.forThisMachine)
	}
	hs := &http.Server{
		Handler:                      handler,
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            s.limits.head,
		ReadTimeout:                  s.limits.read,
		WriteTimeout:                 s.limits.write,
		IdleTimeout:                  s.limits.idle,
		MaxHeaderBytes:               maxHeader,
		ErrorLog:                     slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
	}
	hs.ConnState = newConns(connBound(descriptors())).state
	broken := make(chan error, 1)
	defer s.startKeeper(broken)()
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
		case err := <-broken:
			s.logger.Error("the log must not be written to: the server ends", "reason", err)
			return errors.Join(err, s.end(ctx, hs, served))
		case <-ctx.Done():
			return s.end(ctx, hs, served)
		}
	}
}

// end takes no new requests and answers those that are there.
func (s *Server) end(ctx context.Context, hs *http.Server, served <-chan error) error {
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.limits.shutdown)
	defer cancel()
	s.receivers.end(s.limits.linger)
	err := hs.Shutdown(within)
	if err != nil {
		err = errors.Join(err, hs.Close())
	}
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}
