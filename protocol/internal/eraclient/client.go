package eraclient

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// How long a server has to answer the probe, unless the configuration says.
const (
	// silenceTimeout is for servers that are taken for legacy ones then.
	silenceTimeout = 10 * time.Second
	// answerTimeout is for all others.
	answerTimeout = time.Minute
)

// Config configures a [Client].
type Config struct {
	// Open returns the connection for requests of no session. It is called
	// for every request, and the connection is its own. probe is true where the
	// request only asks who is there. It may be nil where LegacyOnly is true.
	Open func(ctx context.Context, probe bool) (peer.Conn, error)
	// Dial are the ways to a legacy server. Where initialize is refused over one
	// because nobody serves it there, the next is tried.
	Dial []func(ctx context.Context, header http.Header) (peer.Conn, error)
	// Again, if it is not nil, is one more way to a server that has answered the
	// probe and says that it takes initialize, but has refused it.
	Again func(ctx context.Context) (peer.Conn, error)
	// Forward returns what requests made for one of a caller carry beyond what
	// the protocol wants: the caller's own headers. Nil means nothing.
	Forward func(ctx context.Context, r *protocol.Request) (http.Header, error)
	// HTTP is true where requests have headers.
	HTTP bool
	// SilenceIsLegacy is true where a server that does not answer the probe
	// is a legacy one, as on stdio. Elsewhere it is not available.
	SilenceIsLegacy bool
	// LegacyOnly is true where the transport exists in legacy revisions only.
	LegacyOnly bool
	// Shared, where it is not nil, is the ClientCapabilities object of one
	// session for all callers, for legacy servers that can have no more than
	// one.
	Shared json.RawMessage

	protocol.ClientConfig
}

// Client is an MCP server as a [protocol.Handler].
type Client struct {
	cfg    Config
	modern modern
	legacy *legacyClient
	spoken spoken

	mu    sync.Mutex
	eras  eras             // that the server speaks, 0 as long as nobody knows
	used  eras             // that its callers have spoken
	said  *protocol.Result // to the last probe in the modern era, if it speaks both
	probe chan struct{}    // closed when the probe under way is over, or nil
}

// eras is a set of eras.
type eras uint8

const (
	modernEra eras = 1 << iota
	legacyEra

	bothEras = modernEra | legacyEra
)

var _ protocol.Handler = (*Client)(nil)

// New returns a Client.
func New(cfg Config) *Client {
	cfg.ClientConfig = cfg.WithDefaults()
	if cfg.ProbeTimeout <= 0 {
		cfg.ProbeTimeout = answerTimeout
		if cfg.SilenceIsLegacy {
			cfg.ProbeTimeout = silenceTimeout
		}
	}
	c := &Client{
		cfg:    cfg,
		modern: modern{log: cfg.Logger, clientInfo: cfg.ClientInfo},
		legacy: newLegacyClient(cfg),
	}
	c.legacy.dual, c.legacy.spoken = c.Dual, &c.spoken
	if cfg.HTTP {
		c.modern.headers = &headers{log: cfg.Logger}
	}
	if c.pinned() && !cfg.Revision.Modern() || cfg.LegacyOnly {
		c.eras = legacyEra
	}
	return c
}

// Dual reports whether the server is known to speak both eras, and may be asked in
// both.
func (c *Client) Dual() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.eras == bothEras
}

// Close ends the sessions.
func (c *Client) Close() { c.legacy.close() }

// Handle asks the server.
func (c *Client) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	res, err := c.handle(ctx, r, n)
	if fault, ok := errors.AsType[*protocol.UpstreamError](err); ok && ctx.Err() == nil {
		c.cfg.Logger.WarnContext(ctx, "the MCP server could not be asked", "method", r.Method, "kind", fault.Kind.String(), "error", fault)
	}
	return res, err
}

func (c *Client) handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	prepared, err := c.prepare(ctx, r)
	if err != nil {
		return nil, err
	}
	for attempt := 0; ; attempt++ {
		found, err := c.detect(ctx, prepared)
		if err != nil {
			return nil, err
		}
		now := c.choose(found, r)
		var res *protocol.Result
		if now == legacyEra {
			res, err = c.legacy.do(ctx, prepared, n)
		} else {
			res, err = c.askModern(ctx, prepared, n)
			if err == nil {
				c.spoken.add(protocol.Revision20260728)
			}
		}
		if err == nil && found == bothEras && isProbe(r) {
			return c.same(now, res), nil
		}
		if c.cfg.LegacyOnly || !wrongEra(now, err) {
			return res, err
		}
		if c.pinned() {
			return nil, c.pinFault(err)
		}
		c.forget(found, now)
		c.spoken.bits.Store(0)
		if attempt > 0 {
			return res, err
		}
		c.cfg.Logger.InfoContext(ctx, "the MCP server is not of the era it was taken for; asking again", "error", err)
	}
}

