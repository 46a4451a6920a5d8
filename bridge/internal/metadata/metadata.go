// Package metadata maps the headers of MCP clients to the metadata of RPCs,
// and the metadata of RPCs to the _meta of results. Both tables are in this
// package and nowhere else.
//
// Nothing passes that a [Policy] does not name, except the W3C trace context
// on the way upstream. What belongs to a connection or to a protocol, rather
// than to the application, never passes, whatever the Policy says.
package metadata

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/header"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	// maxTraceText bounds tracestate and baggage (W3C Baggage, Limits).
	maxTraceText = 8192

	authorization = "Authorization"
	traceParent   = "Traceparent"
	traceState    = "Tracestate"
	baggage       = "Baggage"
)

// Policy says which headers pass. Entries are names in any case; a trailing
// "*" stands for any rest, as in "x-tenant-*". It does not cover names that
// carry credentials (Authorization, Cookie, Set-Cookie): those must be written
// out.
//
// The zero value, and nil, let nothing pass but the trace context. A Policy is
// used concurrently and must not change while it is.
type Policy struct {
	// Forward are the headers of a client's HTTP request that go upstream.
	Forward []string
	// Return are the response headers and trailers of an RPC that the client
	// gets to see.
	Return []string
}

// neverNames and neverPrefixes, in lower case, are names that do not pass in
// either direction, besides those that [header.Reserved] knows.
var (
	neverNames    = []string{"last-event-id", "http2-settings"}
	neverPrefixes = []string{"grpc-", "connect-", "content-", "mcp-", "proxy-", "sec-", "access-control-", ":"}

	credentials = []string{authorization, "Cookie", "Set-Cookie"}
	trace       = []string{traceParent, traceState, baggage}
)

// never reports whether the key, in canonical form, may not pass at all.
func never(key string) bool {
	lower := strings.ToLower(key)
	return header.Reserved(key) || slices.Contains(neverNames, lower) ||
		slices.ContainsFunc(neverPrefixes, func(p string) bool { return strings.HasPrefix(lower, p) })
}

// Validate reports every entry that is no name of a header, that would let
// everything pass, or that names what never passes.
func (p *Policy) Validate() error {
	if p == nil {
		return nil
	}
	var problems []error
	for _, list := range []struct {
		name    string
		entries []string
	}{{"forwarded", p.Forward}, {"returned", p.Return}} {
		for _, entry := range list.entries {
			if problem := checkEntry(entry); problem != "" {
				problems = append(problems, fmt.Errorf("%s header %q: %s", list.name, entry, problem))
			}
		}
	}
	return errors.Join(problems...)
}

func checkEntry(entry string) string {
	name, wild := strings.CutSuffix(entry, "*")
	switch {
	case wild && name == "":
		return "a name must stand before the *, as not all headers may pass"
	case strings.Contains(name, "*"):
		return "a * is possible at the end only"
	case strings.HasPrefix(name, ":"):
		return "it belongs to the protocol and never passes"
	case !validKey(name):
		return "only letters, digits, '-', '_' and '.' are possible"
	case never(http.CanonicalHeaderKey(name)):
		return "it belongs to the protocol and never passes"
	case !wild && slices.Contains(trace, http.CanonicalHeaderKey(name)):
		return "the trace context is always forwarded and never returned; leave it out"
	default:
		return ""
	}
}

func validKey(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
	})
}

// allows reports whether the list names the key, in canonical form.
func allows(list []string, key string) bool {
	for _, entry := range list {
		prefix, wild := strings.CutSuffix(entry, "*")
		if !wild {
			if strings.EqualFold(entry, key) {
				return true
			}
			continue
		}
		if prefix != "" && len(key) >= len(prefix) && strings.EqualFold(key[:len(prefix)], prefix) && !slices.Contains(credentials, key) {
			return true
		}
	}
	return false
}

// passes reports whether headers of the key pass under the list.
func passes(list []string, key string) bool {
	return validKey(key) && !never(key) && !slices.Contains(trace, key) && allows(list, key)
}

// Request returns the metadata of an RPC that is made for the caller: keys in
// canonical HTTP form and the values of "-Bin" keys as raw bytes, as
// [rpc.Call] wants them.
//
// Those are the caller's headers that p forwards, and the trace context, from
// meta or else from the headers. Values that metadata cannot carry, such as
// those with a line break or a character beyond ASCII, are left out, as are
// headers that the caller's Connection header declares to be its own.
func (p *Policy) Request(caller *protocol.Caller, meta protocol.Meta) http.Header {
	out := p.Forwarded(caller)
	var in http.Header
	if caller != nil {
		in = caller.Header
	}
	setTrace(out, in, meta)
	return out
}

// Forwarded is Request without the trace context.
func (p *Policy) Forwarded(caller *protocol.Caller) http.Header {
	out := http.Header{}
	if p == nil || len(p.Forward) == 0 || caller == nil {
		return out
	}
	hop := connectionNames(caller.Header)
	for key, values := range caller.Header {
		key = http.CanonicalHeaderKey(key)
		if !hop[key] && passes(p.Forward, key) {
			addRequestValues(out, key, values)
		}
	}
	return out
}

