// Package clip shortens text that comes from others before it is shown.
package clip

import "unicode/utf8"

const mark = "..."

// Text returns s in at most n bytes, n being 3 or more: what is cut off, at the
// beginning of a character, becomes "...".
func Text(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Head(s, n-len(mark)) + mark
}

// nameLimit is more than a name needs that a person reads.
const nameLimit = 128

// Name returns a name for an error message: the name itself, or its beginning
// where it is long. A client that sends a name of megabytes gets no such error
// back.
func Name[T ~string | ~[]byte](s T) string {
	if len(s) <= nameLimit {
		return string(s)
	}
	return Text(string(s[:nameLimit+1]), nameLimit)
}

// uriLimit is as long as a URI can be that people and programs use.
const uriLimit = 2048

// URI returns a URI for the data of an error, by which a client knows what it has
// asked for: the URI itself, or its beginning where it is very long.
func URI(s string) string { return Text(s, uriLimit) }

// Head returns the first n bytes of s, without the part of a character at their
// end. Bytes that are no UTF-8 are cut anywhere.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := n; i >= 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:max(n, 0)]
}
