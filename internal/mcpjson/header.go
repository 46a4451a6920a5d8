package mcpjson

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// The headers, or metadata of RPCs, that mirror the body of a modern request,
// so that proxies need not read it.
const (
	HeaderProtocolVersion = "Mcp-Protocol-Version"
	HeaderMethod          = "Mcp-Method"
	HeaderName            = "Mcp-Name"
)

// SetHeaders sets the headers that mirror a request of 2026-07-28
// (basic/transports/streamable-http, Standard Request Headers). It returns what
// Mcp-Name stands for, or "".
func SetHeaders(header http.Header, method string, params json.RawMessage) (name string) {
	header.Set(HeaderProtocolVersion, string(protocol.Revision20260728))
	header.Set(HeaderMethod, EncodeHeader(method))
	if name, ok := nameOf(method, params); ok {
		header.Set(HeaderName, EncodeHeader(name))
		return name
	}
	return ""
}

// nameOf returns what Mcp-Name mirrors.
func nameOf(method string, params json.RawMessage) (string, bool) {
	info, _ := protocol.LookupMethod(method)
	if info.NameParam == "" {
		return "", false
	}
	raw, ok := jsontok.Lookup(params, info.NameParam)
	if !ok {
		return "", false // the Handler says what is missing
	}
	return jsontok.String(raw)
}

// CheckHeaders compares the headers that mirror a modern request with it
// (basic/transports/streamable-http, Server Validation). Those that are absent
// are faults where they are required.
func CheckHeaders(header http.Header, method string, params json.RawMessage, rev protocol.Revision, required bool) *protocol.Error {
	if rev == "" {
		return nil // who checks the metadata says what is missing
	}
	if fault := match(header, HeaderProtocolVersion, string(rev), false, required); fault != nil {
		return fault
	}
	if !rev.Known() {
		return nil // unsupported, and so are the rules for its headers
	}
	if fault := match(header, HeaderMethod, method, false, required); fault != nil {
		return fault
	}
	name, ok := nameOf(method, params)
	if !ok {
		return nil
	}
	return match(header, HeaderName, name, true, required)
}

func match(header http.Header, key, want string, encoded, required bool) *protocol.Error {
	if len(header.Values(key)) == 0 && !required {
		return nil
	}
	got, fault := mirrored(header, key, want, encoded)
	if fault == nil && got != want {
		fault = mismatch(key, got, want)
	}
	return fault
}

func mismatch(key, got, want string) *protocol.Error {
	return protocol.Errorf(protocol.CodeHeaderMismatch, "the %s header has %q, the body %q", key, clip.Name(got), clip.Name(want))
}

// mirrored returns what a header that must be there holds.
func mirrored(header http.Header, key, want string, encoded bool) (string, *protocol.Error) {
	values := header.Values(key)
	if len(values) == 0 {
		return "", protocol.Errorf(protocol.CodeHeaderMismatch, "the %s header is missing; the body has %q", key, clip.Name(want))
	}
	if len(values) > 1 {
		return "", protocol.Errorf(protocol.CodeHeaderMismatch, "the %s header is there %d times", key, len(values))
	}
	got := strings.Trim(values[0], " \t")
	if strings.ContainsFunc(got, func(r rune) bool { return r != '\t' && (r < ' ' || r > '~') }) {
		return "", protocol.Errorf(protocol.CodeHeaderMismatch, "the %s header has characters other than visible ASCII; encode it as =?base64?...?=", key)
	}
	if encoded {
		decoded, ok := DecodeHeader(got)
		if !ok {
			return "", protocol.Errorf(protocol.CodeHeaderMismatch, "the %s header is not valid base64 between =?base64? and ?=", key)
		}
		got = decoded
	}
	return got, nil
}

// sentinel stands around values in base64, with sentinelEnd.
const (
	sentinel    = "=?base64?"
	sentinelEnd = "?="
)

// EncodeHeader returns a value as it goes into a header (basic/transports/
// streamable-http, Value Encoding).
func EncodeHeader(v string) string {
	plain := v == strings.Trim(v, " \t") && !strings.ContainsFunc(v, func(r rune) bool { return r != '\t' && (r < ' ' || r > '~') })
	if plain && v != "" && (!strings.HasPrefix(v, sentinel) || !strings.HasSuffix(v, sentinelEnd)) {
		return v
	}
	return sentinel + base64.StdEncoding.EncodeToString([]byte(v)) + sentinelEnd
}

// DecodeHeader undoes [EncodeHeader]. It returns false for base64 that is none.
func DecodeHeader(v string) (string, bool) {
	rest, ok := strings.CutPrefix(v, sentinel)
	if !ok {
		return v, true
	}
	if rest, ok = strings.CutSuffix(rest, sentinelEnd); !ok {
		return v, true
	}
	b, err := base64.StdEncoding.Strict().DecodeString(rest)
	return string(b), err == nil
}
