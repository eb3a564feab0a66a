package server

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"

	"github.com/obstat/obstat/merkle"
)

// immutable is the caching of tiles and entry bundles: what a path names never
// changes.
const immutable = "public, max-age=604800, immutable"

// checkpoint answers the newest signed checkpoint.
func (s *Server) checkpoint(w http.ResponseWriter, _ *request) error {
	write(w, "text/plain; charset=utf-8", "no-store", s.log.Head().Note)
	return nil
}

// tile answers a hash tile or an entry bundle, of any width that the tree has
// by now (C2SP tlog-tiles). Any other is 404 and not to be cached.
func (s *Server) tile(w http.ResponseWriter, r *request) error {
	t, entries, err := merkle.ParsePath(r.URL.Path[1:])
	if err != nil {
		return err
	}
	if !entries {
		b, err := s.log.Tile(t)
		if err != nil {
			return err
		}
		write(w, "application/octet-stream", immutable, b)
		return nil
	}
	b, err := s.log.Entries(t.Index, t.Width)
	if err != nil {
		return err
	}
	w.Header().Set("Vary", "Accept-Encoding")
	if !acceptsGzip(r.Header) {
		write(w, "application/octet-stream", immutable, b)
		return nil
	}
	var buf bytes.Buffer
	if err := s.zip(&buf, b); err != nil {
		return err
	}
	w.Header().Set("Content-Encoding", "gzip")
	write(w, "application/octet-stream", immutable, buf.Bytes())
	return nil
}

func (s *Server) zip(dst *bytes.Buffer, b []byte) error {
	z, ok := s.zippers.Get().(*gzip.Writer)
	if !ok {
		var err error
		if z, err = gzip.NewWriterLevel(dst, gzip.BestSpeed); err != nil {
			return err
		}
	}
	z.Reset(dst)
	if _, err := z.Write(b); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	s.zippers.Put(z)
	return nil
}

// acceptsGzip reports whether a request names gzip, or any coding, as one it
// takes. Without Accept-Encoding the plain bytes go out: curl asks like that.
func acceptsGzip(h http.Header) bool {
	for _, line := range h.Values("Accept-Encoding") {
		for coding := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(strings.TrimSpace(coding), ";")
			if name = strings.TrimSpace(name); !strings.EqualFold(name, "gzip") && name != "*" {
				continue
			}
			weight, weighed := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(params), " ", ""), "q=")
			if q, err := strconv.ParseFloat(weight, 64); weighed && (err != nil || q <= 0) {
				continue
			}
			return true
		}
	}
	return false
}

// health says that the process answers.
func (s *Server) health(w http.ResponseWriter, _ *request) error {
	write(w, "application/json", "no-store", []byte("{\"status\":\"ok\"}\n"))
	return nil
}

// ready says that the log takes submissions, or that its registrars froze it, which
// is how it stays and no reason to send readers elsewhere; or what is wrong.
func (s *Server) ready(w http.ResponseWriter, _ *request) error {
	if err := s.log.Err(); err != nil {
		return err
	}
	size, status := s.log.Size(), "ready"
	if s.registry.durable(size).ended() != nil {
		status = "frozen"
	}
	b := append([]byte(`{"status":"`), status...)
	b = append(b, `","size":`...)
	b = strconv.AppendUint(b, size, 10)
	b = append(b, `,"rollback_protection":`...)
	b = strconv.AppendQuote(b, s.Protection())
	write(w, "application/json", "no-store", append(b, "}\n"...))
	return nil
}

func write(w http.ResponseWriter, mediaType, caching string, body []byte) {
	writeStatus(w, http.StatusOK, mediaType, caching, body)
}

func writeStatus(w http.ResponseWriter, status int, mediaType, caching string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Cache-Control", caching)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone is its own loss
}
