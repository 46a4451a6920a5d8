package connectcall

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/option"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
)

// Protocol is an RPC protocol over HTTP.
type Protocol = upstreamurl.Protocol

// The protocols.
const (
	ProtocolGRPC    = upstreamurl.GRPC
	ProtocolGRPCWeb = upstreamurl.GRPCWeb
	ProtocolConnect = upstreamurl.Connect
)

// Times of the connections that [Dial] makes.
const (
	connectTimeout = 10 * time.Second
	idleTimeout    = 90 * time.Second
	// pingAfter is how long a connection may be silent before it is pinged.
	// gRPC servers hang up on clients that ping more often than this.
	pingAfter   = 5 * time.Minute
	pingTimeout = 20 * time.Second
	// maxHeaderBytes bounds the headers of a response.
	maxHeaderBytes = 1 << 20
)

// New returns a caller of the procedures below a base URL (http or https),
// through the client. gRPC and bidirectional streams need a client that speaks
// HTTP/2. The caller owns neither the client nor its connections: Close only
// closes those that are idle.
//
// All problems of the URL and the options are reported at once.
func New(client connect.HTTPClient, baseURL string, protocol Protocol, opts ...Option) (*Caller, error) {
	o, err := newOptions(opts)
	if client == nil {
		err = errors.Join(err, errors.New("the HTTP client is nil"))
	}
	base, urlErr := parseBase(baseURL)
	if err := errors.Join(urlErr, err); err != nil {
		return nil, err
	}
	peer := fault.Peer{Name: base.Host, TLS: base.Scheme == "https"}
	return newCaller(client, client, base, protocol, peer, o), nil
}

// NewInProcess returns a caller of a handler in this process, without a
// network hop. Close waits for the handlers of calls in flight.
func NewInProcess(handler http.Handler, protocol Protocol, opts ...Option) (*Caller, error) {
	o, err := newOptions(opts)
	if handler == nil {
		err = errors.Join(err, errors.New("the handler is nil"))
	}
	if err != nil {
		return nil, err
	}
	transport := InProcess(handler)
	client := &http.Client{Transport: transport}
	base := &url.URL{Scheme: "http", Host: "in-process"}
	peer := fault.Peer{Name: "the in-process server"}
	c := newCaller(client, client, base, protocol, peer, o)
	c.stop = transport.Close
	return c, nil
}

// Dial returns a caller of the upstream at a URL. It does not connect; the
// first call does.
//
// Without TLS, gRPC speaks HTTP/2 with prior knowledge; Connect and gRPC-Web
// speak HTTP/1.1, and HTTP/2 with prior knowledge for bidirectional streams,
// which HTTP/1.1 lacks. With TLS the two sides negotiate.
func Dial(u upstreamurl.URL, opts ...Option) (*Caller, error) {
	o, err := newOptions(opts)
	u.TLS = u.TLS || o.TLS != nil
	base, urlErr := parseBase(u.Base())
	if err := errors.Join(urlErr, err); err != nil {
		return nil, err
	}
	var http1, http2 http.Protocols
	http2.SetHTTP2(true)
	http2.SetUnencryptedHTTP2(true)
	http1.SetHTTP1(true)
	http1.SetHTTP2(true)
	bidi := newClient(newTransport(u, http2, o))
	one := bidi
	if u.Protocol != ProtocolGRPC {
		one = newClient(newTransport(u, http1, o))
	}
	c := newCaller(one, bidi, base, u.Protocol, fault.PeerOf(u), o)
	c.stop = func() error {
		one.CloseIdleConnections()
		bidi.CloseIdleConnections()
		return nil
	}
	return c, nil
}

// newClient returns a client that follows no redirect: an RPC is a POST, which
// a redirect would turn into something else or send where nobody asked for.
func newClient(transport *http.Transport) *http.Client {
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func newTransport(u upstreamurl.URL, protocols http.Protocols, o *option.Options) *http.Transport {
	dialer := &net.Dialer{Timeout: connectTimeout}
	transport := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    connectTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConnsPerHost:    64,
		MaxResponseHeaderBytes: maxHeaderBytes,
		Protocols:              &protocols,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
	if u.Unix != "" {
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", u.Unix)
		}
	}
	if u.TLS {
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		if o.TLS != nil {
			transport.TLSClientConfig = o.TLS.Clone()
		}
		if host, _, err := net.SplitHostPort(o.Authority); err == nil {
			transport.TLSClientConfig.ServerName = cmp.Or(transport.TLSClientConfig.ServerName, host)
		} else {
			transport.TLSClientConfig.ServerName = cmp.Or(transport.TLSClientConfig.ServerName, o.Authority)
		}
	}
	return transport
}

func parseBase(s string) (*url.URL, error) {
	base, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, fmt.Errorf("base URL: %w", err)
	case base.Scheme != "http" && base.Scheme != "https":
		return nil, fmt.Errorf("base URL %q does not begin with http:// or https://", s)
	case base.Host == "":
		return nil, fmt.Errorf("base URL %q has no host", s)
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, fmt.Errorf("base URL of %s has a user, a query or a fragment, which are not supported", base.Host)
	}
	base.Path, base.RawPath = strings.TrimRight(base.Path, "/"), strings.TrimRight(base.RawPath, "/")
	return base, nil
}