func (c *Client) pinned() bool { return c.cfg.Revision != "" }

// pinFault is the error for a server that does not speak the revision that the
// configuration wants. err says how it is known, and may be nil.
func (c *Client) pinFault(err error) error {
	return pinFault(c.cfg.Revision, err)
}

func pinFault(rev protocol.Revision, err error) error {
	fault := peer.Malformed(err, "the MCP server does not speak revision "+string(rev)+", which is configured for it")
	fault.Unsent = true
	return fault
}

// choose says in which era of those that the server speaks it is asked: in that
// of the caller, so that the caller hears what it would hear directly. Whether the
// server is there is asked in an era that somebody uses.
func (c *Client) choose(found eras, r *protocol.Request) eras {
	if found != bothEras {
		return found
	}
	era := legacyEra
	if r.Meta.Revision.Modern() {
		era = modernEra
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if isProbe(r) {
		if c.cfg.Shared != nil && c.used == legacyEra {
			return legacyEra // and so it starts no other process
		}
		return modernEra
	}
	c.used |= era
	return era
}

// same returns what the server says of itself as if it was always asked in the same
// era: what it says in sessions is no news.
func (c *Client) same(now eras, res *protocol.Result) *protocol.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now == modernEra {
		c.said = res
	}
	if c.said != nil {
		return c.said
	}
	return res
}

// isProbe reports whether a request asks only whether the server is there, on this
// program's own account. One for clients of older revisions opens a session.
func isProbe(r *protocol.Request) bool {
	return r.Method == protocol.MethodDiscover && r.Meta.Revision.Modern() && r.Caller != nil && r.Caller.Principal.Internal()
}

// prepare asks for what a request carries, and says who must share nothing with
// its caller.
func (c *Client) prepare(ctx context.Context, r *protocol.Request) (*peer.Request, error) {
	p := &peer.Request{Request: r, Identity: r.Caller.Key()}
	if c.cfg.Forward == nil {
		return p, nil
	}
	header, err := c.cfg.Forward(ctx, r)
	if err != nil {
		return nil, err
	}
	p.Header = header
	parts := []string{p.Identity}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		parts = append(parts, name, strconv.Itoa(len(header[name])))
		parts = append(parts, header[name]...)
	}
	p.Identity = digest(parts...)
	return p, nil
}

func (c *Client) askModern(ctx context.Context, r *peer.Request, n protocol.Notifier) (*protocol.Result, error) {
	for again := false; ; again = true {
		conn, err := c.cfg.Open(ctx, isProbe(r.Request))
		if err != nil {
			return nil, err
		}
		res, err := c.modern.do(ctx, conn, r, n)
		// The connection may have ended between being given and being used.
		if again || conn.Err() == nil || !peer.Unsent(err) {
			return res, err
		}
	}
}

// wrongEra reports whether an error shows that the server is of another era
// than it was taken for, and that it has not done what was asked.
func wrongEra(now eras, err error) bool {
	if err == nil {
		return false
	}
	if now == legacyEra {
		return errors.Is(err, errNotLegacy)
	}
	if fault, ok := errors.AsType[*protocol.UpstreamError](err); ok {
		return NotModern(fault)
	}
	fault, ok := errors.AsType[*protocol.Error](err)
	return ok && fault.Code == protocol.CodeUnsupportedProtocolVersion
}

// NotModern reports whether an HTTP answer without a JSON-RPC error that
// modern servers give means that the server is none.
func NotModern(fault *protocol.UpstreamError) bool {
	switch fault.HTTPStatus {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusNotImplemented, http.StatusGone:
		return true
	}
	return false
}

// forget takes back what has been found out, as far as era has turned out wrong.
func (c *Client) forget(found, era eras) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.eras != found:
	case found == bothEras && era == legacyEra:
		c.eras = modernEra // it has answered the probe
	default:
		c.eras = 0
	}
}

