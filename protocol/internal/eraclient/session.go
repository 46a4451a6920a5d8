package eraclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// levelTimeout bounds logging/setLevel.
const levelTimeout = 10 * time.Second

// clientSession is one session with a server. It is used concurrently.
type clientSession struct {
	client *legacyClient
	key    string
	// header, info and capabilities are those of the request that opened it.
	header       http.Header
	info         json.RawMessage
	capabilities json.RawMessage
	wanted       protocol.Revision // the revision that initialize asks for
	// front is closed once the client's own session is over, which this one is
	// for. It is nil where there is none.
	front <-chan struct{}

	ready   chan struct{} // closed once the handshake is over
	openErr error         // set before ready is closed, as are those below
	conn    peer.Conn
	opened  time.Time
	rev     protocol.Revision
	server  json.RawMessage // Implementation
	offers  json.RawMessage // ServerCapabilities
	guide   json.RawMessage // instructions, or nil
	// tasks is true where tools can be called as tasks of 2025-11-25.
	tasks bool

	over    chan struct{} // closed once the session is of no more use
	replies chan struct{} // a place for each answer under way
	levels  chan struct{} // holds the right to set the level
	// subscribing holds the right to change subscriptions.
	subscribing chan struct{}
	// surveying holds the right to ask which tools can be called as tasks.
	surveying chan struct{}
	related   related

	mu        sync.Mutex
	link      peer.Conn // the connection, from before the handshake on
	endErr    error
	active    int
	used      time.Time
	calls     []*clientCall // that may be asked for input, oldest first
	clients   clients
	listeners map[*listener]struct{}
	watched   map[string]*watch
	level     protocol.LogLevel
	roots     json.RawMessage        // the last answer to roots/list
	support   map[string]taskSupport // of tools, nil where it is not known
	kept      time.Time              // for the sake of tasks
}

func newClientSession(c *legacyClient, key string, r *peer.Request) *clientSession {
	s := &clientSession{
		client: c, key: key, header: r.Header,
		info: c.cfg.ClientInfo, capabilities: c.cfg.Shared, wanted: c.revision(r),
		ready: make(chan struct{}), over: make(chan struct{}),
		replies: make(chan struct{}, maxReplies), levels: make(chan struct{}, 1), subscribing: make(chan struct{}, 1),
		surveying: make(chan struct{}, 1),
		listeners: make(map[*listener]struct{}), watched: make(map[string]*watch),
		used: time.Now(),
	}
	if c.cfg.Shared == nil {
		if r.Meta.Session != nil {
			s.front = r.Meta.Session.Done
		}
		s.capabilities = legacyCapabilities(r.Meta.Capabilities)
		if r.Meta.ClientInfo != nil {
			s.info = r.Meta.ClientInfo
		}
	}
	if s.info == nil {
		s.info = json.RawMessage(`{"name":"mcp-bridge","version":"unknown"}`)
	}
	return s
}

// legacyCapabilities returns what a legacy session can carry of a modern
// client's capabilities.
func legacyCapabilities(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage(`{}`)
	}
	var o mcpjson.Object
	// The front has seen that it is an object; what cannot be read is left out.
	_ = jsontok.Object(raw, func(key, value []byte) error {
		switch string(key) {
		case "extensions", "tasks": // of requests that stand alone, and of clients that serve tasks
		case "roots":
			o.Add("roots", []byte(`{}`)) // nobody announces changes of them
		default:
			o.Add(string(key), value)
		}
		return nil
	})
	return o.JSON()
}

