// Package header holds the rules of RPC metadata that both implementations of
// [rpc.Caller] share: which names belong to a protocol and not to the
// application, which keys and values can travel, and the coding of binary
// values.
//
// The application's side is an [http.Header] with canonical keys in which the
// values of "-Bin" keys are raw bytes.
package header

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// binSuffix marks keys whose values are raw bytes.
const binSuffix = "-Bin"

// reserved are the names, in canonical form, that belong to HTTP and to the
// three protocols. They are never the application's, in either direction.
var reserved = map[string]bool{
	"Accept":                   true,
	"Accept-Encoding":          true,
	"Accept-Post":              true,
	"Connection":               true,
	"Content-Encoding":         true,
	"Content-Length":           true,
	"Content-Type":             true,
	"Date":                     true,
	"Expect":                   true,
	"Grpc-Accept-Encoding":     true,
	"Grpc-Encoding":            true,
	"Grpc-Message":             true,
	"Grpc-Message-Type":        true,
	"Grpc-Status":              true,
	"Grpc-Status-Details-Bin":  true,
	"Grpc-Timeout":             true,
	"Host":                     true,
	"Keep-Alive":               true,
	"Proxy-Authenticate":       true,
	"Proxy-Authorization":      true,
	"Proxy-Connection":         true,
	"Te":                       true,
	"Trailer":                  true,
	"Transfer-Encoding":        true,
	"Upgrade":                  true,
	"User-Agent":               true,
	"X-Grpc-Web":               true,
	"X-User-Agent":             true,
	"Connect-Accept-Encoding":  true,
	"Connect-Content-Encoding": true,
	"Connect-Protocol-Version": true,
	"Connect-Timeout-Ms":       true,
}

// Reserved reports whether the key, in canonical form, belongs to a protocol.
// Reserved keys are left out of requests and of what a call returns.
func Reserved(key string) bool {
	return reserved[key] || key == "" || key[0] == ':'
}

// Binary reports whether the values of the key, in canonical form, are raw
// bytes.
func Binary(key string) bool { return strings.HasSuffix(key, binSuffix) }

// Check reports every key and value that gRPC metadata cannot carry. It does
// not quote values: they may be secret.
func Check(h http.Header) error {
	var problems []error
	for key, values := range h {
		if !validKey(key) {
			problems = append(problems, fmt.Errorf("metadata key %q: only letters, digits, '-', '_' and '.' are possible", key))
			continue
		}
		if Binary(http.CanonicalHeaderKey(key)) {
			continue
		}
		for i, value := range values {
			if at := strings.IndexFunc(value, notPrintable); at >= 0 {
				problems = append(problems, fmt.Errorf("metadata value %d of key %q: byte 0x%02x at %d is not printable ASCII; "+
					"use a key that ends in %q for other bytes", i+1, key, value[at], at, binSuffix))
			}
		}
	}
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(problems...)
}

func notPrintable(r rune) bool { return r < 0x20 || r > 0x7e }

func validKey(key string) bool {
	for i := range len(key) {
		switch c := key[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.':
		default:
			return false
		}
	}
	return key != ""
}

// Encode adds the application's header to that of an HTTP request, without
// reserved keys and with binary values in base64.
func Encode(dst, src http.Header) {
	for key, values := range src {
		key = http.CanonicalHeaderKey(key)
		if Reserved(key) {
			continue
		}
		for _, value := range values {
			if Binary(key) {
				value = base64.RawStdEncoding.EncodeToString([]byte(value))
			}
			dst[key] = append(dst[key], value)
		}
	}
}

// Decode returns the application's part of HTTP headers or trailers, or nil if
// there is none. A binary value that is not base64 is kept as it came.
func Decode(src http.Header) http.Header {
	var dst http.Header
	for key, values := range src {
		key = http.CanonicalHeaderKey(key)
		if Reserved(key) {
			continue
		}
		if dst == nil {
			dst = make(http.Header, len(src))
		}
		if !Binary(key) {
			dst[key] = append(dst[key], values...)
			continue
		}
		for _, value := range values {
			// Peers and proxies may join values by commas, which base64 lacks.
			for part := range strings.SplitSeq(value, ",") {
				dst[key] = append(dst[key], decodeBinary(strings.TrimSpace(part)))
			}
		}
	}
	return dst
}

func decodeBinary(value string) string {
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
	if err != nil {
		return value
	}
	return string(raw)
}
