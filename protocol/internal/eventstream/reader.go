package eventstream

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// DefaultMaxEventBytes is the limit of a [Reader] that is given none. It is
// generous to a tool result with an image in it, and still no way to exhaust
// the memory of a client.
const DefaultMaxEventBytes = 32 << 20

const (
	// fieldOverhead is what a line may have beyond the value that counts: the
	// longest name of a field, the colon and the space.
	fieldOverhead = len("event: ")

	// keptLineBytes is the size up to which the buffer for lines is kept for
	// the next one.
	keptLineBytes = 64 << 10

	maxRetry = math.MaxInt64 / int64(time.Millisecond)
)

// TooLargeError says that an event passes the limit of its [Reader].
type TooLargeError struct {
	// Limit is the limit in bytes.
	Limit int
}

// Error returns the limit.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("server-sent event is larger than the limit of %d bytes", e.Limit)
}

// Reader reads the events of one stream. It must not be used concurrently.
//
// It holds at most a small multiple of the limit in memory, whatever the
// stream sends.
type Reader struct {
	src   *bufio.Reader
	limit int
	err   error // what Next returns from now on

	buf      []byte // a line, or its beginning, that came in several pieces
	buffered bool   // the last line is in buf
	begun    bool   // the first line has been read
	afterCR  bool   // a line feed that comes next belongs to the last line

	// What the standard calls the buffers: the fields of the event that is
	// not complete. pending.ID counts only if pending.HasID is true.
	pending Event
	hasData bool

	lastID   string
	retry    time.Duration
	hasRetry bool
}

// NewReader returns a Reader of src. An event whose data, name and id have
// more than maxEventBytes bytes together, or that has a longer line, is an
// error; maxEventBytes of zero or less means [DefaultMaxEventBytes].
func NewReader(src io.Reader, maxEventBytes int) *Reader {
	if maxEventBytes <= 0 {
		maxEventBytes = DefaultMaxEventBytes
	}
	return &Reader{src: bufio.NewReader(src), limit: maxEventBytes}
}

// Next returns the next event, as soon as the line break that ends it has
// arrived. The event is the caller's to keep.
//
// Beyond the events that the standard dispatches, Next returns those that
// have an id and no data: MCP servers send them to give clients something to
// resume from. Comments, and events that have neither, are skipped; their
// retry time still counts, see [Reader.Retry].
//
// At the end of the stream the error is io.EOF. An event that is not complete
// by then is dropped, its id included, as the standard demands. Other errors
// are a [*TooLargeError] and those of the source, as they are. All errors are
// final.
func (r *Reader) Next() (Event, error) {
	for r.err == nil {
		line, err := r.line()
		if err == nil && len(line) > 0 {
			err = r.field(line)
		}
		if err != nil {
			r.err = err
			r.buf, r.pending = nil, Event{}
			break
		}
		if len(line) == 0 {
			if e, ok := r.dispatch(); ok {
				return e, nil
			}
		}
	}
	return Event{}, r.err
}

// LastEventID returns what belongs into the Last-Event-ID header of a request
// that resumes the stream: the id of the last complete event that had one, or
// "" where there is none.
func (r *Reader) LastEventID() string { return r.lastID }

// Retry returns the reconnection time that the stream set last, and false if
// it set none. It is the peer's wish and may be anything from zero to
// centuries: bound it before use.
func (r *Reader) Retry() (time.Duration, bool) { return r.retry, r.hasRetry }

// line returns the next line without its line break. It is valid until the
// next call.
func (r *Reader) line() ([]byte, error) {
	if cap(r.buf) > keptLineBytes {
		r.buf = nil
	}
	r.buf, r.buffered = r.buf[:0], false
	for {
		if _, err := r.src.Peek(1); err != nil {
			return nil, err
		}
		chunk, err := r.src.Peek(r.src.Buffered())
		if err != nil {
			return nil, err
		}
		if r.afterCR {
			r.afterCR = false
			if chunk[0] == '\n' {
				r.discard(1)
				continue
			}
		}
		end := lineEnd(chunk)
		if len(r.buf)+end > r.limit+fieldOverhead {
			return nil, &TooLargeError{Limit: r.limit}
		}
		if end == len(chunk) {
			r.keep(chunk)
			r.discard(end)
			continue
		}
		line := chunk[:end]
		if len(r.buf) > 0 {
			r.keep(line)
			line, r.buffered = r.buf, true
		}
		// A line feed that follows a carriage return is dropped when it
		// comes: to wait for it here could mean to wait for the next event.
		r.afterCR = chunk[end] == '\r'
		r.discard(end + 1)
		if !r.begun {
			r.begun = true
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		return line, nil
	}
}

// keep adds a piece to the line in r.buf. That doubles where it grows: append
// alone would copy a large line several times.
func (r *Reader) keep(piece []byte) {
	if len(r.buf)+len(piece) > cap(r.buf) {
		r.buf = slices.Grow(r.buf, max(len(piece), cap(r.buf)))
	}
	r.buf = append(r.buf, piece...)
}

// discard drops n bytes that are in the buffer of the source. They stay
// readable until the next Peek.
func (r *Reader) discard(n int) {
	// Discard fails only where it has to read.
	_, _ = r.src.Discard(n)
}

// field takes a line that is not empty.
func (r *Reader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		more := len(value)
		if r.hasData {
			more++
		}
		if r.size()+more > r.limit {
			return &TooLargeError{Limit: r.limit}
		}
		switch {
		case r.hasData:
			r.pending.Data = append(append(r.pending.Data, '\n'), value...)
		case r.buffered:
			r.pending.Data, r.buf = value, nil // no need to copy a large one
		default:
			r.pending.Data = append(r.pending.Data, value...)
		}
		r.hasData = true
	case "event":
		r.pending.Name = string(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			r.pending.ID, r.pending.HasID = string(value), true
		}
	case "retry":
		if d, ok := parseRetry(value); ok {
			r.retry, r.hasRetry = d, true
			r.pending.Retry = d
		}
	}
	if r.size() > r.limit {
		return &TooLargeError{Limit: r.limit}
	}
	return nil
}

func (r *Reader) size() int {
	return len(r.pending.Data) + len(r.pending.Name) + len(r.pending.ID)
}

// dispatch takes an empty line. It returns false where that ends no event to
// return.
func (r *Reader) dispatch() (Event, bool) {
	e, ok := r.pending, r.hasData || r.pending.HasID
	r.pending, r.hasData = Event{}, false
	if e.HasID {
		r.lastID = e.ID
	}
	e.ID = r.lastID
	return e, ok
}

// parseRetry reads a number of milliseconds, which must consist of nothing
// but digits. Times that a Duration cannot hold become the longest that it can.
func parseRetry(value []byte) (time.Duration, bool) {
	var ms int64
	for _, c := range value {
		if c < '0' || c > '9' {
			return 0, false
		}
		if ms <= maxRetry {
			ms = ms*10 + int64(c-'0')
		}
	}
	return time.Duration(min(ms, maxRetry)) * time.Millisecond, len(value) > 0
}
