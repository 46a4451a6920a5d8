// Package upstreamurl reads the URLs by which a user names an upstream.
//
//	grpc://host:port             gRPC without TLS
//	grpcs://host[:port]          gRPC over TLS, port 443 unless given
//	dns:///host:port             gRPC without TLS, as a grpc target
//	unix:///path, unix:path      gRPC over a unix socket ("@name" is abstract)
//	grpc+unix:///path            the same, spelt out
//	grpcweb+http[s]://host/path  gRPC-Web
//	connect+http[s]://host/path  Connect
package upstreamurl

import (
	"net"
	"strings"
)

// Protocol is the RPC protocol of an upstream.
type Protocol int

// The protocols.
const (
	GRPC Protocol = iota
	GRPCWeb
	Connect
)

// String returns the name that people use for the protocol.
func (p Protocol) String() string {
	switch p {
	case GRPCWeb:
		return "gRPC-Web"
	case Connect:
		return "Connect"
	case GRPC:
		return "gRPC"
	default:
		return "unknown protocol"
	}
}

// URL is a parsed upstream URL. URLs are comparable, and values that [Parse]
// returned are valid.
type URL struct {
	Protocol Protocol
	// TLS is true where the scheme asks for TLS.
	TLS bool
	// Host is the host name or IP address, without brackets and port. It is
	// empty for a unix socket.
	Host string
	// Port is the decimal port, never empty unless Unix is set.
	Port string
	// Path is the prefix of every procedure's path, "" or "/a/b" without a
	// slash at the end. Only Connect and gRPC-Web have one.
	Path string
	// Unix is the path of a unix socket; one that begins with "@" is in the
	// abstract name space of Linux.
	Unix string
	// Resolver is the address of the name server that a dns:// target names,
	// or "".
	Resolver string
}

// Address returns the part of the URL that says where the upstream listens:
// "host:port" or the path of the socket.
func (u URL) Address() string {
	if u.Unix != "" {
		return u.Unix
	}
	return net.JoinHostPort(u.Host, u.Port)
}

// String returns the canonical spelling, which [Parse] reads back.
func (u URL) String() string {
	switch {
	case u.Unix != "":
		return u.unixTarget()
	case u.Resolver != "":
		return "dns://" + u.Resolver + "/" + u.Address()
	default:
		return u.scheme(u.TLS) + u.authority() + u.Path
	}
}

// WithTLS returns the URL with TLS switched on or off: what an error message
// suggests where the two sides disagree. A unix socket stays as it is.
func (u URL) WithTLS(on bool) URL {
	if u.Unix == "" {
		u.TLS = on
	}
	return u
}

// Base returns the http or https URL that a Connect client is built on, for
// all three protocols. The host of a unix socket is "localhost".
func (u URL) Base() string {
	scheme := "http://"
	if u.TLS {
		scheme = "https://"
	}
	if u.Unix != "" {
		return scheme + "localhost"
	}
	return scheme + u.authority() + u.Path
}

// Target returns the URL in the notation of grpc-go's name resolvers.
func (u URL) Target() string {
	if u.Unix != "" {
		return u.unixTarget()
	}
	return "dns://" + u.Resolver + "/" + u.Address()
}

func (u URL) unixTarget() string {
	if strings.HasPrefix(u.Unix, "/") {
		return "unix://" + u.Unix
	}
	return "unix:" + u.Unix
}

// authority returns host:port as it stands in a URL, where the "%" of an
// IPv6 zone is escaped.
func (u URL) authority() string {
	return net.JoinHostPort(strings.ReplaceAll(u.Host, "%", "%25"), u.Port)
}

func (u URL) scheme(tls bool) string {
	for _, s := range schemes {
		if s.protocol == u.Protocol && s.tls == tls {
			return s.name + "://"
		}
	}
	return ""
}

// schemes are those that are followed by "://host".
var schemes = []struct {
	name        string
	protocol    Protocol
	tls         bool
	defaultPort string
}{
	{"grpc", GRPC, false, ""},
	{"grpcs", GRPC, true, "443"},
	{"grpcweb+http", GRPCWeb, false, "80"},
	{"grpcweb+https", GRPCWeb, true, "443"},
	{"connect+http", Connect, false, "80"},
	{"connect+https", Connect, true, "443"},
}
