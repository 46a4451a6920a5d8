// Package webclient is what the HTTP transports have in common where this
// module is the client: requests with the right credentials, and faults that
// say what happened.
package webclient

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
)

const (
	// DefaultMaxMessageBytes bounds one message of a server.
	DefaultMaxMessageBytes = 10 << 20
	// maxFaultBytes is how much is read of a response that is no message.
	maxFaultBytes = 64 << 10
	// maxRetryAfter bounds what a server may ask for.
	maxRetryAfter = 24 * time.Hour
	// maxRedirects is how many redirects of one request are followed.
	maxRedirects = 5
)

// Config configures a [Web].
type Config struct {
	// URL is the endpoint.
	URL string
	// Client sends the requests. Its Timeout would end streams. Nil means one
	// with a connection pool of its own.
	Client *http.Client
	// Header goes on every request.
	Header http.Header
	// Token returns the bearer token for a request, or "" for none. It is
	// asked for every request anew.
	Token func(ctx context.Context) (string, error)
	// Forward returns headers for one request of a caller, such as the
	// caller's own credentials. Callers whose headers differ share nothing.
	Forward func(ctx context.Context, r *protocol.Request) (http.Header, error)
	// MaxMessageBytes bounds one message of the server.
	MaxMessageBytes int
	Logger          *slog.Logger
}

// Web sends HTTP requests to one server.
type Web struct {
	URL *url.URL
	Log *slog.Logger
	// Limit bounds one message of the server.
	Limit int

	cfg  Config
	http *http.Client
	own  *http.Transport // to be closed, or nil
}

// New returns a Web. The error lists all that is wrong with cfg.
func New(cfg Config) (*Web, error) {
	var faults []error
	u, err := url.Parse(cfg.URL)
	switch {
	case err != nil:
		faults = append(faults, errors.New("the URL cannot be read")) // its text may hold a password
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		faults = append(faults, fmt.Errorf("URL %q must begin with http:// or https:// and a host", u.Redacted()))
	case u.User != nil:
		faults = append(faults, fmt.Errorf("URL %q must hold no credentials; use a header", u.Redacted()))
	}
	if err := checkHeader(cfg.Header); err != nil {
		faults = append(faults, err)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	u.Fragment = ""
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxMessageBytes <= 0 {
		cfg.MaxMessageBytes = DefaultMaxMessageBytes
	}
	w := &Web{URL: u, Log: cfg.Logger, Limit: cfg.MaxMessageBytes, cfg: cfg}
	if cfg.Client == nil {
		t, ok := http.DefaultTransport.(*http.Transport)
		if !ok {
			t = &http.Transport{Proxy: http.ProxyFromEnvironment}
		}
		w.own = t.Clone()
		w.own.MaxIdleConnsPerHost = 32
		w.http = &http.Client{Transport: w.own}
	} else {
		again := *cfg.Client
		w.http = &again
	}
	w.http.CheckRedirect = checkRedirect
	return w, nil
}

// Close closes idle connections, where they are the Web's own.
func (w *Web) Close() {
	if w.own != nil {
		w.own.CloseIdleConnections()
	}
}

var errRedirect = errors.New("redirects are followed only to the same origin, and only where the request stays as it is")

// checkRedirect keeps credentials and messages where they were meant to go.
func checkRedirect(r *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || r.URL.Scheme != first.URL.Scheme || !strings.EqualFold(r.URL.Host, first.URL.Host) || r.Method != first.Method {
		return errRedirect
	}
	return nil
}

// reserved reports whether a header belongs to the transports.
func reserved(name string) bool {
	switch name {
	case "Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Host", "Keep-Alive", "Last-Event-Id", "Origin",
		"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return strings.HasPrefix(name, "Mcp-")
}

// checkHeader reports header fields that cannot be sent.
func checkHeader(header http.Header) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if !validName(name) {
			faults = append(faults, fmt.Errorf("header %q has a name that cannot be sent", name))
			continue
		}
		if reserved(http.CanonicalHeaderKey(name)) {
			faults = append(faults, fmt.Errorf("header %q is set by the transport", name))
		}
		if slices.ContainsFunc(header[name], func(v string) bool { return !validValue(v) }) {
			faults = append(faults, fmt.Errorf("header %q has a value with characters that cannot be sent", name))
		}
	}
	return errors.Join(faults...)
}

func validName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

func validValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// Prepare asks for what one request of a caller carries.
func (w *Web) Prepare(ctx context.Context, r *protocol.Request) (*peer.Request, error) {
	p := &peer.Request{Request: r}
	if w.cfg.Forward == nil {
		return p, nil
	}
	given, err := w.cfg.Forward(ctx, r)
	if err != nil {
		return nil, err
	}
	p.Header = make(http.Header, len(given))
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !validName(name) || reserved(http.CanonicalHeaderKey(name)) {
			continue
		}
		for _, v := range given[name] {
			if !validValue(v) {
				return nil, protocol.Errorf(protocol.CodeInvalidRequest, "the header %s has characters that cannot be forwarded", name)
			}
			p.Header.Add(name, v)
			fmt.Fprintf(sum, "%q: %q\n", http.CanonicalHeaderKey(name), v)
		}
	}
	p.Identity = string(sum.Sum(nil))
	return p, nil
}

