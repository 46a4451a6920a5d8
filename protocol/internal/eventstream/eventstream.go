// Package eventstream frames server-sent events (text/event-stream), as the
// HTML standard defines them in its section "Server-sent events": MCP's HTTP
// transports carry their messages in them.
//
// [AppendEvent] and [AppendComment] write, [Reader] reads. Neither decodes
// text: bytes that are not valid UTF-8 pass as they are, where the standard
// replaces them with U+FFFD, so that whoever reads the data can refuse it.
package eventstream

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// Event is one event.
type Event struct {
	// ID is what a client that reconnects sends as Last-Event-ID. A Reader
	// sets it in every event: to the event's own id, or to that of the last
	// event before it that had one.
	ID string
	// HasID is true where the event itself sets the id, be it to "". Where it
	// is false, AppendEvent writes no id.
	HasID bool
	// Name is the type of the event. Empty means the default, "message".
	Name string
	// Data is the payload. Its line breaks arrive as "\n", whichever they
	// were.
	Data []byte
	// Retry is how long a client should wait before it reconnects. Zero
	// means that the event does not say.
	Retry time.Duration
}

// AppendEvent appends e as it goes over the wire, ready to be flushed.
//
// An ID or Name that is not a [ValidField] is left out, so that nothing in it
// can pass for a field or an event of its own. Retry is written in whole
// milliseconds, rounded up. There is always a data field, if an empty one, as
// clients drop events without; only an event that has nothing but Retry goes
// without, and sets the time without becoming a message.
func AppendEvent(dst []byte, e Event) []byte {
	hasID := e.HasID && ValidField(e.ID)
	hasName := e.Name != "" && ValidField(e.Name)
	if hasName {
		dst = appendField(dst, "event: ", e.Name)
	}
	if hasID {
		dst = appendField(dst, "id: ", e.ID)
	}
	if e.Retry > 0 {
		ms := (e.Retry-1)/time.Millisecond + 1
		dst = append(dst, "retry: "...)
		dst = strconv.AppendInt(dst, int64(ms), 10)
		dst = append(dst, '\n')
	}
	if len(e.Data) > 0 || hasID || hasName || e.Retry <= 0 {
		dst = appendLines(dst, "data: ", e.Data)
	}
	return append(dst, '\n')
}

// AppendComment appends a comment, which clients skip: it keeps a connection
// busy, or opens it. Each line of text becomes a line of the comment.
func AppendComment(dst []byte, text string) []byte {
	return append(appendLines(dst, ": ", []byte(text)), '\n')
}

// ValidField reports whether s can be an ID or a Name: it has no line break
// and no NUL.
func ValidField(s string) bool { return !strings.ContainsAny(s, "\r\n\x00") }

func appendField(dst []byte, prefix, value string) []byte {
	return append(append(append(dst, prefix...), value...), '\n')
}

// appendLines appends each line of text with prefix before it. Empty text is
// one empty line.
func appendLines(dst []byte, prefix string, text []byte) []byte {
	for {
		dst = append(dst, prefix...)
		end := lineEnd(text)
		dst = append(dst, text[:end]...)
		dst = append(dst, '\n')
		if end == len(text) {
			return dst
		}
		if text[end] == '\r' && end+1 < len(text) && text[end+1] == '\n' {
			end++
		}
		text = text[end+1:]
	}
}

// lineEnd returns the index of the first line break in text, or its length if
// there is none.
func lineEnd(text []byte) int {
	end := len(text)
	if n := bytes.IndexByte(text, '\n'); n >= 0 {
		end = n
	}
	if n := bytes.IndexByte(text[:end], '\r'); n >= 0 {
		end = n
	}
	return end
}
