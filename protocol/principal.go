package protocol

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"net"
	"net/netip"
	"slices"
	"time"
)

// AuthMethod says how a [Principal] was established.
type AuthMethod string

// The methods of authentication.
const (
	AuthJWT           AuthMethod = "jwt"
	AuthIntrospection AuthMethod = "introspection"
	AuthAPIKey        AuthMethod = "api_key"
	AuthMTLS          AuthMethod = "mtls"
	AuthStdio         AuthMethod = "stdio"
	// AuthAnonymous is a caller that nobody has authenticated.
	AuthAnonymous AuthMethod = "anonymous"
	// AuthInternal is this program itself; see [InternalPrincipal].
	AuthInternal AuthMethod = "internal"
)

// Principal is who a request comes from. A front sets it once, on the [Caller].
// Whatever must tell callers apart (sessions, parked calls, tasks, upstream
// sessions, subscriptions) compares [Principal.Key] and nothing else. A
// Principal is immutable and used concurrently.
type Principal struct {
	// Method says how the principal was established.
	Method AuthMethod
	// Issuer and Subject name the principal. An anonymous one has neither.
	Issuer, Subject string
	// Scopes are the scopes that its credential grants.
	Scopes []string
	// Claims is the JSON object of the credential's claims, or nil.
	Claims json.RawMessage
	// Expiry is when the credential expires. The zero time means never.
	Expiry time.Time

	key, quota string
	address    string // of an anonymous principal
}

// NewPrincipal returns an authenticated principal. Its key depends on Method,
// Issuer and Subject alone, so that a refreshed credential has the same key; a
// token is the same principal whether it was verified as a JWT or by
// introspection.
func NewPrincipal(p Principal) *Principal {
	p.Scopes = slices.Clone(p.Scopes)
	kind := p.Method
	if kind == AuthIntrospection {
		kind = AuthJWT
	}
	p.key = digest(string(kind), p.Issuer, p.Subject)
	p.quota = p.key
	return &p
}

// AnonymousPrincipal returns the principal of a caller that nobody has
// authenticated. Its key digests credentials, the values of the headers by which
// upstreams may tell callers apart. Its quota is that of remoteAddr, which is
// host:port, a host, or empty.
func AnonymousPrincipal(remoteAddr string, credentials ...string) *Principal {
	p := anonymous(remoteAddr, credentials)
	return &p
}

func anonymous(remoteAddr string, credentials []string) Principal {
	p := Principal{Method: AuthAnonymous, key: anonymousKey, address: remoteAddr}
	if len(credentials) > 0 {
		p.key = digest(string(AuthAnonymous), credentials...)
	}
	return p
}

// anonymousKey is the key of anonymous principals without credentials.
var anonymousKey = digest(string(AuthAnonymous))

var internalPrincipal = &Principal{Method: AuthInternal, key: digest(string(AuthInternal)), quota: string(AuthInternal)}

// InternalPrincipal returns the principal of requests that this program makes on
// its own account: lists, probes and shared subscriptions. It is below every
// [Guard], and it never calls a tool. Fronts refuse it from [PrincipalFrom].
func InternalPrincipal() *Principal { return internalPrincipal }

// Key identifies the principal. It is opaque, of fixed length, and the same in
// every process. The key of nil is that of an anonymous principal without
// credentials.
func (p *Principal) Key() string {
	if p == nil || p.key == "" {
		return anonymousKey
	}
	return p.key
}

// Quota identifies whom limits count the principal as: the principal itself, or,
// where it is anonymous, its address, of which IPv6 ones count by /64.
func (p *Principal) Quota() string {
	switch {
	case p == nil:
		return "address " + quotaAddress("")
	case p.quota == "":
		return "address " + quotaAddress(p.address)
	}
	return p.quota
}

// Internal reports whether p is the [InternalPrincipal].
func (p *Principal) Internal() bool { return p == internalPrincipal }

// Authenticated reports whether somebody has established who p is.
func (p *Principal) Authenticated() bool {
	return p != nil && p.Method != "" && p.Method != AuthAnonymous
}

func quotaAddress(remoteAddr string) string {
	host, _, err := net.SplitHostPort(remoteAddr)
	if err != nil {
		host = remoteAddr
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	addr = addr.Unmap().WithZone("")
	if !addr.Is6() {
		return addr.String()
	}
	const subnet = 64 // what one customer of a provider has
	prefix, err := addr.Prefix(subnet)
	if err != nil { // 64 fits every IPv6 address
		return addr.String()
	}
	return prefix.String()
}

// digest returns a hash of the method and parts, each of which stands for itself.
func digest(method string, parts ...string) string {
	b := make([]byte, 0, 512) // on the stack
	b = appendPart(b, method)
	for _, part := range parts {
		b = appendPart(b, part)
	}
	sum := sha256.Sum256(b)
	return string(sum[:])
}

func appendPart(dst []byte, part string) []byte {
	return append(binary.BigEndian.AppendUint64(dst, uint64(len(part))), part...)
}

type principalKey struct{}

// WithPrincipal returns a context that tells fronts who a request comes from.
// Authentication in front of an http.Handler of this module sets it.
func WithPrincipal(ctx context.Context, p *Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns the principal that [WithPrincipal] has set, or nil. The
// [InternalPrincipal] counts as none: no request from outside has it.
func PrincipalFrom(ctx context.Context) *Principal {
	p, _ := ctx.Value(principalKey{}).(*Principal)
	if p.Internal() {
		return nil
	}
	return p
}
