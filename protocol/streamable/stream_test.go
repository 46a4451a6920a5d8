package streamable

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
)

// numbers returns which events a reader gets after event n.
func numbers(s *stream, n, reader int) (got []int, over bool) {
	events, over, _ := s.after(n, reader)
	for _, e := range events {
		got = append(got, e.n)
	}
	return got, over
}

func TestStreamForgetsTheOldest(t *testing.T) {
	t.Parallel()
	s := newStream("1", nil)
	reader := s.attach()
	chunk := bytes.Repeat([]byte("x"), maxBuffered/4)
	for range 6 {
		s.append(chunk)
	}
	if got, over := numbers(s, 0, reader); fmt.Sprint(got) != "[3 4 5 6]" || over {
		t.Errorf("events %v, over %t; want those that fit into the buffer", got, over)
	}
	s.finish(make([]byte, 2*maxBuffered))
	if got, _ := numbers(s, 0, reader); fmt.Sprint(got) != "[7]" {
		t.Errorf("events %v, want the last one however large", got)
	}
	if _, ok := s.only(); ok {
		t.Error("the rest of a stream passes for all of it")
	}
}

func TestStreamKeepsTheLastEventsThatAreSent(t *testing.T) {
	t.Parallel()
	s := newStream("1", nil)
	reader := s.attach()
	for i := range 100 {
		s.append([]byte{byte(i)})
	}
	s.take(100)
	s.forget()
	got, _ := numbers(s, 0, reader)
	if len(got) != 64 || got[0] != 37 || s.bytes() != 64 {
		t.Errorf("%d events from %d on, %d bytes; want the last 64", len(got), got[0], s.bytes())
	}
	for i := range 100 {
		s.append([]byte{byte(i)})
	}
	s.take(110)
	s.forget()
	if got, _ := numbers(s, 110, reader); len(got) != 90 {
		t.Errorf("%d events are left to send, want 90", len(got))
	}
}

func TestStreamHasOneReader(t *testing.T) {
	t.Parallel()
	s := newStream("1", nil)
	first := s.attach()
	_, _, wake := s.after(0, first)
	second := s.attach()
	<-wake
	s.append([]byte("a"))
	if got, over := numbers(s, 0, first); got != nil || !over {
		t.Errorf("the first reader has %v, over %t; want nothing more", got, over)
	}
	if got, over := numbers(s, 0, second); len(got) != 1 || over {
		t.Errorf("the second reader has %v, over %t", got, over)
	}
	if s.detach(first) || !s.detach(second) {
		t.Error("the wrong reader is the current one")
	}
}

func TestStreamCoalescesWhatWaits(t *testing.T) {
	t.Parallel()
	s := newStream("0", nil)
	reader := s.attach()
	for range 3 {
		s.appendOnce([]byte("a"))
		s.appendOnce([]byte("b"))
	}
	if got, _ := numbers(s, 0, reader); len(got) != 2 {
		t.Errorf("%d events, want 2", len(got))
	}
	s.take(1)
	s.forget()
	s.appendOnce([]byte("a"))
	s.appendOnce([]byte("b"))
	if got, _ := numbers(s, 0, reader); len(got) != 3 {
		t.Errorf("%d events, want one more: a has been sent, b waits", len(got))
	}
	s.finish(nil)
	s.append([]byte("c"))
	if got, _ := numbers(s, 3, reader); got != nil {
		t.Errorf("events %v after the end", got)
	}
}

func TestSessionKeepsFewStreams(t *testing.T) {
	t.Parallel()
	s := newSession(nil, newAccounts(1<<30))
	var streams []*stream
	for range maxDropped + 4 {
		st := s.newStream()
		streams = append(streams, st)
		if len(streams)%2 == 0 {
			st.finish([]byte("over"))
			st.take(1)
			st.forget()
		}
		s.keep(st)
		s.keep(st) // once more: it is still one
	}
	if len(s.dropped) != maxDropped || len(s.streams) != maxDropped {
		t.Errorf("%d streams of %d are dropped, want %d", len(s.dropped), len(s.streams), maxDropped)
	}
	for i, st := range streams {
		// Four had to go: the oldest of those that are over.
		want := i >= 8 || i%2 == 0
		if got := s.resume(st.name) != nil; got != want {
			t.Errorf("stream %d can be resumed: %t, want %t", i, got, want)
		}
	}
	if len(s.dropped) != 0 {
		t.Errorf("%v have a connection and count as dropped", s.dropped)
	}

	s = newSession(nil, newAccounts(1<<30))
	large := s.newStream()
	large.finish(make([]byte, maxBuffered))
	s.keep(large)
	small := s.newStream()
	small.append([]byte("x"))
	s.keep(small)
	if s.resume(large.name) != nil || s.resume(small.name) == nil {
		t.Error("the streams that are kept have no limit in bytes")
	}
}

