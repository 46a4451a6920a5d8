// Package glob matches names with globs.
package glob

import (
	"strings"
	"unicode/utf8"
)

// Match reports whether a glob matches all of a name: '*' stands for any text and
// '?' for one character. It takes time in proportion to the product of their
// lengths at most.
func Match(glob, name string) bool {
	star, retry := -1, 0
	g, n := 0, 0
	for n < len(name) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, retry = g, n
			g++
		case g < len(glob) && glob[g] == '?':
			_, size := utf8.DecodeRuneInString(name[n:])
			g, n = g+1, n+size
		case g < len(glob) && glob[g] == name[n]:
			g, n = g+1, n+1
		case star >= 0: // the last '*' stands for one byte more
			retry++
			g, n = star+1, retry
		default:
			return false
		}
	}
	return strings.Trim(glob[g:], "*") == ""
}

// Is reports whether a name is a glob that may match others.
func Is(name string) bool { return strings.ContainsAny(name, "*?") }
