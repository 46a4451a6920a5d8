// Package webclient is what the HTTP transports have in common where this
// module is the client: requests with the right credentials, and faults that
// say what happened.
package webclient

import (
	"bytes"
	"context"
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

	"github.com/mcp-bridge/mcp-bridge/internal/secret"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
)

const (
	// maxFaultBytes is how much is read of a response that is no message.
	maxFaultBytes = 64 << 10
	// maxRetryAfter bounds what a server may ask for.
	maxRetryAfter = 24 * time.Hour
	// maxRedirects is how many redirects of one request are followed.
	maxRedirects = 5
)

// Web sends HTTP requests to one server.
type Web struct {
	URL *url.URL
	// Log writes no values that the server has been sent.
	Log *slog.Logger
	// Limit bounds one message of the server.
	Limit int

	cfg     protocol.HTTPClientConfig
	secrets secret.Values // that the server has been given
	http    *http.Client
	own     *http.Transport // to be closed, or nil
}

// New returns a Web. cfg has its defaults. The error lists all that is wrong with cfg.
func New(cfg protocol.HTTPClientConfig) (*Web, error) {
	var faults []error
	u, err := url.Parse(cfg.URL)
	switch {
	case err != nil:
		faults = append(faults, errors.New("the URL cannot be read")) // its text may hold a password
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		faults = append(faults, fmt.Errorf("URL %q must begin with http:// or https:// and a host", secret.URL(cfg.URL)))
	case u.User != nil:
		faults = append(faults, fmt.Errorf("URL %q must hold no credentials; use a header", secret.URL(cfg.URL)))
	}
	if err := checkHeader(cfg.Header); err != nil {
		faults = append(faults, err)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	u.Fragment = ""
	w := &Web{URL: u, Log: cfg.Logger, Limit: cfg.MaxMessageBytes, cfg: cfg}
	if cfg.HTTPClient == nil {
		t, ok := http.DefaultTransport.(*http.Transport)
		if !ok {
			t = &http.Transport{Proxy: http.ProxyFromEnvironment}
		}
		w.own = t.Clone()
		w.own.MaxIdleConnsPerHost = 32
		w.http = &http.Client{Transport: w.own}
	} else {
		again := *cfg.HTTPClient
		w.http = &again
	}
	w.secrets.AddHeader(cfg.Header)
	for name, values := range u.Query() {
		for _, value := range values {
			if secret.Name(name) {
				w.secrets.Add(name, value)
			}
		}
	}
	w.Log = w.secrets.Logger(w.Log)
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

// secretsIn returns the headers of a call that a server must not be heard to
// repeat. The transport's own mirror the request: an error may name what was asked
// for.
func secretsIn(call http.Header) http.Header {
	secrets := make(http.Header)
	for name, values := range call {
		if name = http.CanonicalHeaderKey(name); !reserved(name) || name == "Mcp-Session-Id" {
			secrets[name] = values
		}
	}
	return secrets
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

// Redact returns an error without the values of headers and tokens that the
// server has been sent.
func (w *Web) Redact(err error) error { return peer.Redact(&w.secrets, err) }

// Forward returns the headers that requests made for one of a caller carry, or
// nil for none.
func (w *Web) Forward(ctx context.Context, r *protocol.Request) (http.Header, error) {
	if w.cfg.Forward == nil {
		return nil, nil //nolint:nilnil // no headers are a header
	}
	given, err := w.cfg.Forward(ctx, r)
	if err != nil {
		return nil, err
	}
	header := make(http.Header, len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !validName(name) || reserved(http.CanonicalHeaderKey(name)) {
			continue
		}
		for _, v := range given[name] {
			if !validValue(v) {
				return nil, protocol.Errorf(protocol.CodeInvalidRequest, "the header %s has characters that cannot be forwarded", name)
			}
			header.Add(name, v)
		}
	}
	return header, nil
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
	w.secrets.Sent(secretsIn(call))
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
			w.secrets.Sent(http.Header{"Authorization": r.Header["Authorization"]})
		}
	}
	response, err := w.http.Do(r)
	if err != nil {
		return nil, w.transportFault(ctx, response, err)
	}
	return response, nil
}

// transportFault says why there is no response.
func (w *Web) transportFault(ctx context.Context, response *http.Response, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, errRedirect) {
		fault := &protocol.UpstreamError{Kind: protocol.UpstreamRejected, Message: "the MCP server redirects to where requests are not sent", Unsent: true, Err: err}
		if response != nil {
			fault.Hint = redirectHint(w.URL, response.Header.Get("Location"))
		}
		return fault
	}
	fault := peer.Unavailable(err, "the MCP server could not be reached")
	fault.Hint = connectionHint(w.URL, err)
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
	fault := Fault(response, body)
	fault.Hint = responseHint(w.URL, response, body)
	return body, fault
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

// NoMessage returns the fault for a response whose content is of another type.
func (w *Web) NoMessage(response *http.Response) *protocol.UpstreamError {
	fault := peer.Malformed(fmt.Errorf("content type %.100q", response.Header.Get("Content-Type")), "the MCP server answered neither JSON nor an event stream")
	fault.Hint = responseHint(w.URL, response, nil)
	return fault
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
