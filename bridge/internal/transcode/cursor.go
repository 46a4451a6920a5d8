package transcode

import (
	"bytes"
	"unicode/utf8"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// cursor moves over JSON text that is known to be valid. Between calls it
// stands at the beginning of a value, or behind the one that was read last.
type cursor struct {
	data []byte
	pos  int
}

// newCursor returns a cursor at the one value that data holds.
func newCursor(data []byte) *cursor {
	c := &cursor{data: data}
	c.space()
	return c
}

func (c *cursor) space() {
	for c.pos < len(c.data) {
		switch c.data[c.pos] {
		case ' ', '\n', '\r', '\t':
			c.pos++
		default:
			return
		}
	}
}

// kind tells the kind of the value at which the cursor stands.
func (c *cursor) kind() jsontok.Kind { return jsontok.KindOf(c.data[c.pos:]) }

// enter passes the bracket that opens an array or object. It reports whether
// there is an element or member, and stands at it then, else behind the end.
func (c *cursor) enter() bool {
	c.pos++
	c.space()
	if b := c.data[c.pos]; b == ']' || b == '}' {
		c.pos++
		return false
	}
	return true
}

// more passes what follows an element or member, like enter.
func (c *cursor) more() bool {
	c.space()
	more := c.data[c.pos] == ','
	c.pos++
	if more {
		c.space()
	}
	return more
}

// key passes the name of a member, and stands at its value then. The name is
// returned with its quotes.
func (c *cursor) key() []byte {
	name := c.skip()
	c.space()
	c.pos++ // the colon
	c.space()
	return name
}

// has reports whether the object at which the cursor stands has a member.
func (c cursor) has(name string) bool {
	for more := c.enter(); more; more = c.more() {
		if isName(c.key(), name) {
			return true
		}
		c.skip()
	}
	return false
}

// skip passes a value and returns it.
func (c *cursor) skip() []byte {
	start := c.pos
	depth := 0
	for c.pos < len(c.data) {
		switch c.data[c.pos] {
		case '"':
			c.skipString()
		case '{', '[':
			c.pos++
			depth++
			continue
		case '}', ']':
			c.pos++
			depth--
		case ',', ':', ' ', '\n', '\r', '\t':
			c.pos++
			continue
		default:
			c.skipLiteral()
		}
		if depth == 0 {
			break
		}
	}
	return c.data[start:c.pos:c.pos]
}

// peek returns the value at which the cursor stands, and does not pass it.
func (c cursor) peek() []byte { return c.skip() }

func (c *cursor) skipString() {
	c.pos++
	for c.pos < len(c.data) {
		n := bytes.IndexByte(c.data[c.pos:], '"')
		if n < 0 {
			c.pos = len(c.data)
			return
		}
		end := c.pos + n
		escapes := 0
		for escapes < n && c.data[end-1-escapes] == '\\' {
			escapes++
		}
		c.pos = end + 1
		if escapes%2 == 0 {
			return
		}
	}
}

func (c *cursor) skipLiteral() {
	for c.pos < len(c.data) {
		switch c.data[c.pos] {
		case ',', ':', '}', ']', ' ', '\n', '\r', '\t', '"', '{', '[':
			return
		}
		c.pos++
	}
}

// unquote returns what a string stands for, and false if it has an escaped
// surrogate without its partner: that stands for no character.
func unquote(raw []byte) (string, bool) {
	s, ok := jsontok.String(raw)
	if !ok || bytes.IndexByte(raw, '\\') < 0 {
		return s, ok
	}
	// Such a surrogate reads as U+FFFD, so the text has more of those than
	// were written.
	written := bytes.Count(raw, []byte(string(utf8.RuneError)))
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if raw[i] == 'u' && bytes.EqualFold(raw[i+1:i+5], []byte("fffd")) {
			written++
		}
	}
	return s, bytes.Count([]byte(s), []byte(string(utf8.RuneError))) == written
}
