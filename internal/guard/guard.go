// Package guard decides whether an HTTP request may reach an MCP endpoint at
// all, by where it comes from and what it is addressed to.
package guard

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
)

// Policy says which requests are let through. The zero value lets loopback
// clients reach a loopback server.
type Policy struct {
	// Origins are values of the Origin header that are allowed beside those
	// of loopback hosts and of the requested host. "*" allows any. The host
	// asked counts where Hosts has its name, or where it is an IP address: any
	// other name may be one that an attacker has pointed here, and then the page
	// and the host have the same name.
	Origins []string
	// Hosts are host names, without port, that a request may be addressed to
	// beside loopback ones. "*" allows any. Where it is empty, connections
	// that arrive on a loopback address must be addressed to a loopback name,
	// and others may name any; a request from a browser's page must then come
	// from one of Origins, a loopback host, or the IP address asked.
	Hosts []string
}

// Validate reports entries that cannot match anything.
func (p *Policy) Validate() error {
	var errs []error
	for _, o := range p.Origins {
		_, host, ok := strings.Cut(o, "://")
		switch {
		case o == "*":
		case !ok:
			errs = append(errs, fmt.Errorf("allowed origin %q needs a scheme, such as https://%s", o, o))
		case strings.Contains(host, "/"):
			errs = append(errs, fmt.Errorf("allowed origin %q must end with the host or port: browsers send no path", o))
		}
	}
	for _, h := range p.Hosts {
		if h == "" || hostname(h) != h || strings.Contains(h, "/") {
			errs = append(errs, fmt.Errorf("allowed host %q must be a host name without scheme and port", h))
		}
	}
	return errors.Join(errs...)
}

// Refuse returns why a request must not be served, or "". A browser can be
// made to send requests here by any page it shows, and DNS rebinding lets
// that page read the answers: the Origin and the Host tell
// (basic/transports/streamable-http, Security & Endpoint).
func (p *Policy) Refuse(r *http.Request) string {
	host := hostname(r.Host)
	switch {
	case p.named(host), isLoopback(host):
	case len(p.Hosts) == 0 && !arrivedOnLoopback(r):
	default:
		return fmt.Sprintf("host %q is not served here; allow it by name if it is meant", clip.Name(host))
	}
	for _, origin := range r.Header.Values("Origin") {
		if reason := p.refuseOrigin(r, origin); reason != "" {
			return reason
		}
	}
	return ""
}

// named reports whether Hosts allows a host.
func (p *Policy) named(host string) bool {
	return slices.ContainsFunc(p.Hosts, func(a string) bool { return a == "*" || strings.EqualFold(a, host) })
}

func (p *Policy) refuseOrigin(r *http.Request, origin string) string {
	if origin == "" || slices.Contains(p.Origins, "*") ||
		slices.ContainsFunc(p.Origins, func(a string) bool { return strings.EqualFold(a, origin) }) {
		return ""
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return "the Origin header names no origin that is allowed here"
	}
	// A page that this very host serves may call it; so may local tools.
	switch host := hostname(r.Host); {
	case isLoopback(u.Hostname()):
		return ""
	case !strings.EqualFold(u.Host, r.Host):
	case p.named(host), isAddress(host):
		return ""
	default:
		return fmt.Sprintf("origin %q is not allowed here, as host %q is not known; allow either by name if it is meant", clip.Name(origin), clip.Name(host))
	}
	return fmt.Sprintf("origin %q is not allowed here", clip.Name(origin))
}

// hostname returns host without its port and brackets.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// arrivedOnLoopback reports whether the connection came in on a loopback
// address. Where the server does not say, it did: the strict answer is safe.
func arrivedOnLoopback(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return true
	}
	tcp, ok := local.(*net.TCPAddr)
	if !ok {
		return false // a unix socket or this very process, which no browser reaches
	}
	return tcp.IP.IsLoopback()
}
