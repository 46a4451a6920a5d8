package streamable

import (
	"container/list"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eventstream"
)

// maxBuffered bounds the bytes that one stream holds for a client that may
// come back. Beyond it the oldest events are forgotten.
const maxBuffered = 4 << 20

// stream is one event stream of a session: that of one POST, or the GET
// stream. It outlives the connections that it is read on: what is appended
// while nobody reads is there for whoever resumes
// (2025-11-25 basic/transports, Resumability and Redelivery).
type stream struct {
	name    string
	session *session      // nil for the GET stream, and without a session
	kept    *list.Element // guarded by the lock of the account

	mu       sync.Mutex // last of all
	account  *account   // counts the bytes; nil where nobody does any more
	events   []event
	size     int
	shifted  int           // forgotten events that events still holds in memory
	next     int           // number of the next event
	sent     int           // all events below it have been given to some connection
	finished bool          // no more events will come
	reader   int           // which connection reads; a new one takes over from the last
	wake     chan struct{} // nil where nobody waits
}

type event struct {
	n    int
	data []byte
}

func newStream(name string, a *account) *stream {
	return &stream{name: name, account: a, next: 1, sent: 1}
}

// append adds an event.
func (s *stream) append(data []byte) {
	s.mu.Lock()
	over := s.add(data)
	s.wakeUp()
	a := s.account
	s.mu.Unlock()
	if over {
		s.relieve(a)
	}
}

// relieve is for when the streams of the same principal hold too much: those
// that nobody reads go first, and then the oldest events of this one.
func (s *stream) relieve(a *account) {
	a.trim()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.account.full() && len(s.events) > 1 {
		s.shift()
	}
}

// add is append under the lock. It reports whether the streams of the same
// principal hold too much now.
func (s *stream) add(data []byte) (over bool) {
	if s.finished {
		return false
	}
	s.events = append(s.events, event{s.next, data})
	s.size += len(data)
	s.next++
	over = s.account.add(len(data))
	for s.size > maxBuffered && len(s.events) > 1 {
		s.shift()
	}
	return over
}

// shift forgets the oldest event.
func (s *stream) shift() {
	s.shrink(len(s.events[0].data))
	s.events = s.events[1:]
	if s.shifted++; s.shifted > len(s.events) {
		s.events, s.shifted = slices.Clone(s.events), 0
	}
}

func (s *stream) shrink(n int) {
	s.size -= n
	s.account.add(-n)
}

// settle is for a stream that nobody can come back to: a connection that reads
// it still may, and nobody counts it any more.
func (s *stream) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account.add(-s.size)
	s.account = nil
}

// drop forgets all events, and ends the stream.
func (s *stream) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shrink(s.size)
	s.events, s.account, s.finished = nil, nil, true
	s.wakeUp()
}

// appendOnce adds an event unless the same one waits to be sent already.
func (s *stream) appendOnce(data []byte) {
	s.mu.Lock()
	waiting := false
	for _, e := range s.events {
		waiting = waiting || e.n >= s.sent && string(e.data) == string(data)
	}
	s.mu.Unlock()
	if !waiting {
		s.append(data)
	}
}

// finish ends the stream, with one more event unless last is nil. Nobody sees
// the one without the other, so that a lone response can be told.
func (s *stream) finish(last []byte) {
	s.mu.Lock()
	over := last != nil && s.add(last)
	s.finished = true
	s.wakeUp()
	a := s.account
	s.mu.Unlock()
	if over {
		s.relieve(a)
	}
}

// wakeUp tells those who wait that something has happened. It is called under
// the lock.
func (s *stream) wakeUp() {
	if s.wake != nil {
		close(s.wake)
		s.wake = nil
	}
}

// wait returns what is closed when something happens. It is called under the
// lock.
func (s *stream) wait() <-chan struct{} {
	if s.wake == nil {
		s.wake = make(chan struct{})
	}
	return s.wake
}

// attach makes the caller the stream's reader and returns its number. A
// reader before it stops.
func (s *stream) attach() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reader++
	s.wakeUp()
	return s.reader
}

// detach reports whether the reader is still the stream's.
func (s *stream) detach(reader int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return reader == s.reader
}

// unsent returns the number of the event before the first that no connection
// has had yet.
func (s *stream) unsent() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent - 1
}

// after returns the events after number n, or what to wait for where there
// are none: over is true once there will be none for this reader.
func (s *stream) after(n, reader int) (events []event, over bool, wake <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reader != s.reader {
		return nil, true, nil
	}
	for i, e := range s.events {
		if e.n > n {
			events = s.events[i:]
			break
		}
	}
	if len(events) > 0 || s.finished {
		return events, len(events) == 0, nil
	}
	return nil, false, s.wait()
}

// take records that everything up to event n is about to be written. That
// comes before the writing, because the client may act on an event before the
// writer knows that it has been written. Untake takes it back where the writing
// fails.
func (s *stream) take(n int) (untake func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, taken := s.sent, max(s.sent, n+1)
	s.sent = taken
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.sent == taken { // nobody has gone on from there
			s.sent = before
		}
	}
}

// forget drops what nobody will ask for again: of the events that have been
// sent, all but the last ones.
func (s *stream) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	const replayable = 64
	if drop := len(s.events) - replayable; drop > 0 && s.events[drop-1].n < s.sent {
		for _, e := range s.events[:drop] {
			s.shrink(len(e.data))
		}
		s.events, s.shifted = slices.Clone(s.events[drop:]), 0
	}
}

// delivered reports whether the stream is over and every event of it has
// been written to a connection.
func (s *stream) delivered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.finished && s.sent == s.next
}

// bytes returns how much the stream holds.
func (s *stream) bytes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size
}

// only returns the one event of a finished stream that has no other.
func (s *stream) only() ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.finished || len(s.events) != 1 || s.events[0].n != 1 {
		return nil, false
	}
	return s.events[0].data, true
}

// idle reports whether nothing has happened on the stream yet, and what to wait
// for then.
func (s *stream) idle() (bool, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next > 1 || s.finished {
		return false, nil
	}
	return true, s.wait()
}

// eventID is the id of event n: the stream's name and the number, so that
// it is unique in the session and says which stream to resume.
func (s *stream) eventID(n int) string { return s.name + "-" + strconv.Itoa(n) }

func parseEventID(id string) (name string, n int, ok bool) {
	name, num, ok := strings.Cut(id, "-")
	if !ok {
		return "", 0, false
	}
	n, err := strconv.Atoi(num)
	return name, n, err == nil && n >= 0
}

func (s *stream) appendEvent(dst []byte, e event) []byte {
	return eventstream.AppendEvent(dst, eventstream.Event{ID: s.eventID(e.n), HasID: true, Data: e.data})
}