// TokenForwarded reports whether [Policy.Request] sends the caller's own
// Authorization upstream.
func (p *Policy) TokenForwarded(caller *protocol.Caller) bool {
	return p.Forwarded(caller).Get(authorization) != ""
}

// TokenAbsent reports whether [Policy.Request] would send the caller's own
// Authorization upstream, but the caller's request, which came over HTTP, has none.
func (p *Policy) TokenAbsent(caller *protocol.Caller) bool {
	return p != nil && caller != nil && caller.Header != nil && passes(p.Forward, authorization) && !p.TokenForwarded(caller)
}

// connectionNames returns what the Connection header lists (RFC 9110, section
// 7.6.1).
func connectionNames(h http.Header) map[string]bool {
	var names map[string]bool
	for key, values := range h {
		if http.CanonicalHeaderKey(key) != "Connection" {
			continue
		}
		for _, value := range values {
			for name := range strings.SplitSeq(value, ",") {
				if names == nil {
					names = map[string]bool{}
				}
				names[http.CanonicalHeaderKey(strings.TrimSpace(name))] = true
			}
		}
	}
	return names
}

func addRequestValues(out http.Header, key string, values []string) {
	for _, value := range values {
		if !header.Binary(key) {
			if value = trimSpace(value); printable(value) {
				out[key] = append(out[key], value)
			}
			continue
		}
		// A proxy may have joined several values.
		for part := range strings.SplitSeq(value, ",") {
			if raw, ok := decodeBinary(trimSpace(part)); ok {
				out[key] = append(out[key], raw)
			}
		}
	}
}

func trimSpace(s string) string { return strings.Trim(s, " \t") }

// printable reports whether s is a value that metadata can carry.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// decodeBinary accepts base64 in both alphabets, with and without padding.
func decodeBinary(s string) (string, bool) {
	if strings.ContainsAny(s, "\r\n") {
		return "", false
	}
	s = strings.TrimRight(s, "=")
	enc := base64.RawStdEncoding
	if strings.ContainsAny(s, "-_") {
		enc = base64.RawURLEncoding
	}
	raw, err := enc.DecodeString(s)
	return string(raw), err == nil
}

// setTrace sets the trace context. What the MCP request says in its _meta
// counts before what the HTTP request says, which a proxy may have added for
// another span. A tracestate is nothing without its traceparent.
func setTrace(out, in http.Header, meta protocol.Meta) {
	parent, state := trimSpace(meta.TraceParent), meta.TraceState
	if !validTraceParent(parent) {
		parent, state = trimSpace(join(in, traceParent)), join(in, traceState)
	}
	if validTraceParent(parent) {
		out.Set(traceParent, parent)
		setText(out, traceState, state)
	}
	bag := meta.Baggage
	if bag == "" {
		bag = join(in, baggage)
	}
	setText(out, baggage, bag)
}

func setText(out http.Header, key, value string) {
	if value = trimSpace(value); value != "" && len(value) <= maxTraceText && printable(value) {
		out.Set(key, value)
	}
}

// join returns all values of a header that is a list, as one.
func join(h http.Header, key string) string {
	if values := h[key]; len(values) > 0 {
		return strings.Join(values, ",")
	}
	return ""
}

// validTraceParent reports whether s has the form that the W3C Trace Context
// gives traceparent; later versions may append to it.
func validTraceParent(s string) bool {
	const size = 55 // 00-<32>-<16>-00
	if len(s) < size || len(s) > 256 || !printable(s) || len(s) > size && (s[size] != '-' || s[:2] == "00") {
		return false
	}
	for i := range size {
		switch c := s[i]; i {
		case 2, 35, 52:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return s[:2] != "ff" && strings.Trim(s[3:35], "0") != "" && strings.Trim(s[36:52], "0") != ""
}

// Response returns what the client gets to see of an RPC's metadata:
//
//	{"header": {"key": ["value"]}, "trailer": {"key": ["value"]}}
//
// with keys in lower case and the values of "-bin" keys in base64. A part
// without entries is left out; where nothing is left, Response returns nil.
// Values that are not printable ASCII are left out.
func (p *Policy) Response(t *rpc.Trailer) json.RawMessage {
	if p == nil || t == nil || len(p.Return) == 0 {
		return nil
	}
	var out struct {
		Header  map[string][]string `json:"header,omitempty"`
		Trailer map[string][]string `json:"trailer,omitempty"`
	}
	out.Header = p.returned(t.Header)
	out.Trailer = p.returned(t.Trailer)
	if len(out.Header) == 0 && len(out.Trailer) == 0 {
		return nil
	}
	raw, err := json.Marshal(out)
	if err != nil { // maps of strings always marshal
		return nil
	}
	return raw
}

func (p *Policy) returned(h http.Header) map[string][]string {
	out := map[string][]string{}
	for key, values := range h {
		key = http.CanonicalHeaderKey(key)
		if !passes(p.Return, key) {
			continue
		}
		name := strings.ToLower(key)
		for _, value := range values {
			switch {
			case header.Binary(key):
				out[name] = append(out[name], base64.StdEncoding.EncodeToString([]byte(value)))
			case printable(value):
				out[name] = append(out[name], value)
			}
		}
	}
	return out
}
