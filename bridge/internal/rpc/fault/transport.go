package fault

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// Peer is what messages say of the other side.
type Peer struct {
	// Name is where it listens ("localhost:50051", the path of a socket) or
	// what it is ("the in-process server").
	Name string
	// Plain and Secure are the URLs that reach it without and with TLS: what
	// to suggest when the two sides disagree. Empty where there is no choice.
	Plain, Secure string
	// TLS says which of the two is in use.
	TLS bool
}

// PeerOf describes the upstream at a URL.
func PeerOf(u upstreamurl.URL) Peer {
	p := Peer{Name: u.Address(), TLS: u.TLS}
	if u.Unix == "" && u.Resolver == "" {
		p.Plain, p.Secure = u.WithTLS(false).String(), u.WithTLS(true).String()
	}
	return p
}

// Unreachable returns the status of a call that no peer took: the connection
// could not be made. The message says what to do about the common reasons.
//
// grpc-go hands out its connection errors as text only, so the reasons are
// told apart by type and by text.
func (p Peer) Unreachable(err error) *rpc.StatusError {
	message := p.diagnose(err)
	if message == "" {
		message = "cannot reach " + p.Name + ": " + detail(err)
	}
	return New(code.Code_UNAVAILABLE, err, "%s", message)
}

// Lost returns the status of a call whose connection broke before the peer
// had answered in full.
func (p Peer) Lost(err error) *rpc.StatusError {
	return New(code.Code_UNAVAILABLE, err, "the connection to %s was lost before the call ended: %s", p.Name, detail(err))
}

func (p Peer) diagnose(err error) string {
	text := err.Error()
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(text, part) {
				return true
			}
		}
		return false
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), has("connection refused"):
		return "nothing listens on " + p.Name + " (connection refused): is the server running, and is this its port?"
	case isNotFound(err), has("no such host", "produced zero addresses", "no children to pick from"):
		return "the host of " + p.Name + " is unknown (no such host): is the name right?"
	case errors.Is(err, fs.ErrNotExist), has("no such file or directory"):
		return "there is no socket " + p.Name + ": is the server running, and is the path right?"
	case errors.Is(err, fs.ErrPermission), has("permission denied"):
		return "not allowed to open " + p.Name + " (permission denied)"
	case has("no route to host", "network is unreachable"):
		return "there is no way to " + p.Name + " from here: " + detail(err)
	}
	if p.TLS {
		return p.diagnoseSecure(err, has)
	}
	return p.diagnosePlain(has)
}

// diagnoseSecure explains failures of a connection that begins with a TLS
// handshake.
func (p Peer) diagnoseSecure(err error, has func(...string) bool) string {
	switch {
	case isRecordHeader(err),
		has("first record does not look like a TLS handshake", "server gave HTTP response to HTTPS client"):
		return p.Name + " does not speak TLS" + suggestion(p.Plain)
	case isUnknownAuthority(err), has("certificate signed by unknown authority", "certificate is not trusted"):
		return "the certificate of " + p.Name + " is not signed by a trusted authority: name its CA with --ca (tls.Config.RootCAs)"
	case isHostname(err), has("x509: certificate is valid for", "x509: certificate is not valid for any names",
		"x509: cannot validate certificate for", "certificate relies on legacy Common Name"):
		return "the certificate of " + p.Name + " is for another name: give the right one with --authority: " + detail(err)
	case has("certificate has expired or is not yet valid"):
		return "the certificate of " + p.Name + " has expired or is not valid yet: " + detail(err)
	case has("certificate required", "bad certificate", "handshake failure", "unknown certificate authority"):
		return p.Name + " refused the client's certificate or wants one: give it with --cert and --key: " + detail(err)
	case has("missing selected ALPN property", "cannot check peer: missing selected ALPN", "no application protocol"):
		return p.Name + " speaks TLS but not HTTP/2, which gRPC needs: is it a gRPC server? (Connect: connect+https://, gRPC-Web: grpcweb+https://)"
	case has(hangUps...):
		// With TLS 1.3 the server looks at the client's certificate when the
		// client has long gone on, and its alert may get lost.
		return p.Name + " closed the connection before it answered: if it wants a client certificate, give it with --cert and --key"
	default:
		return ""
	}
}

// hangUps are the ways in which a connection ends that the peer closed.
var hangUps = []string{
	"EOF", "connection reset by peer", "broken pipe", "use of closed network connection",
	"server sent GOAWAY", "client conn could not be established", "client connection lost",
	"HTTP/1.x transport connection broken",
}

// IsHangUp reports whether the error is that of a connection which the peer
// closed.
func IsHangUp(err error) bool {
	text := err.Error()
	return slices.ContainsFunc(hangUps, func(part string) bool { return strings.Contains(text, part) })
}

// diagnosePlain explains failures of a connection without TLS. A server that
// expects TLS answers the HTTP/2 preface with an alert record or by hanging up.
func (p Peer) diagnosePlain(has func(...string) bool) string {
	switch {
	case has(`malformed HTTP response "\x15\x03`, "client sent an HTTP request to an HTTPS server"):
		return p.Name + " speaks TLS" + suggestion(p.Secure)
	case has("looked like an HTTP/1.1 header"):
		return p.Name + " speaks HTTP/1.1, not HTTP/2, which gRPC and bidirectional streams need: is it a gRPC server? (Connect: connect+http://, gRPC-Web: grpcweb+http://)"
	case has(`malformed HTTP response "\x00\x00`, "readLoopPeekFailLocked: %!w(<nil>)"):
		// The second is net/http's way to say that the server spoke first.
		return p.Name + " speaks only HTTP/2: it is probably a gRPC server, use grpc://" + p.Name
	case has("server preface", "frame too large"), has(hangUps...):
		return p.Name + " closed the connection before it answered: if it expects TLS" + suggestion(p.Secure)
	default:
		return ""
	}
}

func suggestion(url string) string {
	if url == "" {
		return ", switch TLS to match"
	}
	return ", use " + url
}

func isNotFound(err error) bool {
	dns, ok := errors.AsType[*net.DNSError](err)
	return ok && dns.IsNotFound
}

func isRecordHeader(err error) bool {
	_, ok := errors.AsType[tls.RecordHeaderError](err)
	return ok
}

func isUnknownAuthority(err error) bool {
	_, ok := errors.AsType[x509.UnknownAuthorityError](err)
	return ok
}

func isHostname(err error) bool {
	_, ok := errors.AsType[x509.HostnameError](err)
	return ok
}

// wrapping is what grpc-go and net/http put before the reason.
var wrapping = regexp.MustCompile(`^(last connection error: |connection error: desc = |transport: Error while dialing: |` +
	`transport: authentication handshake failed: |[A-Z][a-z]+ "[^"]*": |"?error reading from server: )`)

// detail returns the reason at the end of a long chain of wrappers.
func detail(err error) string {
	text := err.Error()
	for {
		next := wrapping.ReplaceAllString(text, "")
		if len(next) > 1 && next[0] == '"' && next[len(next)-1] == '"' {
			next = next[1 : len(next)-1]
		}
		if next == text {
			return text
		}
		text = next
	}
}
