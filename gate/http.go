package gate

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// MaxBody is how much of the body of an answer is kept, in bytes. What comes
// after that is read and dropped.
const MaxBody = 1 << 20

// httpTime is how long one request may take, from dialling to the end of the
// answer, where its context does not say less.
const httpTime = 2 * time.Minute

// maxInterim is how many interim answers (RFC 9110, section 15.2) are passed over.
const maxInterim = 8

// HTTP sends one HTTP/1.1 request, written out byte by byte as its preview says
// (spec/preview.md#http), over a connection of its own, and follows no redirect:
// another request is another effect.
//
// The connection leads to Address where it is given; the preview then has it.
// Without it the host's name is looked up when the request is sent, and an
// address that is not public (a loopback, private or link-local one, where
// metadata services and internal ones live) is refused. Under https the
// certificate says that the host is the one named.
type HTTP struct {
	Method  string
	URL     string           // in the one spelling of spec/preview.md#http
	Headers []preview.Header // as they leave; no Host; Content-Length is added where there is a body
	Body    []byte           // nil: none
	Address string           // "ip:port", optional
	// Roots are whom certificates are believed from; nil: the system's.
	Roots *x509.CertPool
}

// Response is what came back.
type Response struct {
	Status  int
	Header  http.Header
	Body    []byte // the first MaxBody bytes
	Dropped int64  // bytes that came after those
}

// Freeze writes the request out.
func (h *HTTP) Freeze() (Frozen, error) {
	in := preview.HTTP{Method: h.Method, URL: h.URL, Address: h.Address, Headers: slices.Clone(h.Headers)}
	body := slices.Clone(h.Body)
	if h.Body != nil {
		in.Body = preview.ContentOf(body)
		in.Headers = append(in.Headers, preview.Header{Name: "Content-Length", Value: strconv.Itoa(len(body))})
	}
	u, err := url.Parse(h.URL)
	if err != nil {
		return nil, err
	}
	f := &frozenHTTP{wire: append(in.Head(), body...), address: h.Address, host: u.Hostname(), port: u.Port(), roots: h.Roots}
	switch {
	case u.Scheme == "https":
		f.tls = true
		if f.port == "" {
			f.port = "443"
		}
	case f.port == "":
		f.port = "80"
	}
	return f, nil
}

// frozenHTTP holds the bytes that leave. What it says about itself it reads out
// of them.
type frozenHTTP struct {
	wire       []byte
	tls        bool
	host, port string
	address    string
	roots      *x509.CertPool
	once
}

// Plan reads the request out of its bytes.
func (f *frozenHTTP) Plan() Plan {
	in := preview.HTTP{Address: f.address}
	head, body, _ := bytes.Cut(f.wire, []byte("\r\n\r\n"))
	lines := strings.Split(string(head), "\r\n")
	method, rest, _ := strings.Cut(lines[0], " ")
	target := strings.TrimSuffix(rest, " HTTP/1.1")
	authority := ""
	for i, l := range lines[1:] {
		name, value, _ := strings.Cut(l, ": ")
		if i == 0 {
			authority = value
			continue
		}
		if strings.EqualFold(name, "Content-Length") {
			in.Body = preview.ContentOf(body)
		}
		in.Headers = append(in.Headers, preview.Header{Name: name, Value: value})
	}
	scheme := "http://"
	if f.tls {
		scheme = "https://"
	}
	in.Method, in.URL = method, scheme+authority+target
	if !bytes.Equal(append(in.Head(), body...), f.wire) {
		in = preview.HTTP{} // which no preview is made of: these bytes are no request as it is written here
	}
	return Plan{Intent: in, Effects: []preview.Effect{{On: preview.OnNetwork, Target: authority}}}
}

func (f *frozenHTTP) Close() error { return nil }

// Invert says that what a request changes is out of reach.
func (f *frozenHTTP) Invert() (Inverse, error) { return Inverse{None: codeExternal}, nil }

// Check touches no network: nothing about a request can be looked at beforehand.
func (f *frozenHTTP) Check(context.Context) error { return nil }

// Apply dials, sends, and reads the answer.
func (f *frozenHTTP) Apply(ctx context.Context, _ Call) Result {
	if err := f.take(); err != nil {
		return Result{Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, httpTime)
	defer cancel()
	conn, err := f.dial(ctx)
	if err != nil {
		return Result{Err: &FailedError{codeUnreachable, receipt.RestoredYes, err}}
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer stop()
	if _, err := conn.Write(f.wire); err != nil {
		// Some of it may have arrived, and been enough.
		return Result{Err: &UnobservedError{codeConnectionLost, err}}
	}
	return f.answer(ctx, conn)
}

func (f *frozenHTTP) answer(ctx context.Context, conn net.Conn) Result {
	method, _, _ := strings.Cut(string(f.wire), " ")
	from := bufio.NewReader(conn)
	resp, err := http.ReadResponse(from, &http.Request{Method: method})
	for range maxInterim {
		if err != nil || resp.StatusCode > 199 {
			break
		}
		resp, err = http.ReadResponse(from, &http.Request{Method: method}) // what came was no answer yet
	}
	if err != nil {
		code := codeNoAnswer
		switch {
		case ctx.Err() != nil:
			code = codeTimedOut
		case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
			code = codeConnectionLost
		}
		return Result{Err: &UnobservedError{code, err}}
	}
	defer resp.Body.Close()
	r := &Response{Status: resp.StatusCode, Header: resp.Header}
	r.Body, err = io.ReadAll(io.LimitReader(resp.Body, MaxBody))
	if err == nil {
		r.Dropped, err = io.Copy(io.Discard, resp.Body)
	}
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		err = &FailedError{codeRemoteRefused, receipt.RestoredUnknown, fmt.Errorf("it answered %s", resp.Status)}
	case err != nil: // it was done, and what was said about it is cut short
		err = &UnobservedError{codeConnectionLost, err}
	}
	return Result{Err: err, Response: r}
}

func (f *frozenHTTP) dial(ctx context.Context) (net.Conn, error) {
	addresses, err := f.resolve(ctx)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	var errs []error
	for _, a := range addresses {
		conn, err := d.DialContext(ctx, "tcp", a.String())
		if err == nil && f.tls {
			// One protocol, so that the bytes are the ones that were judged.
			t := tls.Client(conn, &tls.Config{ServerName: f.host, NextProtos: []string{"http/1.1"}, RootCAs: f.roots, MinVersion: tls.VersionTLS12})
			if err = t.HandshakeContext(ctx); err == nil {
				return t, nil
			}
			conn.Close()
		}
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// resolve returns where the connection may lead.
func (f *frozenHTTP) resolve(ctx context.Context) ([]netip.AddrPort, error) {
	if f.address != "" {
		a, err := netip.ParseAddrPort(f.address)
		return []netip.AddrPort{a}, err
	}
	port, err := strconv.ParseUint(f.port, 10, 16)
	if err != nil {
		return nil, err
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", f.host)
	if err != nil {
		return nil, err
	}
	var all []netip.AddrPort
	for _, a := range found {
		if a = a.Unmap(); public(a) {
			all = append(all, netip.AddrPortFrom(a, uint16(port)))
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s leads to %v, none of them public; name the address where that is meant", f.host, found)
	}
	return all, nil
}

// special are ranges that netip has no word for: this network, shared address
// space, protocol assignments, benchmarking, reserved; and translation and
// relaying into IPv4.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/32"),
}

// public says whether an address is one of the open Internet.
func public(a netip.Addr) bool {
	return a.IsGlobalUnicast() && !a.IsPrivate() && !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}
