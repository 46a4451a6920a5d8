package jsontok

import (
	"fmt"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// Valid returns nil if data is one JSON value within lim, with or without
// white space round it, and else a [*SyntaxError]. Names that occur twice are
// valid here.
func Valid(data []byte, lim Limits) error {
	s := scanner{data: data, maxDepth: lim.maxDepth()}
	i, err := s.value(skipSpace(data, 0), 0)
	if err != nil {
		return err
	}
	return s.end(i)
}

// scanner checks the grammar. Its methods take the index at which something
// begins, white space skipped, and return the index behind it.
type scanner struct {
	data     []byte
	maxDepth int
}

// value scans a value inside of depth arrays and objects.
func (s scanner) value(i, depth int) (int, error) {
	if i >= len(s.data) {
		return 0, s.unexpected(i, "a value")
	}
	switch c := s.data[i]; c {
	case '"':
		end, _, err := s.str(i)
		return end, err
	case '{':
		return s.object(i, depth+1)
	case '[':
		return s.array(i, depth+1)
	case 't':
		return s.literal(i, "true")
	case 'f':
		return s.literal(i, "false")
	case 'n':
		return s.literal(i, "null")
	default:
		if c == '-' || isDigit(c) {
			return s.number(i)
		}
		return 0, s.unexpected(i, "a value")
	}
}

func (s scanner) object(i, depth int) (int, error) {
	i, done, err := s.open(i, depth, '}')
	for err == nil && !done {
		if i, _, err = s.key(i); err != nil {
			break
		}
		if i, err = s.colon(i); err != nil {
			break
		}
		if i, err = s.value(i, depth); err != nil {
			break
		}
		i, done, err = s.next(i, '}')
	}
	return i, err
}

func (s scanner) array(i, depth int) (int, error) {
	i, done, err := s.open(i, depth, ']')
	for err == nil && !done {
		if i, err = s.value(i, depth); err != nil {
			break
		}
		i, done, err = s.next(i, ']')
	}
	return i, err
}

// open passes the bracket that opens an array or object, the depth'th, and
// the closing one if it follows; it then reports true.
func (s scanner) open(i, depth int, closing byte) (int, bool, error) {
	if depth > s.maxDepth {
		return 0, false, s.errorf(i, "arrays and objects are nested more than %d deep", s.maxDepth)
	}
	i = skipSpace(s.data, i+1)
	if i < len(s.data) && s.data[i] == closing {
		return i + 1, true, nil
	}
	return i, false, nil
}

// next passes what follows a member or element: a comma, or the closing
// bracket; for that it reports true.
func (s scanner) next(i int, closing byte) (int, bool, error) {
	i = skipSpace(s.data, i)
	if i < len(s.data) {
		switch s.data[i] {
		case ',':
			return skipSpace(s.data, i+1), false, nil
		case closing:
			return i + 1, true, nil
		}
	}
	return 0, false, s.unexpected(i, "',' or '"+string(closing)+"'")
}

// key passes the name of a member and reports whether it has escapes.
func (s scanner) key(i int) (int, bool, error) {
	if i >= len(s.data) || s.data[i] != '"' {
		return 0, false, s.unexpected(i, "the name of a member in double quotes")
	}
	return s.str(i)
}

// colon passes what lies between a name and its value.
func (s scanner) colon(i int) (int, error) {
	i = skipSpace(s.data, i)
	if i >= len(s.data) || s.data[i] != ':' {
		return 0, s.unexpected(i, "':' after the name of a member")
	}
	return skipSpace(s.data, i+1), nil
}

// end returns an error if anything but white space follows.
func (s scanner) end(i int) error {
	if i = skipSpace(s.data, i); i < len(s.data) {
		return s.unexpected(i, "the end of the text after the value")
	}
	return nil
}

func (s scanner) literal(i int, word string) (int, error) {
	for n := range len(word) {
		if i+n >= len(s.data) || s.data[i+n] != word[n] {
			return 0, s.unexpected(i+n, word)
		}
	}
	return i + len(word), nil
}

func (s scanner) number(i int) (int, error) {
	data := s.data
	if data[i] == '-' {
		i++
	}
	first := i
	i = skipDigits(data, i)
	switch {
	case i == first:
		return 0, s.unexpected(i, "a digit")
	case data[first] == '0' && i > first+1:
		return 0, s.errorf(first, "a number must not begin with 0 and a further digit")
	}
	if i < len(data) && data[i] == '.' {
		first = i + 1
		if i = skipDigits(data, first); i == first {
			return 0, s.unexpected(i, "a digit after the decimal point")
		}
	}
	if i < len(data) && (data[i] == 'e' || data[i] == 'E') {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		first = i
		if i = skipDigits(data, first); i == first {
			return 0, s.unexpected(i, "a digit in the exponent")
		}
	}
	return i, nil
}

// str scans the string that begins at the quote at i, and reports whether it
// has escapes.
func (s scanner) str(i int) (end int, escaped bool, err error) {
	data := s.data
	i++
	for {
		i = skipPlain(data, i)
		if i >= len(data) {
			return 0, false, s.errorf(i, "the text ends inside of a string")
		}
		switch c := data[i]; {
		case c == '"':
			return i + 1, escaped, nil
		case c == '\\':
			escaped = true
			if i, err = s.escape(i); err != nil {
				return 0, false, err
			}
		case c < ' ':
			return 0, false, s.errorf(i, "control character %s in a string must be escaped", describe(data[i:]))
		default:
			for i < len(data) && data[i] >= utf8.RuneSelf {
				r, size := utf8.DecodeRune(data[i:])
				if r == utf8.RuneError && size == 1 {
					return 0, false, s.errorf(i, "%s in a string is not valid UTF-8", describe(data[i:]))
				}
				i += size
			}
		}
	}
}

// escape passes one escape sequence.
func (s scanner) escape(i int) (int, error) {
	i++
	if i >= len(s.data) {
		return 0, s.errorf(i, "the text ends inside of a string")
	}
	switch s.data[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1, nil
	case 'u':
		for range 4 {
			i++
			if i >= len(s.data) || !isHex(s.data[i]) {
				return 0, s.unexpected(i, `four hexadecimal digits after \u`)
			}
		}
		return i + 1, nil
	default:
		return 0, s.unexpected(i, `one of "\/bfnrtu after a backslash`)
	}
}

func (s scanner) errorf(i int, format string, args ...any) error {
	return &SyntaxError{Offset: int64(i), Msg: fmt.Sprintf(format, args...)}
}

func (s scanner) unexpected(i int, want string) error {
	got := "the end of the text"
	if i < len(s.data) {
		got = describe(s.data[i:])
	}
	return s.errorf(i, "want %s, got %s", want, got)
}

// describe names the first character of data.
func describe(data []byte) string {
	r, size := utf8.DecodeRune(data)
	if r == utf8.RuneError && size <= 1 {
		return fmt.Sprintf("byte 0x%02x", data[0])
	}
	return strconv.QuoteRune(r)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func skipSpace(data []byte, i int) int {
	for i < len(data) && isSpace(data[i]) {
		i++
	}
	return i
}

func skipDigits(data []byte, i int) int {
	for i < len(data) && isDigit(data[i]) {
		i++
	}
	return i
}

// skipPlain returns the index, from i on, of the first byte that means
// something in a string: a quote, a backslash, a control character or the
// beginning of a character beyond ASCII. It looks at eight bytes at a time.
func skipPlain[T string | []byte](data T, i int) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	for ; i+8 <= len(data); i += 8 {
		d := data[i : i+8]
		x := uint64(d[0]) | uint64(d[1])<<8 | uint64(d[2])<<16 | uint64(d[3])<<24 |
			uint64(d[4])<<32 | uint64(d[5])<<40 | uint64(d[6])<<48 | uint64(d[7])<<56
		// A subtraction sets the high bit of each byte that is below the
		// subtrahend. A borrow spoils only bytes above one that is marked
		// already, so the lowest mark is right.
		marks := (x | (x - ' '*ones) | ((x ^ '"'*ones) - ones) | ((x ^ '\\'*ones) - ones)) & highs
		if marks != 0 {
			return i + bits.TrailingZeros64(marks)/8
		}
	}
	for i < len(data) && isPlain(data[i]) {
		i++
	}
	return i
}

func isPlain(c byte) bool { return c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' }
