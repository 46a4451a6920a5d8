package eventstream_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eventstream"
)

type event = eventstream.Event

// TestReader has the examples and rules of the HTML standard, 9.2.5 Parsing
// an event stream and 9.2.6 Interpreting an event stream. Each stream is read
// whole, byte by byte, and in two reads cut at every position.
func TestReader(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		in     string
		want   []event
		lastID string
		retry  time.Duration
	}{
		{name: "nothing"},
		{name: "blank lines", in: "\n\r\n\r\n\n"},

		// The standard's own examples.
		{name: "example: two lines of data", in: "data: YHOO\ndata: +2\ndata: 10\n\n", want: []event{{Data: []byte("YHOO\n+2\n10")}}},
		{name: "example: four blocks", in: ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
			want: []event{
				{Data: []byte("first event"), ID: "1", HasID: true},
				{Data: []byte("second event"), HasID: true},
				{Data: []byte(" third event")},
			}},
		{name: "example: empty data", in: "data\n\ndata\ndata\n\ndata:", want: []event{{}, {Data: []byte("\n")}}},
		{name: "example: optional space", in: "data:test\n\ndata: test\n\n", want: []event{{Data: []byte("test")}, {Data: []byte("test")}}},
		{name: "example: named", in: "event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n",
			want: []event{{Name: "add", Data: []byte("73857293")}, {Name: "remove", Data: []byte("2153")}}},

		// Line breaks and the byte order mark.
		{name: "LF", in: "data: a\ndata: b\n\n", want: []event{{Data: []byte("a\nb")}}},
		{name: "CR", in: "data: a\rdata: b\r\r", want: []event{{Data: []byte("a\nb")}}},
		{name: "CRLF", in: "data: a\r\ndata: b\r\n\r\n", want: []event{{Data: []byte("a\nb")}}},
		{name: "mixed", in: "data: a\rdata: b\r\ndata: c\n\rdata: d\n\r\n", want: []event{{Data: []byte("a\nb\nc")}, {Data: []byte("d")}}},
		{name: "no line break", in: "data: a\u2028b\x0bc\x85\n\n", want: []event{{Data: []byte("a\u2028b\x0bc\x85")}}},
		{name: "BOM", in: "\ufeffdata: a\n\n", want: []event{{Data: []byte("a")}}},
		{name: "BOM before a comment", in: "\ufeff: c\ndata: a\n\n", want: []event{{Data: []byte("a")}}},
		{name: "BOM alone in its line", in: "\ufeff\ndata: a\n\n", want: []event{{Data: []byte("a")}}},
		{name: "only one BOM", in: "\ufeff\ufeffdata: a\n\ndata: b\n\n", want: []event{{Data: []byte("b")}}},
		{name: "BOM later on", in: "data: a\n\n\ufeffdata: b\n\n", want: []event{{Data: []byte("a")}}},

		// Fields.
		{name: "one space is dropped", in: "data:  a \n\n", want: []event{{Data: []byte(" a ")}}},
		{name: "a tab is not", in: "data:\ta\n\n", want: []event{{Data: []byte("\ta")}}},
		{name: "colons in the value", in: "data: a:b: c\n\n", want: []event{{Data: []byte("a:b: c")}}},
		{name: "unknown fields", in: "Data: a\nfoo: b\nfoo\n data: c\ndata : d\ndata: e\n\n", want: []event{{Data: []byte("e")}}},
		{name: "comments", in: ":\n: a\ndata: b\n:c\ndata: d\n:\n\n: e\n\n", want: []event{{Data: []byte("b\nd")}}},
		{name: "the last name counts", in: "event: a\nevent: b\ndata: c\n\ndata: d\n\n", want: []event{{Name: "b", Data: []byte("c")}, {Data: []byte("d")}}},
		{name: "an empty name is none", in: "event: a\nevent\ndata: c\n\n", want: []event{{Data: []byte("c")}}},
		{name: "NUL in data", in: "data: a\x00b\n\n", want: []event{{Data: []byte("a\x00b")}}},
		{name: "text that is not UTF-8", in: "data: \xff\n\n", want: []event{{Data: []byte("\xff")}}},

		// What is not dispatched.
		{name: "name without data", in: "event: a\n\ndata: b\n\n", want: []event{{Data: []byte("b")}}},
		{name: "end before the blank line", in: "data: a\n\ndata: b\n", want: []event{{Data: []byte("a")}}},
		{name: "end in a line", in: "data: a\n\nid: 1\ndata: b", want: []event{{Data: []byte("a")}}},
		{name: "end in a CR", in: "data: a\r\n\r", want: []event{{Data: []byte("a")}}},

		// Ids.
		{name: "id stays", in: "id: 1\ndata: a\n\ndata: b\n\nid: 2\ndata: c\n\n", lastID: "2", want: []event{
			{ID: "1", HasID: true, Data: []byte("a")}, {ID: "1", Data: []byte("b")}, {ID: "2", HasID: true, Data: []byte("c")},
		}},
		{name: "id is reset", in: "id: 1\ndata: a\n\nid:\ndata: b\n\ndata: c\n\n", want: []event{
			{ID: "1", HasID: true, Data: []byte("a")}, {HasID: true, Data: []byte("b")}, {Data: []byte("c")},
		}},
		{name: "id with NUL", in: "id: 1\nid: 2\x003\ndata: a\n\nid: \x00\ndata: b\n\n", lastID: "1", want: []event{
			{ID: "1", HasID: true, Data: []byte("a")}, {ID: "1", Data: []byte("b")},
		}},
		{name: "the last id counts", in: "id: 1\ndata: a\nid: 2\n\n", lastID: "2", want: []event{{ID: "2", HasID: true, Data: []byte("a")}}},
		{name: "id of an incomplete event", in: "id: 1\ndata: a\n\nid: 2\ndata: b\n", lastID: "1", want: []event{{ID: "1", HasID: true, Data: []byte("a")}}},
		{name: "priming event", in: "id: 1\nretry: 20\ndata: \n\n", lastID: "1", retry: 20 * time.Millisecond,
			want: []event{{ID: "1", HasID: true, Retry: 20 * time.Millisecond}}},
		{name: "priming event without data", in: "event: x\nid: 1\n\ndata: a\n\n", lastID: "1",
			want: []event{{ID: "1", HasID: true, Name: "x"}, {ID: "1", Data: []byte("a")}}},

		// Reconnection time.
		{name: "retry alone", in: "retry: 3000\n\ndata: a\n\n", retry: 3 * time.Second, want: []event{{Data: []byte("a")}}},
		{name: "retry at the end", in: "retry: 3000\n", retry: 3 * time.Second},
		{name: "retry of other than digits", in: "retry: 7\nretry: 1.5\nretry: -1\nretry: +1\nretry:  1\nretry: 1e3\nretry: 0x1\nretry\nretry:\n",
			retry: 7 * time.Millisecond},
		{name: "retry with zeros", in: "retry: 00000000000000000000000012\n", retry: 12 * time.Millisecond},
		{name: "retry of ages", in: "retry: 99999999999999999999999999\n", retry: math.MaxInt64 / time.Millisecond * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			check := func(src io.Reader) {
				t.Helper()
				r := eventstream.NewReader(src, 0)
				checkEvents(t, readAll(t, r), tt.want)
				if got := r.LastEventID(); got != tt.lastID {
					t.Errorf("LastEventID = %q, want %q", got, tt.lastID)
				}
				if got, ok := r.Retry(); got != tt.retry || ok != (tt.retry != 0) {
					t.Errorf("Retry = %v, %t, want %v", got, ok, tt.retry)
				}
			}
			check(strings.NewReader(tt.in))
			check(iotest.OneByteReader(strings.NewReader(tt.in)))
			check(iotest.DataErrReader(strings.NewReader(tt.in)))
			for i := range len(tt.in) {
				check(io.MultiReader(strings.NewReader(tt.in[:i]), strings.NewReader(tt.in[i:])))
			}
		})
	}
}

func TestReaderRetryOfZero(t *testing.T) {
	t.Parallel()
	r := eventstream.NewReader(strings.NewReader("retry: 5\nretry: 0\n\n"), 0)
	checkEvents(t, readAll(t, r), nil)
	if d, ok := r.Retry(); d != 0 || !ok {
		t.Errorf("Retry = %v, %t, want 0s, true", d, ok)
	}
}

func TestReaderLimit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   string
		want int // events before the end or the error
		fail bool
	}{
		{name: "at the limit", in: "data: 1234567890\n\n", want: 1},
		{name: "over the limit", in: "data: 12345678901\n\n", fail: true},
		{name: "without the space", in: "data:12345678901\n\n", fail: true},
		{name: "over the limit after an event", in: "data: 1\n\ndata: 12345678901\n\n", want: 1, fail: true},
		{name: "many events", in: strings.Repeat("data: 1234567890\n\n", 100), want: 100},
		{name: "lines at the limit", in: "data: 1234\ndata: 67890\n\n", want: 1},
		{name: "lines over the limit", in: "data: 1234\ndata: 678901\n\n", fail: true},
		{name: "empty lines at the limit", in: strings.Repeat("data\n", 11) + "\n", want: 1},
		{name: "empty lines over the limit", in: strings.Repeat("data\n", 12) + "\n", fail: true},
		{name: "name", in: "event: 12345678901\n", fail: true},
		{name: "id", in: "id: 12345678901\n", fail: true},
		{name: "together at the limit", in: "event: 123\nid: 456\ndata: 7890\n\n", want: 1},
		{name: "together over the limit", in: "event: 123\nid: 456\ndata: 78901\n\n", fail: true},
		{name: "together over the limit, name last", in: "data: 78901\nid: 456\nevent: 123\n\n", fail: true},
		{name: "an id that stays is not counted", in: "id: 1234567890\n\ndata: 1234567890\n\n", want: 2},
		{name: "many comments in an event", in: "data: 1\n" + strings.Repeat(": 1234567890\n", 1000) + "\n", want: 1},
		{name: "many unknown fields", in: "data: 1\n" + strings.Repeat("a: b\n", 1000) + "\n", want: 1},
		{name: "many names", in: strings.Repeat("event: 1234\n", 1000) + "data: 1\n\n", want: 1},
		{name: "long comment", in: ":" + strings.Repeat("x", 17) + "\ndata: 1\n\n", fail: true},
		{name: "line without an end", in: strings.Repeat("x", 100_000), fail: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, src := range []io.Reader{strings.NewReader(tt.in), iotest.OneByteReader(strings.NewReader(tt.in))} {
				r := eventstream.NewReader(src, 10)
				n := 0
				_, err := r.Next()
				for ; err == nil; _, err = r.Next() {
					n++
				}
				if n != tt.want {
					t.Errorf("%d events, want %d", n, tt.want)
				}
				tooLarge, ok := errors.AsType[*eventstream.TooLargeError](err)
				switch {
				case !tt.fail && !errors.Is(err, io.EOF):
					t.Errorf("error %v, want EOF", err)
				case tt.fail && !ok:
					t.Errorf("error %v, want a TooLargeError", err)
				case tt.fail && (tooLarge.Limit != 10 || err.Error() != "server-sent event is larger than the limit of 10 bytes"):
					t.Errorf("error %q with limit %d", err, tooLarge.Limit)
				}
				if _, again := r.Next(); !errors.Is(again, err) {
					t.Errorf("the next error is %v, want %v again", again, err)
				}
			}
		})
	}
}

// TestReaderMemory reads a stream that never ends its line.
func TestReaderMemory(t *testing.T) {
	t.Parallel()
	const limit = 1 << 16
	src := &endless{}
	_, err := eventstream.NewReader(src, limit).Next()
	if _, ok := errors.AsType[*eventstream.TooLargeError](err); !ok {
		t.Errorf("error %v, want a TooLargeError", err)
	}
	if src.n > 2*limit {
		t.Errorf("%d bytes read before the limit of %d was noticed", src.n, limit)
	}
}

func TestReaderLargeEvents(t *testing.T) {
	t.Parallel()
	var stream []byte
	var want []event
	for _, n := range []int{4090, 4096, 5000, 200_000, 3, 1 << 20, 1} {
		e := event{Data: bytes.Repeat([]byte("x"), n)}
		want = append(want, e)
		stream = eventstream.AppendComment(stream, string(e.Data[1:]))
		stream = eventstream.AppendEvent(stream, e)
	}
	checkEvents(t, readAll(t, eventstream.NewReader(bytes.NewReader(stream), 1<<20)), want)
}

func TestReaderSourceError(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	r := eventstream.NewReader(io.MultiReader(strings.NewReader("data: a\n\nid: 1\ndata: b\n"), iotest.ErrReader(broken)), 0)
	if e, err := r.Next(); err != nil || string(e.Data) != "a" {
		t.Errorf("event %q, error %v, want a", e.Data, err)
	}
	for range 2 {
		if e, err := r.Next(); !errors.Is(err, broken) {
			t.Errorf("event %q, error %v, want %v", e.Data, err, broken)
		}
	}
	if id := r.LastEventID(); id != "" {
		t.Errorf("LastEventID = %q, want that of a complete event", id)
	}
	checkIdle(t)
}

func checkIdle(t *testing.T) {
	t.Helper()
	r := eventstream.NewReader(idle{}, 0)
	if _, err := r.Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("error %v from a source that does nothing, want %v", err, io.ErrNoProgress)
	}
}

// TestReaderDoesNotWait checks that an event is there with its last byte, even
// where that is a carriage return and a line feed may follow.
func TestReaderDoesNotWait(t *testing.T) {
	t.Parallel()
	for _, br := range []string{"\n", "\r", "\r\n"} {
		src, w := io.Pipe()
		r := eventstream.NewReader(src, 0)
		for i := range 3 {
			wrote := make(chan error, 1)
			go func() {
				_, err := fmt.Fprintf(w, "data: %d%s%s", i, br, br)
				wrote <- err
			}()
			// Were Next to wait for more, it would wait for ever: nothing
			// else is written before it returns.
			e, err := r.Next()
			if err != nil || string(e.Data) != fmt.Sprint(i) {
				t.Errorf("event %q, error %v, want %d", e.Data, err, i)
			}
			if err := <-wrote; err != nil {
				t.Error(err)
			}
		}
		_ = w.Close()
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("error %v, want EOF", err)
		}
	}
}

// TestOverHTTP has a server send one event at a time, each only after the
// client has read the one before.
func TestOverHTTP(t *testing.T) {
	t.Parallel()
	sent := []event{
		{ID: "s-0", HasID: true, Retry: time.Second},
		{Name: "endpoint", Data: []byte("/messages?x=1")},
		{ID: "s-1", HasID: true, Data: []byte("{\n\"jsonrpc\": \"2.0\"\n}")},
		{Data: bytes.Repeat([]byte("0123456789"), 20_000)},
	}
	read := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		var buf []byte
		for _, e := range sent {
			buf = eventstream.AppendComment(buf[:0], "keep-alive")
			buf = eventstream.AppendEvent(buf, e)
			if _, err := w.Write(buf); err != nil {
				return
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				return
			}
			select {
			case <-read:
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(srv.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	r := eventstream.NewReader(resp.Body, 0)
	id := ""
	for _, want := range sent {
		if want.HasID {
			id = want.ID
		}
		want.ID = id
		got, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		checkEvents(t, []event{got}, []event{want})
		read <- struct{}{}
	}
	if _, err := r.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("error %v, want EOF", err)
	}
}

// FuzzReader reads anything, whole and in pieces, and wants the same of both.
func FuzzReader(f *testing.F) {
	f.Add([]byte("\ufeff: c\r\ndata: a\rdata: b\n\nid: 1\nretry: 5\n\nevent: x\ndata\n\ndata: z"), 1, 100)
	f.Add([]byte("id: 1\x00\r\r\n\ndata:12345\n\n"), 3, 4)
	f.Fuzz(func(t *testing.T, stream []byte, split, limit int) {
		whole := eventstream.NewReader(bytes.NewReader(stream), limit)
		pieces := eventstream.NewReader(&splitReader{rest: stream, size: split}, limit)
		for {
			a, errA := whole.Next()
			b, errB := pieces.Next()
			if fmt.Sprint(errA) != fmt.Sprint(errB) {
				t.Fatalf("error %v, in pieces %v", errA, errB)
			}
			if errA != nil {
				break
			}
			checkEvents(t, []event{b}, []event{a})
			if limit > 0 && len(a.Data)+len(a.Name) > limit {
				t.Fatalf("an event of %d bytes passes the limit of %d", len(a.Data)+len(a.Name), limit)
			}
			// What was read can be written and reads the same.
			if !eventstream.ValidField(a.Name) {
				continue
			}
			again, err := eventstream.NewReader(bytes.NewReader(eventstream.AppendEvent(nil, a)), 0).Next()
			if !a.HasID {
				again.ID = a.ID
			}
			if err == nil {
				checkEvents(t, []event{again}, []event{a})
			} else if len(a.Data) > 0 || a.HasID || a.Name != "" || a.Retry <= 0 {
				t.Fatalf("%v of %+v", err, a)
			}
		}
		if whole.LastEventID() != pieces.LastEventID() {
			t.Fatalf("LastEventID %q, in pieces %q", whole.LastEventID(), pieces.LastEventID())
		}
	})
}