// run opens the session and stays until it is over.
func (s *clientSession) run() {
	c := s.client
	ctx, cancel := context.WithTimeoutCause(c.ctx, c.cfg.HandshakeTimeout, errHandshake)
	var conn peer.Conn
	err := guarded(ctx, c.log, func() (err error) {
		conn, err = c.open(ctx, s)
		return err
	})
	cancel()
	if err != nil {
		if errors.Is(err, errHandshake) {
			err = &protocol.UpstreamError{Kind: protocol.UpstreamTimeout, Message: "the MCP server did not answer initialize in time", Err: err, Unsent: true}
		} else if c.ctx.Err() != nil {
			err = errClosed
		}
		s.openErr = err
		c.remove(s)
		s.end(err)
		close(s.ready)
		return
	}
	s.conn, s.opened = conn, time.Now()
	close(s.ready)
	for front := s.front; ; front = nil {
		select {
		case <-front:
			if s.keeps() {
				continue // its tasks can be asked for from another session
			}
			s.end(peer.Unavailable(nil, "the client has ended its session"))
		case <-conn.Done():
			s.end(conn.Err())
		case <-s.over:
		case <-c.ctx.Done():
			s.end(errClosed)
		}
		break
	}
	c.remove(s)
	conn.Close()
}

var errHandshake = errors.New("no answer to initialize")

// end says that the session is of no more use.
func (s *clientSession) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.endErr == nil {
		s.endErr = err
		close(s.over)
	}
}

func (s *clientSession) ended() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endErr
}

// isOver reports whether the session is of no more use. Its connection may
// know before it does.
func (s *clientSession) isOver() bool {
	select {
	case <-s.ready:
		if s.conn != nil && s.conn.Err() != nil {
			return true
		}
	default:
	}
	return s.ended() != nil
}

// use marks the session as used for as long as release is not called.
func (s *clientSession) use() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.active--
		s.used = time.Now()
	})
}

// keep counts the session as used until then.
func (s *clientSession) keep(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if until.After(s.kept) {
		s.kept = until
	}
}

// keeps reports whether the session is kept for the sake of tasks.
func (s *clientSession) keeps() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.kept)
}

// IdleSince returns since when nobody has used the session. For the sake of
// tasks that may be in the future.
func (s *clientSession) IdleSince() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept.After(s.used) {
		return s.kept, s.active == 0
	}
	return s.used, s.active == 0
}

// initialize performs the handshake (2025-11-25 basic/lifecycle).
func (s *clientSession) initialize(ctx context.Context, conn peer.Conn) error {
	asked, pinned := s.wanted, s.client.cfg.Revision != ""
	for attempt := 0; ; attempt++ {
		var params mcpjson.Object
		params.Add("protocolVersion", jsontok.AppendString(nil, string(asked)))
		params.Add("capabilities", s.capabilities)
		params.Add("clientInfo", s.info)
		m, err := conn.Call(ctx, &peer.Call{
			ID: conn.NextID(), Method: protocol.MethodInitialize, Params: params.JSON(), Header: s.header,
			Uncancellable: true, // 2025-11-25 basic/utilities/cancellation
		})
		if err != nil {
			return err
		}
		if m.Error != nil {
			fault := jsonrpc.ReadError(m.Error)
			if older, ok := supported(fault); ok && attempt == 0 && !pinned {
				asked = older
				continue
			}
			return &protocol.UpstreamError{
				Kind: protocol.UpstreamRejected, Message: "the MCP server has refused to open a session",
				Unsent: true, Err: errors.Join(errNotLegacy, fault),
			}
		}
		if err := s.read(m.Result); err != nil {
			return err
		}
		if pinned && s.rev != asked {
			return pinFault(asked, nil)
		}
		s.client.spoken.add(s.rev)
		return conn.Initialized(ctx, s.rev, s.header)
	}
}

// supported returns the newest legacy revision that an error offers: some
// servers refuse what they do not know in place of answering with what they do.
func supported(fault *protocol.Error) (protocol.Revision, bool) {
	raw, _ := jsontok.Lookup(fault.Data, "supported")
	var best protocol.Revision
	if jsontok.KindOf(raw) != jsontok.KindArray {
		return "", false
	}
	_ = jsontok.Array(raw, func(_ int, v []byte) error { // valid already
		s, _ := jsontok.String(v)
		if r := protocol.Revision(s); r.Known() && !r.Modern() && r > best {
			best = r
		}
		return nil
	})
	return best, best != ""
}

