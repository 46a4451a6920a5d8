package streamable

import (
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/bounded"
	"github.com/mcp-bridge/mcp-bridge/internal/front"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eraserver"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// maxDropped is how many streams without a connection a session keeps for the
// client to resume. They hold at most maxBuffered bytes together.
const maxDropped = 16

// session is a legacy session on Streamable HTTP. It holds nothing of the
// requests that made it: whoever has its id still acts with the credentials
// of its own request.
type session struct {
	*eraserver.Session
	id      string
	key     string          // the front.SessionKey of who may use it
	account *account        // that of its author
	leave   func()          // gives the account back
	ctx     context.Context //nolint:containedctx // a dropped connection does not end a legacy call, the session's end does
	cancel  context.CancelFunc
	out     *stream // the GET stream

	mu      sync.Mutex
	streams map[string]*stream
	dropped []*stream // streams without a connection, oldest first
	number  int
	used    time.Time
	active  int // requests and connections
	ended   bool
}

// sessionID returns an unguessable id of visible ASCII characters
// (2025-11-25 basic/transports, Session Management).
func sessionID() string { return rand.Text() }

func newSession(p *protocol.Principal, all *accounts) *session {
	ctx, cancel := context.WithCancel(context.Background())
	a, leave := all.join(p.Quota())
	return &session{
		id: sessionID(), key: front.SessionKey(p), account: a, leave: leave, ctx: ctx, cancel: cancel,
		out: newStream("0", a), used: time.Now(),
	}
}

// post takes a notification that belongs to no request.
func (s *session) post(n *protocol.Notification) {
	message := jsonrpc.AppendNotification(nil, n)
	if n.Change() {
		s.out.appendOnce(message)
		return
	}
	s.out.append(message)
}

// end closes the session and cancels its calls. It is called once.
func (s *session) end() {
	if s.Session != nil {
		s.Close()
	}
	s.cancel()
	s.out.finish(nil)
	s.out.settle()
	defer s.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.streams {
		s.account.unkeep(st)
		st.settle()
	}
	s.streams, s.dropped, s.ended = nil, nil, true
}

// newStream opens the stream of one POST.
func (s *session) newStream() *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	st := newStream(strconv.FormatInt(int64(s.number), 36), s.account)
	st.session = s
	if s.ended {
		st.account = nil // nobody can come back to it
		return st
	}
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
	st := s.streams[name]
	if st != nil {
		s.undrop(st)
	}
	return st
}

// undrop removes a stream from those without a connection.
func (s *session) undrop(st *stream) {
	s.dropped = slices.DeleteFunc(s.dropped, func(other *stream) bool { return other == st })
	s.account.unkeep(st)
}

// forget drops a stream that nobody will resume.
func (s *session) forget(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(st)
}

// release is forget under the lock.
func (s *session) release(st *stream) {
	delete(s.streams, st.name)
	s.undrop(st)
	st.drop()
}

// keep holds a stream for its client to resume, even one that is over: what
// was written last may have been lost with the connection. Of too many it
// drops those first that are over, and the oldest first of all.
func (s *session) keep(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[st.name] != st {
		return // its author has too much of them
	}
	s.undrop(st)
	s.dropped = append(s.dropped, st)
	s.account.keep(st)
	for len(s.dropped) > maxDropped || len(s.dropped) > 1 && s.droppedBytes() > maxBuffered {
		i := max(0, slices.IndexFunc(s.dropped, (*stream).delivered))
		s.release(s.dropped[i])
	}
}

func (s *session) droppedBytes() (n int) {
	for _, st := range s.dropped {
		n += st.bytes()
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

// IdleSince returns when the session was last used, and false while it is.
func (s *session) IdleSince() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, s.active == 0
}

// newSessions returns the sessions of one Handler, by their ids.
func newSessions(cfg *Config) *bounded.Set[*session] {
	return bounded.New(bounded.Limits{
		Idle: cfg.SessionIdle, Total: cfg.MaxSessions, Each: cfg.MaxSessionsPerCaller,
	}, func(s *session, _ bounded.Reason) { s.end() })
}
