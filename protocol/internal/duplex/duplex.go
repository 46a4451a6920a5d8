// Package duplex serves MCP on a channel that carries messages both ways and
// nothing else: stdio, and HTTP+SSE. Both eras may use one channel: initialize
// opens a legacy session on it, and a request with modern metadata is
// answered by itself.
package duplex

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/front"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eraserver"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// Limits of one channel.
const (
	// MaxInFlight is how many requests may be without response at a time.
	MaxInFlight = 1024
	// MaxBatch is how many messages a batch may hold.
	MaxBatch = 128
)

// Conn is one channel. Receive is called by one goroutine at a time.
type Conn struct {
	core   front.Core
	legacy *eraserver.Server
	log    *slog.Logger

	writeMu sync.Mutex // before postMu
	write   func(message []byte) error

	calls jsonrpc.Calls
	wg    sync.WaitGroup

	postMu sync.Mutex
	posted []posted // notifications that wait to be written
	posts  bool     // somebody writes them

	streamsMu    sync.Mutex
	streams      map[string]context.CancelFunc
	streamsEnded bool

	// Of Receive's goroutine only.
	session *eraserver.Session
	rev     protocol.Revision
}

// New returns a Conn that answers with h and sends messages by write, one at a
// time and without a newline in them as long as the Handler's JSON has none.
func New(h protocol.Handler, l *eraserver.Server, log *slog.Logger, write func([]byte) error) *Conn {
	return &Conn{core: front.Core{Handler: h, Log: log}, legacy: l, log: log, write: write, rev: protocol.LatestLegacy}
}

// Close waits for the responses that are under way. End their contexts first
// in order not to wait long.
func (c *Conn) Close() {
	if c.session != nil {
		c.session.Close() // no post after this
	}
	c.wg.Wait()
}

// Oversized answers a message that was longer than limit bytes and therefore
// not read.
func (c *Conn) Oversized(limit int) {
	c.sendError(nil, protocol.Errorf(protocol.CodeInvalidRequest, "the message is longer than %d bytes", limit))
}

// EndInput is for when nothing more can be received: what waits for an answer
// of the client fails, and the subscriptions of modern clients, which otherwise
// never end, do.
func (c *Conn) EndInput() {
	if c.session != nil {
		c.session.EndAnswers()
	}
	c.streamsMu.Lock()
	defer c.streamsMu.Unlock()
	c.streamsEnded = true
	for _, cancel := range c.streams {
		cancel()
	}
}

// stream returns a context for a subscriptions/listen request that EndInput
// ends.
func (c *Conn) stream(ctx context.Context, id json.RawMessage) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	c.streamsMu.Lock()
	defer c.streamsMu.Unlock()
	if c.streamsEnded {
		cancel()
	}
	if c.streams == nil {
		c.streams = make(map[string]context.CancelFunc)
	}
	c.streams[string(id)] = cancel
	return ctx, func() {
		c.streamsMu.Lock()
		defer c.streamsMu.Unlock()
		delete(c.streams, string(id))
		cancel()
	}
}

// Receive handles one message or batch. It returns once the message is read;
// requests are answered by goroutines that Close waits for and that end with
// ctx. The Conn keeps data.
func (c *Conn) Receive(ctx context.Context, data []byte, caller *protocol.Caller) {
	if !jsonrpc.IsBatch(data) {
		c.receive(ctx, data, caller, c.send)
		return
	}
	if c.session == nil || c.session.Revision >= protocol.Revision20250618 {
		c.sendError(nil, protocol.Errorf(protocol.CodeInvalidRequest, "JSON-RPC batches exist only in sessions of revision 2025-03-26 and before"))
		return
	}
	msgs, fault := jsonrpc.SplitBatch(data, MaxBatch)
	if fault != nil {
		c.sendError(nil, fault)
		return
	}
	c.receiveBatch(ctx, msgs, caller)
}