// Do sends a request. Headers of the call replace those of the configuration,
// and those of the transport both. The error is ctx's cause or a
// [*protocol.UpstreamError].
func (w *Web) Do(ctx context.Context, method string, u *url.URL, body []byte, call, transport http.Header) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	r, err := http.NewRequestWithContext(ctx, method, u.String(), content)
	if err != nil {
		return nil, peer.Unavailable(err, "the request to the MCP server could not be made")
	}
	for _, header := range []http.Header{w.cfg.Header, call, transport} {
		for name, values := range header {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if w.cfg.Token != nil {
		token, err := w.cfg.Token(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, &protocol.UpstreamError{Kind: protocol.UpstreamUnauthenticated, Message: "no token for the MCP server could be had", Unsent: true, Err: err}
		case !validValue(token):
			return nil, &protocol.UpstreamError{Kind: protocol.UpstreamUnauthenticated, Message: "the token for the MCP server has characters that cannot be sent", Unsent: true}
		case token != "":
			r.Header["Authorization"] = []string{"Bearer " + token}
		}
	}
	response, err := w.http.Do(r)
	if err != nil {
		return nil, w.transportFault(ctx, err)
	}
	return response, nil
}

// transportFault says why there is no response.
func (w *Web) transportFault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, errRedirect) {
		return &protocol.UpstreamError{Kind: protocol.UpstreamRejected, Message: "the MCP server redirects to where requests are not sent", Unsent: true, Err: err}
	}
	fault := peer.Unavailable(err, "the MCP server could not be reached")
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		fault.Unsent = true
	}
	if t, ok := errors.AsType[net.Error](err); ok && t.Timeout() {
		fault.Kind, fault.Message = protocol.UpstreamTimeout, "the MCP server did not answer in time"
	}
	return fault
}

// ReadFault reads the body of a response whose status is no success, as far
// as it may tell something, and returns it with the fault.
func (w *Web) ReadFault(response *http.Response) ([]byte, *protocol.UpstreamError) {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxFaultBytes)) // what is there will do
	return body, Fault(response, body)
}

// Fault returns the fault that the status of a response is.
func Fault(response *http.Response, body []byte) *protocol.UpstreamError {
	status := response.StatusCode
	fault := &protocol.UpstreamError{
		Kind: protocol.UpstreamRejected, HTTPStatus: status, RetryAfter: retryAfter(response.Header),
		Message: fmt.Sprintf("the MCP server answered HTTP %d %s", status, http.StatusText(status)),
	}
	const shown = 300
	if text := strings.ToValidUTF8(strings.TrimSpace(string(body[:min(len(body), shown)])), "\uFFFD"); text != "" {
		fault.Err = fmt.Errorf("it said: %q", text)
	}
	switch status {
	case http.StatusUnauthorized:
		fault.Kind, fault.Unsent = protocol.UpstreamUnauthenticated, true
		fault.Challenge = strings.Join(response.Header.Values("Www-Authenticate"), ", ")
	case http.StatusForbidden:
		fault.Kind, fault.Unsent = protocol.UpstreamPermissionDenied, true
		fault.Challenge = strings.Join(response.Header.Values("Www-Authenticate"), ", ")
	case http.StatusTooManyRequests:
		fault.Kind, fault.Unsent = protocol.UpstreamThrottled, true
	case http.StatusServiceUnavailable:
		fault.Kind, fault.Unsent = protocol.UpstreamUnavailable, true
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		fault.Kind = protocol.UpstreamTimeout
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusUnsupportedMediaType:
		fault.Unsent = true
	default:
		if status >= 500 {
			fault.Kind = protocol.UpstreamUnavailable
		}
	}
	return fault
}

// retryAfter reads the Retry-After header (RFC 9110, section 10.2.3).
func retryAfter(header http.Header) time.Duration {
	v := header.Get("Retry-After")
	var d time.Duration
	if n, err := strconv.ParseInt(v, 10, 64); err == nil {
		d = time.Duration(min(max(n, 0), int64(maxRetryAfter/time.Second))) * time.Second
	} else if t, err := http.ParseTime(v); err == nil {
		d = time.Until(t)
	}
	return min(max(d, 0), maxRetryAfter)
}

// TooLarge returns the fault for a message beyond the limit.
func (w *Web) TooLarge() *protocol.UpstreamError {
	return &protocol.UpstreamError{
		Kind: protocol.UpstreamTooLarge, Message: fmt.Sprintf("the MCP server sent a message of more than %d bytes", w.Limit),
	}
}

// ReadAll reads a whole message.
func (w *Web) ReadAll(ctx context.Context, body io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(body, int64(w.Limit)+1))
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, peer.Unavailable(err, "the MCP server's answer broke off")
	case len(data) > w.Limit:
		return nil, w.TooLarge()
	}
	return data, nil
}

// Drop gives a response up. What is left of it is read if it is little, so
// that the connection can be used again.
func Drop(response *http.Response) {
	_, _ = io.CopyN(io.Discard, response.Body, 4<<10) // the end, or too much
	_ = response.Body.Close()
}
