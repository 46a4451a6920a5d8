// Package jsontok reads and writes JSON text without turning it into Go
// values: members and elements stay raw bytes until the one place that must
// know what they hold.
//
// [Object], [Array] and [Lookup] walk over one level of a value; what lies
// deeper is validated and handed on as a sub-slice of the input. [Valid] only
// checks. [String], [AppendString] and [AppendCompact] convert.
//
// The grammar is that of RFC 8259, with nothing added and these rules where
// the RFC leaves a choice: text must be valid UTF-8, without a byte order
// mark; nesting is limited (see [DefaultMaxDepth]); [Object] refuses a name
// that occurs twice; numbers may have any size and precision, as they stay
// text; an escaped surrogate that has no partner is valid and reads as U+FFFD.
//
// No function keeps its input, panics on malformed input, or allocates out of
// proportion to it. All may be called concurrently. Valid and Array allocate
// nothing; Lookup and Object nothing as long as names have no escapes, Object
// for up to 16 members. (Errors are allocated.)
//
// Do not use it to fill Go structs: encoding/json does that better.
package jsontok

import (
	"fmt"
	"unicode/utf8"
)

const (
	// DefaultMaxDepth is how deep arrays and objects may be nested, the
	// outermost one included: far deeper than any schema that people write,
	// and shallow enough for the recursive readers that the text reaches
	// later.
	DefaultMaxDepth = 128

	// maxMaxDepth bounds the stack, whatever the caller allows.
	maxMaxDepth = 10_000
)

// Limits bounds what [Valid] accepts. The zero value has the defaults.
type Limits struct {
	// MaxDepth is how deep arrays and objects may be nested, the outermost
	// one included. Zero or less means DefaultMaxDepth; more than 10000 means
	// 10000.
	MaxDepth int
}

func (l Limits) maxDepth() int {
	if l.MaxDepth <= 0 {
		return DefaultMaxDepth
	}
	return min(l.MaxDepth, maxMaxDepth)
}

// SyntaxError says where data stops being JSON of the wanted kind. Its text
// repeats at most one character of the data.
type SyntaxError struct {
	// Offset counts the bytes before the one that is wrong.
	Offset int64
	// Msg is what was wanted and what was found.
	Msg string
}

// Error returns the offset and the message.
func (e *SyntaxError) Error() string { return fmt.Sprintf("at byte %d: %s", e.Offset, e.Msg) }

// DuplicateKeyError says that two members of an object have one name. The
// text is JSON all the same, but readers disagree on which of the two counts,
// and that is a way round every check.
type DuplicateKeyError struct {
	// Offset counts the bytes before the second occurrence.
	Offset int64
	// Key is the name, unescaped.
	Key string
}

// Error returns the offset and the name, which it cuts if it is long.
func (e *DuplicateKeyError) Error() string {
	const limit = 64
	key, more := e.Key, ""
	if len(key) > limit {
		n := limit
		for n > 0 && !utf8.RuneStart(key[n]) {
			n--
		}
		key, more = key[:n], "..."
	}
	return fmt.Sprintf("at byte %d: member %q%s occurs twice", e.Offset, key, more)
}

// Kind is the type of a JSON value.
type Kind byte

// The kinds of values. KindInvalid is no value.
const (
	KindInvalid Kind = iota
	KindObject
	KindArray
	KindString
	KindNumber
	KindBool
	KindNull
)

// KindOf tells the kind of value from its first byte alone. The value must
// not begin with white space; those that this package returns do not.
func KindOf(value []byte) Kind {
	if len(value) == 0 {
		return KindInvalid
	}
	switch c := value[0]; c {
	case '{':
		return KindObject
	case '[':
		return KindArray
	case '"':
		return KindString
	case 't', 'f':
		return KindBool
	case 'n':
		return KindNull
	default:
		if c == '-' || isDigit(c) {
			return KindNumber
		}
		return KindInvalid
	}
}

// String returns the kind as a noun for messages, such as "object".
func (k Kind) String() string {
	switch k {
	case KindObject:
		return "object"
	case KindArray:
		return "array"
	case KindString:
		return "string"
	case KindNumber:
		return "number"
	case KindBool:
		return "boolean"
	case KindNull:
		return "null"
	default:
		return "invalid"
	}
}