// receiveBatch answers a batch with one array, once all its requests have
// their responses, which are in the order of the requests.
func (c *Conn) receiveBatch(ctx context.Context, msgs []json.RawMessage, caller *protocol.Caller) {
	var (
		responses = make([][]byte, len(msgs)) // each written by whoever answers
		open      sync.WaitGroup
	)
	for i, m := range msgs {
		open.Add(1)
		c.receive(ctx, m, caller, func(_ context.Context, response []byte) { responses[i] = response }, open.Done)
	}
	c.wg.Go(func() {
		open.Wait()
		var batch mcpjson.Array
		for _, response := range responses {
			if response != nil {
				batch.Add(response)
			}
		}
		if !batch.Empty() {
			c.send(ctx, batch.JSON())
		}
	})
}

// receive handles one message. Its response goes to reply; done are called
// when there is nothing more to come.
func (c *Conn) receive(ctx context.Context, data []byte, caller *protocol.Caller, reply func(context.Context, []byte), done ...func()) {
	finish := func() {
		for _, f := range done {
			f()
		}
	}
	m, fault := jsonrpc.Parse(data)
	switch {
	case fault != nil:
		if m.HasID || m.Method == "" {
			reply(ctx, jsonrpc.AppendError(nil, m.ID, fault, c.rev))
		}
	case m.Kind() == jsonrpc.KindNotification:
		c.notified(m)
	case m.Kind() == jsonrpc.KindResponse:
		if c.session == nil || !c.session.Answered(m) {
			c.log.DebugContext(ctx, "a response to no request was ignored", "id", string(m.ID))
		}
	case c.calls.Len()+c.inSession() >= MaxInFlight:
		reply(ctx, jsonrpc.AppendError(nil, m.ID, protocol.Errorf(protocol.CodeInternalError, "more than %d requests are under way; wait for their responses", MaxInFlight), c.rev))
	case m.Method == protocol.MethodInitialize && len(done) == 0 && c.isLegacy(m):
		c.initialize(ctx, m, caller)
	default:
		answer := c.route(ctx, m, caller)
		c.wg.Go(func() {
			defer finish()
			if response := answer(); response != nil {
				reply(ctx, response)
			}
		})
		return
	}
	finish()
}

func (c *Conn) inSession() int {
	if c.session == nil {
		return 0
	}
	return c.session.Calls.Len()
}

func (c *Conn) notified(m *jsonrpc.Message) {
	if m.Method == protocol.NotificationCancelled {
		c.calls.Cancel(m.Params)
	}
	if c.session != nil {
		c.session.Notified(m)
	}
}

func (c *Conn) isLegacy(m *jsonrpc.Message) bool {
	meta, fault := protocol.ReadMeta(m.Params)
	return fault != nil || meta.Revision == ""
}

func (c *Conn) initialize(ctx context.Context, m *jsonrpc.Message, caller *protocol.Caller) {
	if c.session != nil {
		c.sendError(m.ID, protocol.Errorf(protocol.CodeInvalidRequest, "this connection is already initialized"))
		return
	}
	session, res, fault := c.legacy.Open(ctx, m, caller, c.post)
	if fault != nil {
		c.sendError(m.ID, fault)
		return
	}
	c.session, c.rev = session, session.Revision
	c.send(ctx, jsonrpc.AppendResult(nil, m.ID, res, session.Revision))
}

// route decides which era answers a request, and returns the function that
// does. It has registered the request by then, so that a cancellation that
// comes right behind it finds it. The function returns nil for a cancelled
// request.
func (c *Conn) route(ctx context.Context, m *jsonrpc.Message, caller *protocol.Caller) func() []byte {
	meta, fault := protocol.ReadMeta(m.Params)
	switch {
	case fault != nil:
		return refuse(m.ID, fault, c.rev)
	case c.session != nil && (meta.Revision == "" || meta.Revision.Known() && !meta.Revision.Modern()):
		return bodyOf(c.session.Begin(ctx, m, caller, eraserver.Stream{Notifier: protocol.NotifierFunc(c.notify), Send: c.ask}))
	case meta.Revision == "" && m.Method == protocol.MethodPing:
		// Legacy clients may ping before they initialize (2025-11-25
		// basic/lifecycle, Initialization).
		return bodyOf(c.legacy.Stateless(c.rev).Begin(ctx, m, caller, eraserver.Stream{Notifier: protocol.Discard}))
	case meta.Revision == "" && m.Method != protocol.MethodDiscover:
		return refuse(m.ID, protocol.Errorf(protocol.CodeInvalidParams,
			"this request carries no params._meta[%q] and there is no session: send initialize first (2025-11-25 and before) or the metadata (2026-07-28)", protocol.MetaProtocolVersion), c.rev)
	}
	return c.modern(ctx, m, meta, caller)
}

