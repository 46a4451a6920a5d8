package gateway

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// identify tells fronts who a request comes from. A principal that middleware in
// front has set stays; otherwise it is an anonymous one, that is told from others
// by its Authorization and by the headers that any upstream gets.
func (s *settings) identify(r *http.Request) *http.Request {
	client := s.clientAddress(r)
	ctx := r.Context()
	if protocol.PrincipalFrom(ctx) == nil {
		ctx = protocol.WithPrincipal(ctx, protocol.AnonymousPrincipal(client, s.credentials(r.Header)...))
	}
	r = r.WithContext(ctx)
	r.RemoteAddr = client
	return r
}

// credentials returns what tells anonymous callers apart.
func (s *settings) credentials(h http.Header) []string {
	all := slices.Clone(h["Authorization"])
	var names []string
	for name := range h {
		if name != "Authorization" && s.forwards(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		all = append(all, name)
		all = append(all, h[name]...)
	}
	return all
}

// forwards reports whether any upstream gets a header.
func (s *settings) forwards(name string) bool {
	for _, pattern := range s.forwarded {
		if beginning, ok := strings.CutSuffix(pattern, "*"); ok {
			if len(name) >= len(beginning) && strings.EqualFold(name[:len(beginning)], beginning) {
				return true
			}
		} else if strings.EqualFold(name, pattern) {
			return true
		}
	}
	return false
}

// parseProxies reads addresses and networks.
func parseProxies(texts []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if addr, addrErr := netip.ParseAddr(text); addrErr == nil {
			prefix, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("server.trustedProxies: %q is no IP address or network, such as 10.0.0.0/8", text)
		}
		all = append(all, prefix.Masked())
	}
	return all, nil
}

// clientAddress returns the address of the client: the one that the nearest proxy
// that is not trusted, or else the first of the trusted ones, was asked by.
func (s *settings) clientAddress(r *http.Request) string {
	if len(s.proxies) == 0 || !s.trusts(r.RemoteAddr) {
		return r.RemoteAddr
	}
	client := r.RemoteAddr
	for _, hop := range slices.Backward(hops(r.Header)) {
		if _, ok := parseHop(hop); !ok {
			break // and what stands further left is not to be believed either
		}
		client = hop
		if !s.trusts(hop) {
			break
		}
	}
	return client
}

// trusts reports whether an address is that of a trusted proxy. Peers on a unix
// socket have no address, so they are not.
func (s *settings) trusts(hop string) bool {
	addr, ok := parseHop(hop)
	return ok && slices.ContainsFunc(s.proxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// parseHop reads an address with or without a port and brackets.
func parseHop(hop string) (netip.Addr, bool) {
	host, _, err := net.SplitHostPort(hop)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hop, "["), "]")
	}
	addr, err := netip.ParseAddr(host)
	return addr.Unmap().WithZone(""), err == nil
}

// hops returns the addresses that proxies have noted, the client's first:
// X-Forwarded-For, or where there is none, Forwarded (RFC 7239).
func hops(h http.Header) []string {
	var all []string
	if values := h["X-Forwarded-For"]; len(values) > 0 {
		for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
			all = append(all, strings.TrimSpace(part))
		}
		return all
	}
	for element := range strings.SplitSeq(strings.Join(h["Forwarded"], ","), ",") {
		hop := ""
		for pair := range strings.SplitSeq(element, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
			if strings.EqualFold(name, "for") {
				hop = strings.Trim(value, `"`)
			}
		}
		all = append(all, hop)
	}
	return all
}
