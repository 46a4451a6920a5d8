package streamable

import (
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
	"github.com/mcp-bridge/mcp-bridge/protocol/legacy"
)

// maxDropped is how many streams without a connection a session keeps for the
// client to resume. They hold at most maxBuffered bytes together.
const maxDropped = 16

// session is a legacy session on Streamable HTTP. It holds nothing of the
// requests that made it: whoever has its id still acts with the credentials
// of its own request.
type session struct {
	*legacy.Session
	id     string
	ctx    context.Context //nolint:containedctx // a dropped connection does not end a legacy call, the session's end does
	cancel context.CancelFunc
	out    *stream // the GET stream

	mu      sync.Mutex
	streams map[string]*stream
	dropped []string // streams without a connection, oldest first
	number  int
	used    time.Time
	active  int // requests and connections
}

// sessionID returns an unguessable id of visible ASCII characters
// (2025-11-25 basic/transports, Session Management).
func sessionID() string { return rand.Text() }

func newSession() *session {
	ctx, cancel := context.WithCancel(context.Background())
	return &session{
		id: sessionID(), ctx: ctx, cancel: cancel,
		out: newStream("0"), used: time.Now(),
	}
}

// post takes a notification that belongs to no request.
func (s *session) post(n *protocol.Notification) {
	s.out.appendOnce(jsonrpc.AppendNotification(nil, n))
}

// end closes the session and cancels its calls.
func (s *session) end() {
	if s.Session != nil {
		s.Close()
	}
	s.cancel()
	s.out.finish(nil)
}

// newStream opens the stream of one POST.
func (s *session) newStream() *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	st := newStream(strconv.FormatInt(int64(s.number), 36))
	if s.streams == nil {
		s.streams = make(map[string]*stream)
	}
	s.streams[st.name] = st
	return st
}

// resume returns the stream with the given name for a new connection, or nil.
func (s *session) resume(name string) *stream {
	if name == s.out.name {
		return s.out
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.undrop(name)
	return s.streams[name]
}

// undrop removes a name from those of the streams without a connection.
func (s *session) undrop(name string) {
	s.dropped = slices.DeleteFunc(s.dropped, func(n string) bool { return n == name })
}

// forget drops a stream that nobody will resume.
func (s *session) forget(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, st.name)
	s.undrop(st.name)
}

// keep holds a stream for its client to resume, even one that is over: what
// was written last may have been lost with the connection. Of too many it
// drops those first that are over, and the oldest first of all.
func (s *session) keep(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.undrop(st.name)
	s.streams[st.name] = st
	s.dropped = append(s.dropped, st.name)
	for len(s.dropped) > maxDropped || len(s.dropped) > 1 && s.droppedBytes() > maxBuffered {
		i := max(0, slices.IndexFunc(s.dropped, func(name string) bool { return s.streams[name].delivered() }))
		delete(s.streams, s.dropped[i])
		s.dropped = slices.Delete(s.dropped, i, i+1)
	}
}

func (s *session) droppedBytes() (n int) {
	for _, name := range s.dropped {
		n += s.streams[name].bytes()
	}
	return n
}

// use marks the session as used for as long as release is not called.
func (s *session) use() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active++
	s.used = time.Now()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.active--
		s.used = time.Now()
	}
}

// idleSince returns when the session was last used, and false while it is.
func (s *session) idleSince() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.active == 0
}

// sessions are the sessions of one Handler, by id. Idle ones are looked for
// whenever a new one is opened, at most once a minute, so that sessions cost
// no goroutine and no timer.
type sessions struct {
	limit int
	idle  time.Duration

	mu     sync.Mutex
	byID   map[string]*session
	swept  time.Time
	closed bool
}

func newSessions(limit int, idle time.Duration) *sessions {
	return &sessions{limit: limit, idle: idle, byID: make(map[string]*session)}
}

// add registers a session. It returns false where no more can be had: all are
// in use, or the Handler is closed.
func (ss *sessions) add(s *session) bool {
	ss.mu.Lock()
	if ss.closed {
		ss.mu.Unlock()
		return false
	}
	ended := ss.sweep(time.Now())
	ok := len(ss.byID) < ss.limit
	if ok {
		ss.byID[s.id] = s
	}
	ss.mu.Unlock()
	for _, old := range ended {
		old.end()
	}
	return ok
}

// sweep removes the sessions that have been idle for too long, and where the
// limit is reached the one that has been idle longest. It returns them.
func (ss *sessions) sweep(now time.Time) []*session {
	full := len(ss.byID) >= ss.limit
	if !full && now.Sub(ss.swept) < min(ss.idle, time.Minute) {
		return nil
	}
	ss.swept = now
	var (
		ended  []*session
		oldest *session
		since  time.Time
	)
	for id, s := range ss.byID {
		used, idle := s.idleSince()
		switch {
		case !idle:
		case now.Sub(used) > ss.idle:
			delete(ss.byID, id)
			ended = append(ended, s)
		case oldest == nil || used.Before(since):
			oldest, since = s, used
		}
	}
	if len(ss.byID) >= ss.limit && oldest != nil {
		delete(ss.byID, oldest.id)
		ended = append(ended, oldest)
	}
	return ended
}

// get returns the session with the given id and marks it as used until
// release is called, or nil.
func (ss *sessions) get(id string) (s *session, release func()) {
	ss.mu.Lock()
	s = ss.byID[id]
	ss.mu.Unlock()
	if s == nil {
		return nil, nil
	}
	if used, idle := s.idleSince(); idle && time.Since(used) > ss.idle {
		ss.remove(id)
		return nil, nil
	}
	return s, s.use()
}

// remove ends the session with the given id.
func (ss *sessions) remove(id string) {
	ss.mu.Lock()
	s := ss.byID[id]
	delete(ss.byID, id)
	ss.mu.Unlock()
	if s != nil {
		s.end()
	}
}

func (ss *sessions) close() {
	ss.mu.Lock()
	ss.closed = true
	all := ss.byID
	ss.byID = nil
	ss.mu.Unlock()
	for _, s := range all {
		s.end()
	}
}