// read takes an InitializeResult.
func (s *clientSession) read(result json.RawMessage) error {
	var version string
	s.server, s.offers, s.guide = nil, json.RawMessage(`{}`), nil
	err := jsontok.Object(result, func(key, value []byte) error {
		switch string(key) {
		case "protocolVersion":
			version, _ = jsontok.String(value)
		case "capabilities":
			if jsontok.KindOf(value) == jsontok.KindObject {
				s.offers = value
			}
		case "serverInfo":
			if jsontok.KindOf(value) == jsontok.KindObject {
				s.server = value
			}
		case "instructions":
			s.guide = value
		}
		return nil
	})
	s.rev = protocol.Revision(version)
	s.tasks = s.rev >= protocol.Revision20251125 && hasMembers(s.offers, "tasks", "requests", "tools", "call")
	switch {
	case err != nil:
		return peer.Malformed(err, "the MCP server's answer to initialize cannot be read")
	case !s.rev.Known() || s.rev.Modern():
		return peer.Malformed(nil, "the MCP server opens sessions of a protocol version that is not spoken here")
	}
	return nil
}

// offer reports whether the server has a capability, such as "resources" with
// the member "subscribe". An empty member asks for the capability alone.
func (s *clientSession) offer(name, member string) bool {
	v, ok := jsontok.Lookup(s.offers, name)
	if !ok || jsontok.KindOf(v) != jsontok.KindObject {
		return false
	}
	if member == "" {
		return true
	}
	m, _ := jsontok.Lookup(v, member)
	return string(m) == "true"
}

// discover answers server/discover from what initialize has said.
func (s *clientSession) discover() *protocol.Result {
	var body mcpjson.Object
	body.Add("supportedVersions", protocol.AppendRevisions(nil))
	body.Add("capabilities", s.capable())
	if s.guide != nil {
		body.Add("instructions", s.guide)
	}
	return &protocol.Result{Body: body.JSON(), Server: s.server, Cache: &protocol.Cache{Private: true}}
}

// capable returns the server's capabilities as 2026-07-28 has them.
func (s *clientSession) capable() json.RawMessage {
	caps := protocol.WithoutMember(s.offers, "tasks")
	if !s.tasks {
		return caps
	}
	raw, _ := jsontok.Lookup(caps, "extensions")
	extensions := protocol.WithoutMember(mcpjson.OrEmpty(raw), protocol.ExtensionTasks)
	return mcpjson.Set(protocol.WithoutMember(caps, "extensions"), "extensions",
		mcpjson.Set(extensions, protocol.ExtensionTasks, json.RawMessage("{}")))
}

// setLevel asks the server for log messages down to the level that a request
// wants. The level of a session only goes down: calls filter what they get.
func (s *clientSession) setLevel(ctx context.Context, want protocol.LogLevel, header http.Header) {
	if want == protocol.LogNone || want == protocol.LogUnset || !s.offer("logging", "") {
		return
	}
	select {
	case s.levels <- struct{}{}:
		defer func() { <-s.levels }()
	case <-ctx.Done():
		return
	}
	s.mu.Lock()
	enough := s.level != protocol.LogNone && s.level <= want
	s.mu.Unlock()
	if enough {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, levelTimeout)
	defer cancel()
	m, err := s.conn.Call(ctx, &peer.Call{
		ID: s.conn.NextID(), Method: protocol.MethodSetLevel, Header: header,
		Params: json.RawMessage(`{"level":"` + want.String() + `"}`),
	})
	if err != nil || m.Error != nil {
		s.client.log.DebugContext(ctx, "the MCP server did not take the log level", "level", want.String(), "error", err)
		return
	}
	s.mu.Lock()
	s.level = want
	s.mu.Unlock()
}
