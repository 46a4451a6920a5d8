package config

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
)

// Authenticates reports whether callers over HTTP need a credential, or at least
// must have a good one if they have any.
func Authenticates(a *configv1.Auth) bool {
	return a != nil && (!a.GetAnonymous() || accepts(a))
}

// accepts reports whether any credential is accepted.
func accepts(a *configv1.Auth) bool {
	return len(a.GetJwt()) > 0 || len(a.GetIntrospection()) > 0 || a.GetApiKeys() != nil || a.GetMtls() != nil
}

// auth reports what is wrong with who is let in.
func (k *checker) auth() {
	a, s := k.config.GetAuth(), k.config.GetServer()
	if a == nil {
		if s.GetTls().GetClientCa() != "" {
			return // TLS lets nobody else in
		}
		for i, address := range s.GetListen() {
			if !local(address) {
				k.problem(nth("server.listen", i), "other machines can reach this address, and auth is not set; set auth, or let everyone in by auth.anonymous: true")
			}
		}
		return
	}
	if !a.GetAnonymous() && !accepts(a) && a.GetStdio() == nil {
		k.problem("auth", "no credential is accepted, so nobody could call; set jwt, introspection, apiKeys, mtls or anonymous")
	}
	if a.GetMtls() != nil && s.GetTls().GetClientCa() == "" {
		k.problem("auth.mtls", "client certificates are verified by server.tls.clientCa, which is missing")
	}
	issuers := make(map[string]bool)
	for i, j := range a.GetJwt() {
		path := nth("auth.jwt", i)
		if issuers[j.GetIssuer()] {
			k.problem(path+".issuer", "the issuer is listed twice; list its audiences together")
		}
		issuers[j.GetIssuer()] = true
		if len(j.GetAudiences()) == 0 && s.GetPublicUrl() == "" {
			k.problem(path+".audiences", "tokens must be for somebody; set audiences, or server.publicUrl")
		}
		if j.GetJwksUrl() != "" && j.GetJwksFile() != "" {
			k.problem(path+".jwksFile", "jwksUrl and jwksFile exclude each other")
		}
	}
	if !accepts(a) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(k.config.GetUpstreams())) {
		u := k.config.GetUpstreams()[name]
		for i, header := range u.GetForwardHeaders() {
			if forwardsTokens(header) && !u.GetSharesAudience() {
				k.problem(nth(at("upstreams", name)+".forwardHeaders", i),
					"tokens for this gateway are not for the upstream, which could use them; set sharesAudience if it is their audience too")
			}
		}
	}
}

// forwardsTokens reports whether the name of a header, or its beginning and a *,
// means the Authorization.
func forwardsTokens(pattern string) bool {
	beginning, glob := strings.CutSuffix(strings.ToLower(pattern), "*")
	return beginning == "authorization" || glob && strings.HasPrefix("authorization", beginning)
}

// local reports whether only this machine can reach an address to listen on.
func local(address string) bool {
	if isUnix(address) {
		return true
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return true // which is reported elsewhere
	}
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback()
}

// withAuth sets what follows from auth.
func withAuth(c *configv1.Config) {
	if c.GetServer().GetReflection() == configv1.Reflection_REFLECTION_UNSPECIFIED && Authenticates(c.GetAuth()) {
		c.Server.Reflection = configv1.Reflection_REFLECTION_AUTHENTICATED
	}
}
