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
	dst, _ = appendQuoted(dst, s)
	return dst
}

// AppendBytes appends s as [AppendString] does, and reports whether all of it
// was valid UTF-8.
func AppendBytes(dst, s []byte) (out []byte, valid bool) { return appendQuoted(dst, s) }

func appendQuoted[T string | []byte](dst []byte, s T) (out []byte, valid bool) {
	const digits = "0123456789abcdef"
	valid = true
	dst = append(dst, '"')
	plain := 0
	for i := 0; ; {
		i = skipPlain(s, i)
		if i == len(s) {
			break
		}
		c := s[i]
		for c >= utf8.RuneSelf {
			if n := commonRune(s, i); n > 0 {
				if i += n; i == len(s) {
					break
				}
				c = s[i]
				continue
			}
			// The conversion is of so few bytes that it does not allocate.
			r, size := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			if r == utf8.RuneError && size == 1 {
				valid = false
				dst = append(dst, s[plain:i]...)
				dst = utf8.AppendRune(dst, r)
				plain = i + 1
			}
			if i += size; i == len(s) {
				break
			}
			c = s[i]
		}
		if i == len(s) {
			break
		}
		if isPlain(c) {
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
	return append(dst, '"'), valid
}

// commonRune returns the size of the character at i if that is one of two or
// three bytes and quickly told to be valid, else zero.
func commonRune[T string | []byte](s T, i int) int {
	switch c := s[i]; {
	case 0xc2 <= c && c <= 0xdf:
		if i+1 < len(s) && s[i+1]&0xc0 == 0x80 {
			return 2
		}
	case 0xe1 <= c && c <= 0xec: // others exclude some second bytes
		if i+2 < len(s) && s[i+1]&0xc0 == 0x80 && s[i+2]&0xc0 == 0x80 {
			return 3
		}
	}
	return 0
}