// The bytes that are counted are those that the streams hold.
func TestAccountCounts(t *testing.T) {
	t.Parallel()
	all := newAccounts(1000)
	s := newSession(nil, all)
	a := s.account
	check := func(when string, want int64) {
		t.Helper()
		if got := a.held.Load(); got != want {
			t.Errorf("%s: %d bytes are counted, want %d", when, got, want)
		}
	}
	kept, read := s.newStream(), s.newStream()
	kept.append(make([]byte, 400))
	s.keep(kept)
	check("a kept stream", 400)
	for range 3 {
		read.append(make([]byte, 300))
	}
	check("the kept stream has made room", 900)
	if s.resume(kept.name) != nil {
		t.Error("the oldest stream can still be resumed")
	}
	read.append(make([]byte, 300))
	check("a stream makes room for itself", 900)
	kept.append(make([]byte, 10))
	check("a stream that is gone", 900)
	s.out.append(make([]byte, 50))
	s.forget(read)
	check("the GET stream alone", 50)
	late := s.newStream()
	late.append(make([]byte, 60))
	s.end()
	check("the end", 0)
	late.append(make([]byte, 60))
	s.newStream().append(make([]byte, 60))
	s.keep(late)
	check("after the end", 0)
	if a.kept.Len() != 0 || len(all.byQuota) != 0 {
		t.Errorf("%d streams and %d accounts are kept after the end", a.kept.Len(), len(all.byQuota))
	}
}

func TestParseEventID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"1-0": "1 0 true", "zz-12": "zz 12 true", "0-99999999999999999999": "", "": "", "1": "", "-": "", "1--1": "", "1-a": "", "1-2-3": "", "-1": " 1 true",
	} {
		name, n, ok := parseEventID(id)
		if want == "" && ok || want != "" && fmt.Sprint(name, " ", n, " ", ok) != want {
			t.Errorf("%q: %q %d %t, want %q", id, name, n, ok, want)
		}
	}
}

func FuzzDecodeSentinel(f *testing.F) {
	for _, v := range []string{"", "plain", "=?base64?SGVsbG8=?=", "=?base64?SGVsbG8?=", "=?base64??=", "=?base64?=", "=?BASE64?YQ==?=", "=?base64?YR==?=", "=?base64?\n?="} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v string) {
		got, ok := mcpjson.DecodeHeader(v)
		if !strings.HasPrefix(v, "=?base64?") || !strings.HasSuffix(v, "?=") || len(v) < len("=?base64??=") {
			if !ok || got != v {
				t.Errorf("%q is no sentinel and reads as %q, %t", v, got, ok)
			}
			return
		}
		if ok && !strings.ContainsAny(v, "\r\n") && "=?base64?"+base64.StdEncoding.EncodeToString([]byte(got))+"?=" != v {
			t.Errorf("%q reads as %q, which has another encoding", v, got)
		}
	})
}

// FuzzSentinelRoundTrip: whatever a name is, its encoding is decoded to it.
func FuzzSentinelRoundTrip(f *testing.F) {
	f.Add("a")
	f.Add("世界")
	f.Fuzz(func(t *testing.T, name string) {
		if !utf8.ValidString(name) {
			t.Skip("JSON strings are valid UTF-8")
		}
		got, ok := mcpjson.DecodeHeader("=?base64?" + base64.StdEncoding.EncodeToString([]byte(name)) + "?=")
		if !ok || got != name {
			t.Errorf("%q comes back as %q, %t", name, got, ok)
		}
	})
}

// An event that a writer has in hand does not keep out the next one like it,
// and one that could not be written is there for the next connection.
func TestTake(t *testing.T) {
	t.Parallel()
	s := newStream("0", nil)
	change := []byte("changed")
	s.appendOnce(change)
	s.appendOnce(change)
	if s.next != 2 {
		t.Errorf("%d events, want 1", s.next-1)
	}
	untake := s.take(1)
	s.appendOnce(change)
	if s.next != 3 || s.unsent() != 1 {
		t.Errorf("%d events, want 2; unsent after %d, want 1", s.next-1, s.unsent())
	}
	untake()
	if s.unsent() != 0 {
		t.Errorf("unsent after %d, want 0", s.unsent())
	}
	untake = s.take(1)
	s.take(2)
	untake()
	if s.unsent() != 2 {
		t.Errorf("unsent after %d, want 2: another connection has gone on", s.unsent())
	}
}
