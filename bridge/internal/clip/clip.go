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
