package server

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/obstat/obstat/report"
)

// forThisMachine answers requests as ServeHTTP does, if their Host is this
// machine. A page of any web site can have its own name point at 127.0.0.1, and
// its script then reads what answers there as if it were its own; the name is
// what gives it away.
func (s *Server) forThisMachine(w http.ResponseWriter, r *http.Request) {
	if loopbackHost(r.Host) {
		s.ServeHTTP(w, r)
		return
	}
	s.misled.Do(func() {
		s.logger.Warn("a request for another host was refused, as later ones will be",
			"host", r.Host, "fix", "a proxy sends Host: localhost, or the log is served with --public")
	})
	s.refuse(w, r, &report.Error{
		Code: report.CodeHTTPHost, Where: "Host",
		Expected: "localhost or a loopback address, since this log is not public", Actual: fmt.Sprintf("%q", r.Host),
	})
}

// loopbackHost reports whether a Host header names this machine. One that is
// empty comes from no browser.
func loopbackHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if name == "" || strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}
