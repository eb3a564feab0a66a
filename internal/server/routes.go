package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/obstat/obstat/report"
)

// route is one path, or one family of paths, of spec/http.md.
type route struct {
	path   string   // "{name}" is a segment, "{…}" as the last one the rest
	method string   // GET has HEAD with it
	query  []string // names that may stand in the query, each once
	handle func(*Server, http.ResponseWriter, *request) error
	own    bool // for whoever operates the log: no web page reads it
}

// routes are all paths that a log answers.
func routes() []route {
	return []route{
		{"/v1/receipts", http.MethodPost, []string{"registry", "wait"}, (*Server).submit, false},
		{"/v1/receipts:batch", http.MethodPost, []string{"bundle", "registry", "wait"}, (*Server).batch, false},
		{"/v1/statements/{cid}", http.MethodGet, []string{"registry"}, (*Server).statement, false},
		{"/v1/leaves/{index}", http.MethodGet, []string{"registry"}, (*Server).leaf, false},
		{"/v1/receipts/{cid}", http.MethodGet, []string{"from", "limit"}, (*Server).receipt, false},
		{"/v1/runs/{principal}/{run}", http.MethodGet, []string{"from", "limit"}, (*Server).run, false},
		{"/v1/search", http.MethodGet, []string{"kind", "verdict", "disposition", "code", "engine", "from", "limit"}, (*Server).search, false},
		{"/v1/proofs/inclusion", http.MethodGet, []string{"index", "size"}, (*Server).inclusion, false},
		{"/v1/proofs/consistency", http.MethodGet, []string{"from", "to"}, (*Server).consistency, false},
		{"/v1/registry", http.MethodGet, nil, (*Server).registryChain, false},
		{"/v1/registry", http.MethodPost, nil, (*Server).changeRegistry, false},
		{"/v1/limits", http.MethodGet, nil, (*Server).limitsAnswer, false},
		{"/checkpoint", http.MethodGet, nil, (*Server).checkpoint, false},
		{"/tile/{…}", http.MethodGet, nil, (*Server).tile, false},
		{"/healthz", http.MethodGet, nil, (*Server).health, true},
		{"/readyz", http.MethodGet, nil, (*Server).ready, true},
	}
}

// request is an HTTP request that fits a route.
type request struct {
	*http.Request
	args  map[string]string // of the path
	query map[string]string // names that the route has, none twice and none empty
}

// match returns the values of a path's segments. A segment has one spelling: the
// characters of names as they are, but "/" as %2F.
func (t *route) match(path string) (map[string]string, bool) {
	want, have := strings.Split(t.path, "/"), strings.Split(path, "/")
	args := map[string]string{}
	for i, w := range want {
		switch {
		case i >= len(have):
			return nil, false
		case w == "{…}":
			return args, have[i] != "" && !strings.Contains(path, "%")
		case strings.HasPrefix(w, "{"):
			value := strings.ReplaceAll(have[i], "%2F", "/")
			if value == "" || strings.Contains(value, "%") {
				return nil, false
			}
			args[w[1:len(w)-1]] = value
		case w != have[i]:
			return nil, false
		}
	}
	return args, len(want) == len(have)
}

// ServeHTTP routes by the exact path: a path has one spelling, and nothing is
// redirected.
func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	begin, route := time.Now(), "none"
	w := &statusWriter{ResponseWriter: rw}
	var refusal error
	defer func() { // also where the client went away
		s.metrics.answered(route, methodLabel(r.Method), w.status, time.Since(begin), refusal)
	}()
	if refusal = s.route(w, r, &route); refusal != nil {
		s.refuse(w, r, refusal)
	}
}

// route answers, and says which route it was; it stays as it is where none fits.
func (s *Server) route(w http.ResponseWriter, r *http.Request, route *string) error {
	path := r.URL.EscapedPath()
	var allow []string
	for i := range s.routes {
		t := &s.routes[i]
		args, ok := t.match(path)
		if !ok {
			continue
		}
		*route = t.path
		reads := t.method == http.MethodGet
		if s.public && reads && !t.own { // browsers verify too
			w.Header().Set("Access-Control-Allow-Origin", "*")
		}
		if r.Method != t.method && !(reads && r.Method == http.MethodHead) {
			allow = append(allow, t.method)
			if reads {
				allow = append(allow, http.MethodHead)
			}
			continue
		}
		query, err := t.parseQuery(r.URL)
		if err != nil {
			return err
		}
		return t.handle(s, w, &request{r, args, query})
	}
	if len(allow) > 0 {
		w.Header().Set("Allow", strings.Join(allow, ", "))
		return &report.Error{Code: report.CodeHTTPMethod, Expected: strings.Join(allow, ", "), Actual: fmt.Sprintf("%q", r.Method)}
	}
	return &report.Error{
		Code: report.CodeHTTPPath, Expected: "a path of spec/http.md, such as /v1/receipts, /checkpoint or /tile/…",
		Actual: fmt.Sprintf("%q", path),
	}
}

// parseQuery refuses what the route does not have; a lone "?" is a query too, or
// a path had two spellings.
func (t *route) parseQuery(u *url.URL) (map[string]string, error) {
	if u.RawQuery == "" && !u.ForceQuery {
		return nil, nil
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil || len(t.query) == 0 || len(values) == 0 {
		return nil, badQuery(u, t.takes())
	}
	query := map[string]string{}
	for name, v := range values {
		if !slices.Contains(t.query, name) || len(v) != 1 || v[0] == "" {
			return nil, badQuery(u, t.takes())
		}
		query[name] = v[0]
	}
	return query, nil
}

func (t *route) takes() string {
	if len(t.query) == 0 {
		return "no query"
	}
	return "each once and with a value: " + strings.Join(t.query, ", ")
}

func badQuery(u *url.URL, expected string) error {
	return &report.Error{Code: report.CodeHTTPQuery, Expected: expected, Actual: fmt.Sprintf("%q", "?"+u.RawQuery)}
}
