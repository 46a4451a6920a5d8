package eventstream_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eventstream"
)

// readAll returns the events up to the end of the stream.
func readAll(t *testing.T, r *eventstream.Reader) []eventstream.Event {
	t.Helper()
	var events []eventstream.Event
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return events
		}
		if err != nil {
			t.Fatalf("after %d events: %v", len(events), err)
		}
		events = append(events, e)
	}
}

func checkEvents(t *testing.T, got, want []eventstream.Event) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d: %+v", len(got), len(want), got)
	}
	for i, g := range got {
		w := want[i]
		if g.ID != w.ID || g.HasID != w.HasID || g.Name != w.Name || g.Retry != w.Retry || !bytes.Equal(g.Data, w.Data) {
			t.Fatalf("event %d is %+v, want %+v", i, g, w)
		}
	}
}

// splitReader returns rest in reads of 1 to 16 bytes, depending on size.
type splitReader struct {
	rest []byte
	size int
}

func (s *splitReader) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := min(s.size&15+1, len(p), len(s.rest))
	copy(p, s.rest[:n])
	s.rest = s.rest[n:]
	return n, nil
}

// endless is a stream of one line.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.n += len(p)
	return len(p), nil
}

// idle is a source that returns neither data nor an error.
type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }
