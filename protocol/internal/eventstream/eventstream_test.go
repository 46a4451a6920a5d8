package eventstream_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eventstream"
)

func TestAppendEvent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   eventstream.Event
		want string
	}{
		{name: "message", in: eventstream.Event{Data: []byte(`{"a":1}`)}, want: "data: {\"a\":1}\n\n"},
		{name: "all fields", in: eventstream.Event{
			ID: "7", HasID: true, Name: "endpoint", Data: []byte("/x"), Retry: 1500 * time.Millisecond,
		}, want: "event: endpoint\nid: 7\nretry: 1500\ndata: /x\n\n"},
		{name: "priming", in: eventstream.Event{ID: "7", HasID: true}, want: "id: 7\ndata: \n\n"},
		{name: "reset of the id", in: eventstream.Event{HasID: true}, want: "id: \ndata: \n\n"},
		{name: "id that is not set", in: eventstream.Event{ID: "7", Data: []byte("x")}, want: "data: x\n\n"},
		{name: "empty", want: "data: \n\n"},
		{name: "named without data", in: eventstream.Event{Name: "n"}, want: "event: n\ndata: \n\n"},
		{name: "retry alone", in: eventstream.Event{Retry: time.Second}, want: "retry: 1000\n\n"},
		{name: "retry is rounded up", in: eventstream.Event{Retry: time.Millisecond + 1}, want: "retry: 2\n\n"},
		{name: "least retry", in: eventstream.Event{Retry: 1}, want: "retry: 1\n\n"},
		{name: "longest retry", in: eventstream.Event{Retry: math.MaxInt64}, want: "retry: 9223372036855\n\n"},
		{name: "negative retry", in: eventstream.Event{Retry: -1, Data: []byte("x")}, want: "data: x\n\n"},
		{name: "line breaks", in: eventstream.Event{Data: []byte("a\nb\r\nc\rd\n\re")},
			want: "data: a\ndata: b\ndata: c\ndata: d\ndata: \ndata: e\n\n"},
		{name: "line breaks at the ends", in: eventstream.Event{Data: []byte("\na\r\n")}, want: "data: \ndata: a\ndata: \n\n"},
		{name: "carriage return at the end", in: eventstream.Event{Data: []byte("a\r")}, want: "data: a\ndata: \n\n"},
		{name: "data that looks like fields", in: eventstream.Event{Data: []byte(" x\n\nid: 1\n:c")},
			want: "data:  x\ndata: \ndata: id: 1\ndata: :c\n\n"},
		{name: "injection by id", in: eventstream.Event{ID: "1\ndata: evil\n\n", HasID: true, Data: []byte("x")}, want: "data: x\n\n"},
		{name: "injection by id, CR", in: eventstream.Event{ID: "1\rdata: evil", HasID: true, Data: []byte("x")}, want: "data: x\n\n"},
		{name: "NUL in id", in: eventstream.Event{ID: "1\x00", HasID: true, Data: []byte("x")}, want: "data: x\n\n"},
		{name: "injection by name", in: eventstream.Event{Name: "n\r\ndata: evil", Data: []byte("x")}, want: "data: x\n\n"},
		{name: "NUL in name", in: eventstream.Event{Name: "\x00", Data: []byte("x")}, want: "data: x\n\n"},
		{name: "all left out", in: eventstream.Event{Name: "\n", ID: "\n", HasID: true}, want: "data: \n\n"},
		{name: "all left out but retry", in: eventstream.Event{Name: "\n", ID: "\n", HasID: true, Retry: time.Second}, want: "retry: 1000\n\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := eventstream.AppendEvent([]byte("<"), tt.in); string(got) != "<"+tt.want {
				t.Errorf("got %q, want %q", got, "<"+tt.want)
			}
		})
	}
}

func TestAppendComment(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"", ": \n\n"},
		{"keep-alive", ": keep-alive\n\n"},
		{"a\r\n\r\ndata: b", ": a\n: \n: data: b\n\n"},
	}
	for _, tt := range tests {
		got := eventstream.AppendComment([]byte("<"), tt.in)
		if string(got) != "<"+tt.want {
			t.Errorf("AppendComment(%q) = %q, want %q", tt.in, got, "<"+tt.want)
		}
	}
}

func TestValidField(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		"": true, "a b": true, " :\u2028\u00e9": true, "a\nb": false, "\r": false, "a\x00": false,
	} {
		if got := eventstream.ValidField(in); got != want {
			t.Errorf("ValidField(%q) = %t, want %t", in, got, want)
		}
	}
}

// FuzzRoundTrip writes an event, with comments round it, and reads it back,
// from reads of any size.
func FuzzRoundTrip(f *testing.F) {
	f.Add("", false, "", []byte(nil), int64(0), "", 0)
	f.Add("1", true, "endpoint", []byte("{\"a\":1}\nb\r\nc\r\r"), int64(1_500_000_000), "ping", 3)
	f.Add("\n", true, "a\x00", []byte("data: x\n\n"), int64(1), "x\n\ndata: y", 7)
	f.Add(" :", true, ": ", []byte("\ufeff \xff"), int64(math.MaxInt64), "\r", 12)
	f.Fuzz(func(t *testing.T, id string, hasID bool, name string, data []byte, retry int64, comment string, split int) {
		in := eventstream.Event{ID: id, HasID: hasID, Name: name, Data: data, Retry: time.Duration(retry)}
		var stream []byte
		stream = eventstream.AppendComment(stream, comment)
		stream = eventstream.AppendEvent(stream, in)
		stream = eventstream.AppendComment(stream, comment)
		stream = eventstream.AppendEvent(stream, eventstream.Event{Data: []byte("last")})

		want := eventstream.Event{Data: []byte(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(data)))}
		if hasID && eventstream.ValidField(id) {
			want.ID, want.HasID = id, true
		}
		if eventstream.ValidField(name) {
			want.Name = name
		}
		if retry > 0 {
			const ms = int64(time.Millisecond)
			want.Retry = time.Duration(min((retry-1)/ms+1, math.MaxInt64/ms) * ms)
		}
		wants := []eventstream.Event{want, {ID: want.ID, Data: []byte("last")}}
		if len(data) == 0 && !want.HasID && want.Name == "" && retry > 0 {
			wants = wants[1:] // sets the time and is no message
		}

		src := &splitReader{rest: stream, size: split}
		r := eventstream.NewReader(src, len(stream))
		checkEvents(t, readAll(t, r), wants)
		if d, ok := r.Retry(); d != want.Retry || ok != (retry > 0) {
			t.Fatalf("Retry = %v, %t, want %v", d, ok, want.Retry)
		}
		if bytes.ContainsAny(stream, "\r\x00") && !bytes.ContainsAny(data, "\x00") && !strings.ContainsAny(comment, "\x00") {
			t.Fatalf("%q has what must not be in a stream", stream)
		}
	})
}
