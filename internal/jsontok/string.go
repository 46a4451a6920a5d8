package jsontok

import (
	"unicode/utf16"
	"unicode/utf8"
)

// String returns what the JSON string value stands for, and false if value is
// not exactly one valid JSON string, quotes included. An escaped surrogate
// without its partner becomes U+FFFD.
func String(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	end, escaped, err := scanner{data: value}.str(0)
	if err != nil || end != len(value) {
		return "", false
	}
	inner := value[1 : end-1]
	if !escaped {
		return string(inner), true
	}
	return string(appendUnescaped(make([]byte, 0, len(inner)), inner)), true
}

// appendUnescaped appends what raw, the inside of a valid string, stands for.
// That is never longer than raw.
func appendUnescaped(dst, raw []byte) []byte {
	plain := 0
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			i++
			continue
		}
		dst = append(dst, raw[plain:i]...)
		switch c := raw[i+1]; c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(raw[i+2:])
			if utf16.IsSurrogate(r) {
				low := rune(utf8.RuneError)
				if rest := raw[i+6:]; len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
					low = hex4(rest[2:])
				}
				// Two that make no pair yield U+FFFD for the first one; the
				// second may begin a pair.
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r)
			i += 4
		default: // a quote, a backslash or a slash
			dst = append(dst, c)
		}
		i += 2
		plain = i
	}
	return append(dst, raw[plain:]...)
}

// hex4 returns the number that the four hexadecimal digits at the beginning
// of raw stand for.
func hex4(raw []byte) rune {
	var r rune
	for _, c := range raw[:4] {
		switch {
		case c <= '9':
			c -= '0'
		case c <= 'F':
			c -= 'A' - 10
		default:
			c -= 'a' - 10
		}
		r = r<<4 | rune(c)
	}
	return r
}

// AppendString appends s as a JSON string with quotes. Only what must be
// escaped is; bytes that are not valid UTF-8 become U+FFFD, one each. The
// result has no line break.
func AppendString[T string | []byte](dst []byte, s T) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	plain := 0
	for i := 0; i < len(s); {
		for i+8 <= len(s) && plain8(word(s, i)) {
			i += 8
		}
		if i == len(s) {
			break
		}
		c := s[i]
		if isPlain(c) {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, s[plain:i]...)
				dst = utf8.AppendRune(dst, r)
				plain = i + 1
			}
			i += size
			continue
		}
		dst = append(dst, s[plain:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xf])
		}
		i++
		plain = i
	}
	dst = append(dst, s[plain:]...)
	return append(dst, '"')
}

// word returns the eight bytes of s from i on.
func word[T string | []byte](s T, i int) uint64 {
	_ = s[i+7]
	return uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
		uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
}

// plain8 reports whether all eight bytes are plain.
func plain8(w uint64) bool {
	const (
		ones = 0x0101010101010101
		high = 0x8080808080808080
	)
	control := (w - 0x20*ones) &^ w // its high bits: a byte below 0x20, or a borrow from one
	quote := w ^ '"'*ones
	slash := w ^ '\\'*ones
	return (w|control|(quote-ones)&^quote|(slash-ones)&^slash)&high == 0
}
