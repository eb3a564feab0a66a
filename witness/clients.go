package witness

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxClients is how many addresses that cause refusals are remembered.
const maxClients = 4096

// clients bounds what strangers cost: an address that causes many refusals is
// not looked at for a while. Requests that are cosigned cost it nothing, so logs
// behind one address do not stand in each other's way.
type clients struct {
	perSecond rate.Limit // negative: no bound

	mu   sync.Mutex
	seen map[netip.Prefix]*client // guarded by mu
}

type client struct {
	limit *rate.Limiter
	last  time.Time
}

// addressOf is the network address that a request comes from: one machine of
// IPv4, and of IPv6 the 64 bits that one subscriber is given.
func addressOf(remote string) netip.Prefix {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	ip = ip.Unmap().WithZone("")
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	p, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}

// allowed reports whether a request from an address is looked at.
func (c *clients) allowed(from netip.Prefix, now time.Time) bool {
	if c.perSecond < 0 {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	have := c.seen[from]
	return have == nil || have.limit.TokensAt(now) >= 1
}

// refused counts a refusal against an address.
func (c *clients) refused(from netip.Prefix, now time.Time) {
	if c.perSecond < 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	have := c.seen[from]
	if have == nil {
		if c.seen == nil {
			c.seen = map[netip.Prefix]*client{}
		}
		if len(c.seen) >= maxClients {
			c.forget()
		}
		have = &client{limit: rate.NewLimiter(c.perSecond, max(1, int(2*c.perSecond)))}
		c.seen[from] = have
	}
	have.last = now
	have.limit.AllowN(now, 1)
}

// forget drops the address that was refused longest ago. The caller holds mu.
func (c *clients) forget() {
	var oldest netip.Prefix
	var at time.Time
	for p, have := range c.seen {
		if at.IsZero() || have.last.Before(at) {
			oldest, at = p, have.last
		}
	}
	delete(c.seen, oldest)
}
