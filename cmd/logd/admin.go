package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/obstat/obstat/internal/server"
	"github.com/obstat/obstat/report"
)

// admin answers the operator, apart from those who read the log: on a Unix
// socket that its owner alone may open, and for metrics on an address too
// (docs/operation.md#admin).
type admin struct {
	logger  *slog.Logger
	servers []*http.Server
	served  []chan error
	socket  string // to be removed; empty where there is none
}

// openAdmin listens where cfg says, if anywhere.
func openAdmin(ctx context.Context, cfg *Config, s *server.Server, logger *slog.Logger) (*admin, error) {
	a := &admin{logger: logger}
	metrics := metricsHandler(s)
	if cfg.MetricsListen != "" {
		ln, err := listen(ctx, cfg.MetricsListen)
		if err != nil {
			return nil, err
		}
		mux := http.NewServeMux()
		mux.Handle("GET /metrics", metrics)
		a.serve(ln, mux)
		logger.Info("metrics", "url", "http://"+ln.Addr().String()+"/metrics")
	}
	if cfg.AdminSocket != "" {
		ln, err := listenUnix(ctx, cfg.AdminSocket)
		if err != nil {
			return nil, errors.Join(err, a.close())
		}
		a.socket = cfg.AdminSocket
		a.serve(ln, adminHandler(cfg, s, metrics))
		logger.Info("admin socket", "file", cfg.AdminSocket)
	}
	return a, nil
}

func (a *admin) serve(ln net.Listener, h http.Handler) {
	hs := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(a.logger.Handler(), slog.LevelDebug)}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(ln) }()
	a.servers, a.served = append(a.servers, hs), append(a.served, served)
}

// close ends what listens. A profile that is being taken is cut short.
func (a *admin) close() error {
	var err error
	for i, hs := range a.servers {
		err = errors.Join(err, hs.Close())
		if e := <-a.served[i]; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
	}
	if a.socket != "" {
		if e := os.Remove(a.socket); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, fileError(report.CodeFileUnwritable, a.socket, e))
		}
	}
	return err
}

// metricsHandler adds the process and the build to what the server says.
func metricsHandler(s *server.Server) http.Handler {
	own := prometheus.NewRegistry()
	own.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "obstat_build_info", Help: "1; the labels say what was built.",
		ConstLabels: prometheus.Labels{"version": buildVersion(), "go": runtime.Version()},
	})
	build.Set(1)
	own.MustRegister(build)
	return promhttp.HandlerFor(prometheus.Gatherers{s.Metrics(), own}, promhttp.HandlerOpts{})
}

func buildVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// adminHandler is what the socket answers.
func adminHandler(cfg *Config, s *server.Server, metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		b, err := json.MarshalIndent(overviewOf(s), "", "  ")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(append(b, '\n')) // whoever asked is gone
	})
	mux.HandleFunc("GET /config", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/toml")
		_, _ = w.Write([]byte(cfg.text()))
	})
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// overview is a server at a glance, for a person and for scripts.
type overview struct {
	Origin             string `json:"origin"`
	Version            string `json:"version"`
	Size               uint64 `json:"size"`
	Root               string `json:"root"`
	Published          uint64 `json:"published"` // size of the checkpoint among the static files
	QueueItems         int    `json:"queue_items"`
	RollbackProtection string `json:"rollback_protection"`
	Stopped            string `json:"stopped,omitempty"` // why the log takes no more
	Damage             string `json:"damage,omitempty"`  // what reading back found
}

func overviewOf(s *server.Server) overview {
	head, st := s.Head(), s.Stats()
	out := overview{
		Origin: s.Origin(), Version: buildVersion(), Size: head.Size, Root: head.Root.String(), Published: st.OnDisk,
		QueueItems: st.QueueItems, RollbackProtection: s.Protection(), Damage: st.Damage,
	}
	if err := s.Err(); err != nil {
		out.Stopped = err.Error()
	}
	return out
}

// maxSocketPath is what every system takes as the address of a Unix socket, in
// bytes.
const maxSocketPath = 100

// listenUnix listens on a socket that its owner alone may open. One that a
// process which is gone left behind is replaced.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	refused := func(actual, fix string) error {
		return &report.Error{Code: report.CodeListenRefused, Where: path, Expected: "a place for a Unix socket", Actual: actual, Fix: fix}
	}
	if len(path) > maxSocketPath {
		return nil, refused(fmt.Sprintf("a path of %d bytes", len(path)), fmt.Sprintf("name one of at most %d bytes with --admin-socket", maxSocketPath))
	}
	switch st, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fileError(report.CodeFileUnreadable, path, err)
	case st.Mode().Type() != fs.ModeSocket:
		return nil, refused("another file", "name another with --admin-socket")
	default:
		if conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path); err == nil {
			return nil, errors.Join(refused("a socket on which a process listens", "stop that process, or name another with --admin-socket"), conn.Close())
		}
	}
	// Made in a directory of its own, where nobody else can open it before it has
	// its mode, and put in its place then.
	dir, err := os.MkdirTemp(filepath.Dir(path), ".admin-*")
	if err != nil {
		return nil, fileError(report.CodeFileUnwritable, path, err)
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, "s")
	ln, err := (&net.ListenConfig{}).Listen(ctx, "unix", made)
	if err != nil {
		return nil, refused(err.Error(), "")
	}
	if u, ok := ln.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // it will have another name
	}
	if err := errors.Join(os.Chmod(made, 0o600), os.Rename(made, path)); err != nil {
		return nil, errors.Join(fileError(report.CodeFileUnwritable, path, err), ln.Close())
	}
	return ln, nil
}
