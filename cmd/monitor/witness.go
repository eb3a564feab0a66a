package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/witness"
)

// Names in a witness's directory.
const (
	witnessKey   = "witness.key"
	witnessVKey  = "witness.vkey"
	witnessState = "state"
)

const defaultWitnessListen = "127.0.0.1:8081"

func witnessCommand(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return usagef("witness needs one of init and serve")
	}
	switch command, rest := args[0], args[1:]; command {
	case "init":
		return witnessInit(rest, stdout)
	case "serve":
		return witnessServe(ctx, rest, stdout, stderr)
	case "help", "--help", "-help", "-h":
		return say(stdout, helpWitness)
	default:
		return usagef("witness has no command %q: init or serve", command)
	}
}

// witnessInit makes a witness's directory: a key, and what others are told.
func witnessInit(args []string, stdout io.Writer) error {
	var dir, name string
	f := flags("witness")
	once(f, "dir", &dir)
	once(f, "name", &name)
	if err := parse(f, args, helpWitness, stdout, 0); err != nil {
		return err
	}
	if dir == "" || name == "" {
		return usagef("witness init needs --dir and --name: a directory, and a name for ever such as witness.example.com/w1")
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	s, err := checkpoint.NewSigner(name, checkpoint.TypeCosignature, key)
	if err != nil {
		return usagef("--name: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, witnessState), 0o700); err != nil {
		return fileError(report.CodeFileUnwritable, dir, err)
	}
	if err := writePrivateKey(filepath.Join(dir, witnessKey), key); err != nil {
		return err
	}
	if err := writeNew(filepath.Join(dir, witnessVKey), []byte(s.Key.String()+"\n"), 0o644); err != nil {
		return err
	}
	label := "w"
	if last := name[strings.LastIndexByte(name, '/')+1:]; last != "" && last != "none" {
		label = last
	}
	return say(stdout, fmt.Sprintf("witness %s %s\n", label, s.Key))
}

// witnessServe cosigns until ctx ends.
func witnessServe(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	var dir, logs, listen, refusals string
	f := flags("witness")
	once(f, "dir", &dir)
	once(f, "logs", &logs)
	once(f, "listen", &listen)
	once(f, "refusals", &refusals)
	if err := parse(f, args, helpWitness, stdout, 0); err != nil {
		return err
	}
	if dir == "" || logs == "" {
		return usagef("witness serve needs --dir and --logs: its directory, and the list of logs that it cosigns")
	}
	cfg := witness.Config{Logger: slog.New(slog.NewTextHandler(stderr, nil))}
	if refusals != "" {
		n, err := strconv.ParseFloat(refusals, 64)
		if err != nil || n < 0 {
			return usagef("--refusals %s is no number of requests a second", refusals)
		}
		if cfg.Refusals = n; n == 0 {
			cfg.Refusals = -1
		}
	}
	if cfg.Signers, err = witnessSigners(dir); err != nil {
		return err
	}
	if cfg.Logs, err = readLogList(logs); err != nil {
		return err
	}
	if cfg.FS, err = durable.OpenDir(filepath.Join(dir, witnessState)); err != nil {
		return fileError(report.CodeFileUnreadable, filepath.Join(dir, witnessState), err)
	}
	ln, err := listenOn(ctx, listen, defaultWitnessListen)
	if err != nil {
		return err
	}
	w, err := witness.Open(cfg)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	cfg.Logger.Info("cosigning", "witness", cfg.Signers[0].Key.Name, "logs", len(cfg.Logs), "listen", ln.Addr().String())
	if err := say(stdout, fmt.Sprintf("http://%s\n", ln.Addr())); err != nil {
		return errors.Join(err, ln.Close())
	}
	defer reloadLists(ctx, w, logs, cfg.Logger)()
	return serveHTTP(ctx, ln, w, cfg.Logger)
}

// witnessSigners reads a witness's key under the name that it was made with.
func witnessSigners(dir string) ([]*checkpoint.Signer, error) {
	text, err := readSmall(filepath.Join(dir, witnessVKey))
	if err != nil {
		return nil, err
	}
	vkey, err := checkpoint.ParseVKey(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, witnessVKey), err)
	}
	key, err := readPrivateKey(filepath.Join(dir, witnessKey))
	if err != nil {
		return nil, err
	}
	s, err := checkpoint.NewSigner(vkey.Name, checkpoint.TypeCosignature, key)
	if err != nil {
		return nil, err
	}
	if s.Key.String() != vkey.String() {
		return nil, &report.Error{Code: report.CodeWitnessConfig, Where: filepath.Join(dir, witnessKey), Expected: "the key of " + vkey.String(), Actual: "another",
			Fix: "put back the file that witness init made"}
	}
	return []*checkpoint.Signer{s}, nil
}

func readLogList(file string) ([]witness.Log, error) {
	b, err := readSmall(file)
	if err != nil {
		return nil, err
	}
	logs, err := witness.ParseList(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return logs, nil
}

// reloadLists reads the list of logs again at every SIGHUP. One that cannot be
// read leaves the old in place. The returned function ends that.
func reloadLists(ctx context.Context, w *witness.Witness, file string, logger *slog.Logger) (stop func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hup:
			}
			logs, err := readLogList(file)
			if err == nil {
				err = w.SetLogs(logs)
			}
			if err != nil {
				logger.Error("the list of logs stays as it was", "error", err)
				continue
			}
			logger.Info("the list of logs was read again", "logs", len(logs))
		}
	}()
	return func() {
		signal.Stop(hup)
		cancel()
		<-done
	}
}

// listenOn takes an address; loopback where nobody says.
func listenOn(ctx context.Context, address, otherwise string) (net.Listener, error) {
	if address == "" {
		address = otherwise
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		cause := err
		var op *net.OpError
		if errors.As(err, &op) {
			cause = op.Err
		}
		return nil, &report.Error{Code: report.CodeListenRefused, Where: address, Expected: "an address of this machine that nobody listens on", Actual: cause.Error(), Fix: "name another with --listen"}
	}
	return ln, nil
}

// serveHTTP answers until ctx ends, then takes no new requests and answers those
// that are there.
func serveHTTP(ctx context.Context, ln net.Listener, h http.Handler, logger *slog.Logger) error {
	hs := &http.Server{
		Handler: h, DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- hs.Serve(ln) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	err := hs.Shutdown(within)
	if err != nil {
		err = errors.Join(err, hs.Close())
	}
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	logger.Info("stopped")
	return err
}
