package jsontok

import "bytes"

// AppendCompact appends src, one valid JSON value, without the white space
// that means nothing. Everything else, such as the spelling of numbers and
// strings, stays as it is, and the result has no line break. Text that is
// compact already costs one scan and one copy.
//
// To compact in place, pass src[:0] as dst. Check src with [Valid] first if it
// may be malformed: without its white space it may look well formed.
func AppendCompact(dst, src []byte) []byte {
	kept := 0 // src[kept:i] is to be appended
	for i := 0; i < len(src); {
		switch c := src[i]; {
		case c == '"':
			i = skipString(src, i)
		case isSpace(c):
			dst = append(dst, src[kept:i]...)
			i = skipSpace(src, i+1)
			kept = i
		default:
			i++
		}
	}
	return append(dst, src[kept:]...)
}

// skipString returns the index behind the valid string that begins at i.
func skipString(data []byte, i int) int {
	i++
	for i < len(data) {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			break
		}
		backslashes := 0
		for backslashes < n && data[i+n-1-backslashes] == '\\' {
			backslashes++
		}
		i += n + 1
		if backslashes%2 == 0 {
			return i
		}
	}
	return len(data)
}
