// Package printable makes text that a peer wrote safe to show to a person: it
// cannot steer the terminal, reorder what stands around it, or hide a part of
// itself.
package printable

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
)

// Text returns s without terminal sequences, without control characters other
// than line breaks and tabs, and without characters that are invisible or change
// the direction of text. Invalid UTF-8 becomes U+FFFD, and a carriage return a
// line break.
func Text(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '\r' && strings.HasPrefix(s[i:], "\n"):
		case r == '\r', r == '\u2028', r == '\u2029':
			b.WriteByte('\n')
		case r == escape, isC1(r):
			i += sequence(r, s[i:])
		case !hidden(r):
			b.WriteRune(r) // U+FFFD for a byte that is no UTF-8
		}
	}
	return b.String()
}

// Line is [Text] on one line: line breaks and tabs become spaces.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, Text(s))
}

// maxName is how many bytes of a name are shown.
const maxName = 200

// Name returns a name as it is where all of it can be seen, and quoted with
// escapes where it cannot, so that names that differ look different. Long names
// are cut.
func Name(s string) string {
	s = clip.Text(s, maxName)
	if clean(s) && !strings.ContainsAny(s, "\n\t") {
		return s
	}
	return strconv.QuoteToASCII(s)
}

// JSON returns valid JSON in which everything that [Text] changes is written as
// an escape sequence, so that it means the same. It returns raw itself where
// there is nothing to do.
func JSON(raw []byte) []byte {
	var out []byte
	done := 0 // so much of raw is in out
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRune(raw[i:])
		if r < ' ' || !removed(r, n) { // JSON has no raw control characters in strings
			i += n
			continue
		}
		out = append(out, raw[done:i]...)
		if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		} else {
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += n
		done = i
	}
	if done == 0 {
		return raw
	}
	return append(out, raw[done:]...)
}

// clean reports whether [Text] changes nothing.
func clean(s string) bool {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if removed(r, n) {
			return false
		}
		i += n
	}
	return true
}

// removed reports whether [Text] takes out or replaces a character that is n
// bytes long.
func removed(r rune, n int) bool {
	return hidden(r) || r == unicode.ReplacementChar && n == 1
}

// hidden reports whether a character is a control character that Text does not
// keep, or one that cannot be seen.
func hidden(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < 0x7f:
		return r < ' '
	case r < 0xa0:
		return true
	case r == '\u2028', r == '\u2029':
		return true
	case r == '\u115f', r == '\u1160', r == '\u3164', r == '\uffa0': // fillers of Hangul
		return true
	case r >= 0xe0000 && r < 0xe1000: // tags and variation selectors, in which text can be hidden
		return true
	}
	// Bidirectional controls, zero-width characters and the like. The signs that
	// stand over Arabic numbers are of the same category, but can be seen.
	return unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

const (
	escape = 0x1b
	bell   = 0x07
	del    = 0x7f
)

func isC1(r rune) bool { return r >= 0x80 && r < 0xa0 }

// sequence returns how many bytes of rest belong to the control function (ECMA-48)
// that the character r begins, which is ESC or a C1 control. Where a control
// string does not end on its line, nothing of it is taken: what a terminal would
// swallow is better shown.
func sequence(r rune, rest string) int {
	n := 0
	if r == escape {
		if rest == "" {
			return 0
		}
		if rest[0] < ' ' || rest[0] >= del {
			return 0
		}
		r, n = rune(rest[0])+0x40, 1 // ESC [ is the same as U+009B
		if r < 0x80 || r >= 0xa0 {   // no C1 control: intermediates, and a final byte
			return finish(rest, 0, '0')
		}
	}
	switch r {
	case 0x9b: // CSI: parameters, intermediates, and a final byte
		for n < len(rest) && rest[n] >= '0' && rest[n] <= '?' {
			n++
		}
		return finish(rest, n, '@')
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f: // DCS, SOS, OSC, PM, APC: a string up to ST, or BEL
		for i, c := range rest[n:] {
			switch {
			case c == bell:
				return n + i + 1
			case c == 0x9c:
				return n + i + len("\u009c")
			case c == escape && strings.HasPrefix(rest[n+i+1:], `\`):
				return n + i + 2
			case c == '\n' || c == '\r':
				return n
			}
		}
	}
	return n
}

// finish skips intermediate bytes, and a final byte of at least least.
func finish(rest string, n int, least byte) int {
	for n < len(rest) && rest[n] >= ' ' && rest[n] <= '/' {
		n++
	}
	if n < len(rest) && rest[n] >= least && rest[n] < del {
		n++
	}
	return n
}