// refuse returns a function that answers with an error.
func refuse(id json.RawMessage, fault *protocol.Error, rev protocol.Revision) func() []byte {
	return func() []byte { return jsonrpc.AppendError(nil, id, fault, rev) }
}

func (c *Conn) modern(ctx context.Context, m *jsonrpc.Message, meta protocol.Meta, caller *protocol.Caller) func() []byte {
	if fault := front.CheckModern(&meta, m.Method); fault != nil {
		return refuse(m.ID, fault, protocol.Revision20260728)
	}
	ctx, end, ok := c.calls.Begin(ctx, m.ID)
	if !ok {
		return refuse(m.ID, protocol.Errorf(protocol.CodeInvalidRequest, "a request with id %s is still under way", clip.Name(m.ID)), meta.Revision)
	}
	return func() []byte {
		defer end()
		ctx := ctx
		if m.Method == protocol.MethodListen {
			var stop context.CancelFunc
			ctx, stop = c.stream(ctx, m.ID)
			defer stop()
		}
		res, fault := c.core.Modern(ctx, &protocol.Request{
			ID: m.ID, Method: m.Method, Params: m.Params, Meta: meta, Caller: caller,
		}, front.During(ctx, protocol.NotifierFunc(c.notify)))
		if jsonrpc.Cancelled(ctx) || m.Method == protocol.MethodListen && ctx.Err() != nil {
			return nil
		}
		return jsonrpc.AppendResponse(nil, m.ID, res, fault, meta.Revision)
	}
}

func (c *Conn) notify(_ context.Context, n *protocol.Notification) error {
	return c.deliver(jsonrpc.AppendNotification(nil, n))
}

// ask sends a request of the server.
func (c *Conn) ask(_ context.Context, request []byte) error { return c.deliver(request) }

// posted is a notification that waits to be written.
type posted struct {
	message []byte
	change  bool
}

// maxPosted is how many notifications wait for a client that does not read. What
// comes beyond is dropped.
const maxPosted = 1024

// post takes a notification that belongs to no request. Writing may block on a
// slow client, and post must not, so one goroutine writes what waits. A change that
// waits to be written already is not written twice.
func (c *Conn) post(n *protocol.Notification) {
	p := posted{jsonrpc.AppendNotification(nil, n), n.Change()}
	c.postMu.Lock()
	defer c.postMu.Unlock()
	if p.change && slices.ContainsFunc(c.posted, func(other posted) bool { return bytes.Equal(other.message, p.message) }) {
		return
	}
	if len(c.posted) >= maxPosted {
		c.log.Debug("a notification was dropped, because too many wait for the client", "method", n.Method)
		return
	}
	c.posted = append(c.posted, p)
	if !c.posts {
		c.posts = true
		c.wg.Go(c.writePosts)
	}
}

// writePosts writes the notifications that wait.
func (c *Conn) writePosts() {
	for c.writePost() {
		continue
	}
}

// writePost writes one of them, and returns false where there is none.
func (c *Conn) writePost() bool {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	// From here on a further change is news.
	c.postMu.Lock()
	if len(c.posted) == 0 {
		c.posts = false
		c.postMu.Unlock()
		return false
	}
	p := c.posted[0]
	c.posted = c.posted[1:]
	c.postMu.Unlock()
	if err := c.write(p.message); err != nil {
		c.log.Debug("a notification was not delivered", "error", err)
	}
	return true
}

func (c *Conn) sendError(id json.RawMessage, fault *protocol.Error) {
	c.send(context.Background(), jsonrpc.AppendError(nil, id, fault, c.rev))
}

func (c *Conn) send(ctx context.Context, msg []byte) {
	if err := c.deliver(msg); err != nil {
		c.log.DebugContext(ctx, "response not delivered", "error", err)
	}
}

func (c *Conn) deliver(msg []byte) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	return c.write(msg)
}

// bodyOf drops what only HTTP has a place for.
func bodyOf(call func() eraserver.Response) func() []byte {
	return func() []byte { return call().Body }
}