// detect returns the eras of the server. The first request asks for it, and
// the ones that come meanwhile wait.
func (c *Client) detect(ctx context.Context, r *peer.Request) (eras, error) {
	for {
		c.mu.Lock()
		if c.eras != 0 {
			defer c.mu.Unlock()
			return c.eras, nil
		}
		wait := c.probe
		if wait == nil {
			c.probe = make(chan struct{})
		}
		c.mu.Unlock()
		if wait == nil {
			break
		}
		select {
		case <-wait: // and look: the other caller may have given up
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
	var found eras
	err := guarded(ctx, c.cfg.Logger, func() (err error) {
		found, err = c.ask(ctx, r)
		return err
	})
	if err == nil && c.pinned() {
		// Only a revision of requests that stand alone is looked for.
		if found &= modernEra; found == 0 {
			err = c.pinFault(nil)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.probe)
	c.probe = nil
	if err == nil {
		c.eras = found
	}
	return found, err
}

// guarded runs f. A panic in it, for example of a function that the
// configuration brings, becomes its error, and harms no other call.
func guarded(ctx context.Context, log *slog.Logger, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.ErrorContext(ctx, "panic while asking the MCP server", "panic", p, "stack", string(debug.Stack()))
			err = protocol.AsError(nil)
		}
	}()
	return f()
}

// ask probes with server/discover (basic/versioning, Backward Compatibility).
func (c *Client) ask(ctx context.Context, r *peer.Request) (eras, error) {
	conn, err := c.cfg.Open(ctx, true)
	if err != nil {
		return 0, err
	}
	probe := &peer.Request{
		Request: &protocol.Request{
			Method: protocol.MethodDiscover, Caller: r.Caller,
			Meta: protocol.Meta{Revision: protocol.Revision20260728, ClientInfo: r.Meta.ClientInfo, Capabilities: r.Meta.Capabilities},
		},
		Header: r.Header, Identity: r.Identity,
	}
	id := conn.NextID()
	params, fault := mcpjson.ModernParams(probe.Request, id, c.cfg.ClientInfo)
	if fault != nil {
		return 0, fault
	}
	header := probe.Header
	if c.cfg.HTTP {
		header = c.modern.header(ctx, conn, probe)
	}
	pctx, cancel := context.WithTimeoutCause(ctx, c.cfg.ProbeTimeout, errSilent)
	defer cancel()
	m, err := conn.Call(pctx, &peer.Call{
		ID: id, Method: protocol.MethodDiscover, Params: params, Header: header, Modern: true,
		// A legacy server has no use for a cancellation before initialize.
		Uncancellable: true,
	})
	if err != nil {
		return c.silence(ctx, err)
	}
	return c.judge(ctx, m)
}

var errSilent = errors.New("no answer to server/discover")

func (c *Client) silence(ctx context.Context, err error) (eras, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if errors.Is(err, errSilent) {
		if c.cfg.SilenceIsLegacy {
			c.cfg.Logger.InfoContext(ctx, "the MCP server does not answer server/discover; it is taken for one before 2026-07-28", "timeout", c.cfg.ProbeTimeout)
			return legacyEra, nil
		}
		return 0, &protocol.UpstreamError{Kind: protocol.UpstreamTimeout, Message: "the MCP server did not answer in time", Err: err}
	}
	if fault, ok := errors.AsType[*protocol.UpstreamError](err); ok && NotModern(fault) {
		return legacyEra, nil
	}
	return 0, err
}

// judge tells the eras from the answer to server/discover.
func (c *Client) judge(ctx context.Context, m *jsonrpc.Message) (eras, error) {
	var versions []byte
	if m.Error == nil {
		var ok bool
		if versions, ok = jsontok.Lookup(m.Result, "supportedVersions"); !ok {
			return legacyEra, nil // whatever it has answered, it was no discovery
		}
	} else {
		fault := jsonrpc.ReadError(m.Error)
		supported, ok := jsontok.Lookup(fault.Data, "supported")
		switch {
		case fault.Code == protocol.CodeHeaderMismatch, fault.Code == protocol.CodeMissingClientCapability:
			return modernEra, nil
		case fault.Code == protocol.CodeUnsupportedProtocolVersion && !ok:
			return 0, peer.Malformed(fault, "the MCP server supports none of the protocol versions spoken here")
		case fault.Code == protocol.CodeUnsupportedProtocolVersion, fault.Code == codeDraftUnsupported && ok:
			versions = supported
		default:
			return legacyEra, nil
		}
	}
	list := readVersions(versions)
	var found eras
	if slices.Contains(list, string(protocol.Revision20260728)) {
		found |= modernEra
	}
	if slices.ContainsFunc(list, func(v string) bool {
		r := protocol.Revision(v)
		return r.Known() && !r.Modern()
	}) {
		found |= legacyEra
	}
	if found == 0 {
		c.cfg.Logger.WarnContext(ctx, "the MCP server speaks no protocol version that is spoken here", "supported", list)
		return 0, peer.Malformed(nil, "the MCP server supports none of the protocol versions spoken here")
	}
	return found, nil
}

// codeDraftUnsupported is what drafts of 2026-07-28 had for an unsupported
// version.
const codeDraftUnsupported = -32004

func readVersions(raw []byte) []string {
	const limit = 100
	var list []string
	if jsontok.KindOf(raw) != jsontok.KindArray {
		return nil
	}
	_ = jsontok.Array(raw, func(_ int, v []byte) error { // valid already
		if s, ok := jsontok.String(v); ok && len(list) < limit {
			list = append(list, s)
		}
		return nil
	})
	return list
}
