package eraserver

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

const (
	// askTimeout is how long the client may take to answer a request of the
	// server: people read what they are asked.
	askTimeout = 5 * time.Minute
	// maxAsked bounds the requests of one session that have no answer yet.
	maxAsked = 256
)

// Stream is how what belongs to one request of a client reaches it.
type Stream struct {
	// Notifier takes the notifications.
	Notifier protocol.Notifier
	// Send sends an encoded request of the server, and the notification that
	// takes it back. It is nil where the client can be sent none, or its
	// responses would not find the session. Such a client has no capability
	// to be asked for anything.
	Send func(ctx context.Context, message []byte) error

	heart *heartbeat // nil where the client wants no progress
}

// reach returns those of a client's capabilities that are of use here.
func (st Stream) reach(capabilities json.RawMessage) json.RawMessage {
	if st.Send == nil {
		return unaskable(capabilities)
	}
	return capabilities
}

// asking are the requests that a session has sent to its client and that have
// no answer yet. The zero value is ready for use.
type asking struct {
	mu    sync.Mutex
	last  int64
	open  map[string]chan<- reply
	ended bool
}

// reply is the client's response to a request of the server. The response is
// nil where none can come any more.
type reply struct {
	id string
	m  *jsonrpc.Message
}

// errUnheard is the error of a call that wants input which cannot come.
var errUnheard = protocol.Errorf(protocol.CodeInternalError, "the client has gone before it answered what this call asks")

// begin registers a request, whose reply goes to replies: there must be room
// for it.
func (a *asking) begin(replies chan<- reply) (id string, fault *protocol.Error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.ended:
		return "", errUnheard
	case len(a.open) >= maxAsked:
		return "", protocol.Errorf(protocol.CodeInternalError, "the client has %d requests of the server to answer already", maxAsked)
	}
	a.last++
	id = strconv.FormatInt(a.last, 10)
	if a.open == nil {
		a.open = make(map[string]chan<- reply)
	}
	a.open[id] = replies
	return id, nil
}

// take forgets a request and returns who waits for the reply, or nil.
func (a *asking) take(id string) chan<- reply {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.open[id]
	delete(a.open, id)
	return c
}

// end fails the requests that have no answer, and all that are still to come.
func (a *asking) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	for id, c := range a.open {
		c <- reply{id: id}
	}
	a.open = nil
}

// Answered takes a response of the client. It returns false where the response
// belongs to no request that waits for one.
func (s *Session) Answered(m *jsonrpc.Message) bool {
	id := string(m.ID)
	c := s.asking.take(id)
	if c == nil {
		return false
	}
	c <- reply{id, m}
	return true
}

// EndAnswers tells the session that no responses of the client will come any
// more: calls that wait for one fail.
func (s *Session) EndAnswers() { s.asking.end() }

var (
	errUnanswered = errors.New("the client has not answered in time")
	errNoneLeft   = errors.New("another request for input has failed")
)

// ask puts requests to the client, all at once, and returns its results by
// their keys. With the first one that fails the others are taken back.
func (s *Session) ask(ctx context.Context, st Stream, inputs []input) (_ json.RawMessage, fault *protocol.Error) {
	ctx, cancel := context.WithTimeoutCause(ctx, askTimeout, errUnanswered)
	defer cancel()
	var (
		ids     []string
		replies = make(chan reply, len(inputs))
		results = make([]json.RawMessage, len(inputs))
	)
	defer func() {
		for _, id := range ids {
			if s.asking.take(id) != nil {
				s.takeBack(ctx, st, id)
			}
		}
	}()
	for _, in := range inputs {
		id, fault := s.asking.begin(replies)
		if fault != nil {
			return nil, fault
		}
		ids = append(ids, id)
		if err := st.Send(ctx, jsonrpc.AppendRequest(nil, json.RawMessage(id), in.method, in.params)); err != nil {
			s.server.log.DebugContext(ctx, "the client could not be asked", "method", in.method, "error", err)
			return nil, errUnheard
		}
	}
	beats, stop := st.beats()
	defer stop()
	for left := len(inputs); left > 0; {
		select {
		case <-beats:
			if err := st.heart.beat(ctx); err != nil {
				s.server.log.DebugContext(ctx, "a heartbeat was not delivered", "error", err)
			}
		case r := <-replies:
			left--
			if r.m == nil {
				return nil, errUnheard
			}
			i := slices.Index(ids, r.id)
			if results[i], fault = inputs[i].read(r.m); fault != nil {
				return nil, fault
			}
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errUnanswered) {
				return nil, protocol.Errorf(protocol.CodeInternalError, "the client has not answered within %s what this call asks", askTimeout)
			}
			return nil, errUnheard // cancelled by the client, or the session has ended
		}
	}
	var responses mcpjson.Object
	for i, in := range inputs {
		responses.Add(in.key, results[i])
	}
	return responses.JSON(), nil
}

// takeBack tells the client that the answer to a request of the server is
// wanted no more.
func (s *Session) takeBack(ctx context.Context, st Stream, id string) {
	reason := errNoneLeft
	if err := context.Cause(ctx); err != nil {
		reason = err
	}
	var params mcpjson.Object
	params.Add("requestId", json.RawMessage(id))
	params.Add("reason", jsontok.AppendString(nil, reason.Error()))
	message := jsonrpc.AppendNotification(nil, &protocol.Notification{Method: protocol.NotificationCancelled, Params: params.JSON()})
	if err := st.Send(context.WithoutCancel(ctx), message); err != nil {
		s.server.log.DebugContext(ctx, "the client was not told that its answer is not wanted any more", "error", err)
	}
}
