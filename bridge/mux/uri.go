package mux

import "strings"

// normalURI reports whether a URI is in the normal form of RFC 3986, section
// 6.2.2: scheme and host in lower case, no escape that is not needed, escapes in
// upper case, and no dot segments. Two URIs in that form that differ name
// different resources, so that no rule is evaded by another spelling.
func normalURI(uri string) bool {
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok || !isScheme(scheme) || !normalEscapes(rest) {
		return false
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, _, _ = strings.Cut(rest, "?")
	if authority, found := strings.CutPrefix(rest, "//"); found {
		host := authority
		path := ""
		if i := strings.IndexByte(authority, '/'); i >= 0 {
			host, path = authority[:i], authority[i:]
		}
		if i := strings.LastIndexByte(host, '@'); i >= 0 {
			host = host[i+1:]
		}
		if hasUpper(host) {
			return false
		}
		rest = path
	}
	for segment := range strings.SplitSeq(rest, "/") {
		if segment == "." || segment == ".." {
			return false
		}
	}
	return true
}

// isScheme reports whether text is a URI scheme in lower case.
func isScheme(text string) bool {
	for i, c := range []byte(text) {
		switch {
		case 'a' <= c && c <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return text != ""
}

// normalEscapes reports whether text has the characters of a URI only, and each
// escape is needed and in upper case.
func normalEscapes(text string) bool {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '%':
			if i+2 >= len(text) || !isUpperHex(text[i+1]) || !isUpperHex(text[i+2]) {
				return false
			}
			if unreserved(unhex(text[i+1])<<4 | unhex(text[i+2])) {
				return false
			}
			i += 2
		case unreserved(c), strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0:
		default:
			return false
		}
	}
	return true
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

func isUpperHex(c byte) bool { return '0' <= c && c <= '9' || 'A' <= c && c <= 'F' }

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c - 'A' + 10
}

// hasUpper reports whether a host has a capital outside of escapes.
func hasUpper(host string) bool {
	for i := 0; i < len(host); i++ {
		switch c := host[i]; {
		case c == '%':
			i += 2
		case 'A' <= c && c <= 'Z':
			return true
		}
	}
	return false
}
