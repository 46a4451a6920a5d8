// Package httpsse serves MCP over HTTP+SSE, the transport of revision
// 2024-11-05 that later ones deprecate: a GET opens an event stream whose
// first event names the endpoint for POSTs, and all responses come on that
// stream (2024-11-05 basic/transports, HTTP with SSE). Offer it only to
// clients that know nothing newer. [Client] asks such a server.
package httpsse

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/front"
	"github.com/mcp-bridge/mcp-bridge/internal/guard"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/duplex"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eraserver"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eventstream"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/httpbody"
)

// Defaults of [Config].
const (
	// DefaultMaxMessageBytes bounds the body of a POST.
	DefaultMaxMessageBytes = 4 << 20
	// DefaultKeepAlive is the time between comments on a silent stream.
	DefaultKeepAlive = 15 * time.Second
	// DefaultMaxConnections bounds the streams that are open at a time.
	DefaultMaxConnections = 10_000
	// DefaultMaxConnectionsPerCaller bounds those of one caller.
	DefaultMaxConnectionsPerCaller = 1000
	// DefaultBodyTimeout is how long a client may take to send the body of a POST.
	DefaultBodyTimeout = httpbody.DefaultTimeout
)

// Config configures a [Handler]. The zero value of every field but Handler
// means its default.
type Config struct {
	// Handler answers the requests.
	Handler protocol.Handler
	// Logger gets what goes wrong. The default discards.
	Logger *slog.Logger
	// AllowedOrigins and AllowedHosts are as in package streamable.
	AllowedOrigins, AllowedHosts []string
	// MaxMessageBytes bounds the body of a POST.
	MaxMessageBytes int64
	// KeepAlive is the time between comments on a silent stream.
	KeepAlive time.Duration
	// BodyTimeout is how long a client may take to send the body of a POST, and
	// one second more for every 4 KiB that have arrived.
	BodyTimeout time.Duration
	// MaxConnections bounds the streams that are open at a time, and
	// MaxConnectionsPerCaller those of one caller, by
	// [protocol.Principal.Quota]. A caller who has too many opens no more.
	MaxConnections, MaxConnectionsPerCaller int
}

// Handler serves the transport on one path: GET opens the stream, and POSTs
// go to the same path with the query that the endpoint event names.
type Handler struct {
	cfg    Config
	guard  guard.Policy
	legacy *eraserver.Server

	mu    sync.Mutex
	conns map[string]*conn
	// callers has how many streams each caller has, by quota.
	callers map[string]int
	closed  bool
	wg      sync.WaitGroup
}

var _ http.Handler = (*Handler)(nil)

// conn is one open stream.
type conn struct {
	ctx    context.Context //nolint:containedctx // POSTs start work that lives as long as the stream
	cancel context.CancelFunc
	key    string // the front.SessionKey of who may post to it
	quota  string
	duplex *duplex.Conn

	receive sync.Mutex // duplex.Conn receives one message at a time
	gone    bool       // under receive
}

// New returns a Handler.
func New(cfg Config) (*Handler, error) {
	if cfg.Handler == nil {
		return nil, errors.New("httpsse: Config.Handler is nil")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxMessageBytes <= 0 {
		cfg.MaxMessageBytes = DefaultMaxMessageBytes
	}
	if cfg.KeepAlive <= 0 {
		cfg.KeepAlive = DefaultKeepAlive
	}
	if cfg.MaxConnections <= 0 {
		cfg.MaxConnections = DefaultMaxConnections
	}
	if cfg.MaxConnectionsPerCaller <= 0 {
		cfg.MaxConnectionsPerCaller = DefaultMaxConnectionsPerCaller
	}
	if cfg.BodyTimeout <= 0 {
		cfg.BodyTimeout = DefaultBodyTimeout
	}
	policy := guard.Policy{Origins: cfg.AllowedOrigins, Hosts: cfg.AllowedHosts}
	if err := policy.Validate(); err != nil {
		return nil, fmt.Errorf("httpsse: %w", err)
	}
	return &Handler{
		cfg:    cfg,
		guard:  policy,
		legacy: eraserver.NewServer(cfg.Handler, cfg.Logger),
		conns:  make(map[string]*conn), callers: make(map[string]int),
	}, nil
}

// Close ends all streams and their calls, and waits for them.
func (h *Handler) Close() {
	h.mu.Lock()
	h.closed = true
	for _, c := range h.conns {
		c.cancel()
	}
	h.mu.Unlock()
	h.wg.Wait()
	h.legacy.Close()
}

// ServeHTTP answers GET and POST.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if reason := h.guard.Refuse(r); reason != "" {
		http.Error(w, reason, http.StatusForbidden)
		return
	}
	switch r.Method {
	case http.MethodGet:
		h.open(w, r)
	case http.MethodPost:
		h.post(w, r)
	default:
		w.Header().Set("Allow", "GET, POST")
		http.Error(w, "this endpoint takes GET and POST", http.StatusMethodNotAllowed)
	}
}

// open holds the stream of one connection until the client goes or the
// Handler is closed.
func (h *Handler) open(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	out := &writer{w: w, rc: http.NewResponseController(w)}
	principal := newCaller(r).Principal
	c := &conn{ctx: ctx, cancel: cancel, key: front.SessionKey(principal), quota: principal.Quota()}
	c.duplex = duplex.New(h.cfg.Handler, h.legacy, h.cfg.Logger, func(msg []byte) error {
		err := out.event("message", msg)
		if err != nil {
			cancel()
		}
		return err
	})
	id := rand.Text()
	if !h.add(id, c) {
		w.Header().Set("Retry-After", "10")
		http.Error(w, "too many connections are open; try again later", http.StatusServiceUnavailable)
		return
	}
	defer h.wg.Done()
	defer func() {
		h.mu.Lock()
		delete(h.conns, id)
		if h.callers[c.quota]--; h.callers[c.quota] == 0 {
			delete(h.callers, c.quota)
		}
		h.mu.Unlock()
		cancel()
		c.receive.Lock()
		c.gone = true
		c.receive.Unlock()
		c.duplex.Close()
	}()

	eventstream.Begin(w)
	if err := out.event("endpoint", []byte(r.URL.EscapedPath()+"?sessionId="+id)); err != nil {
		return
	}
	keepAlive := time.NewTicker(h.cfg.KeepAlive)
	defer keepAlive.Stop()
	for {
		select {
		case <-keepAlive.C:
			if err := out.write(eventstream.AppendComment(nil, "")); err != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

func (h *Handler) add(id string, c *conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.conns) >= h.cfg.MaxConnections || h.callers[c.quota] >= h.cfg.MaxConnectionsPerCaller {
		return false
	}
	h.callers[c.quota]++
	h.conns[id] = c
	h.wg.Add(1)
	return true
}

func newCaller(r *http.Request) *protocol.Caller {
	return protocol.NewCaller(r.Context(), "sse", r.Header, r.RemoteAddr)
}

// post takes one message for the stream that the query names. It knows no stream
// of somebody else.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	caller := newCaller(r)
	h.mu.Lock()
	c := h.conns[r.URL.Query().Get("sessionId")]
	h.mu.Unlock()
	if c == nil || c.key != front.SessionKey(caller.Principal) {
		http.Error(w, "there is no such session; open one by GET", http.StatusNotFound)
		return
	}
	if reason := httpbody.Unsupported(w, r); reason != "" {
		http.Error(w, reason, http.StatusUnsupportedMediaType)
		return
	}
	body, err := httpbody.Read(w, r, httpbody.Limits{Bytes: h.cfg.MaxMessageBytes, Timeout: h.cfg.BodyTimeout})
	if err != nil {
		status := http.StatusBadRequest
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			status = http.StatusRequestEntityTooLarge
		} else if errors.Is(err, httpbody.ErrTooSlow) {
			status = http.StatusRequestTimeout
		}
		http.Error(w, "the message could not be read: "+err.Error(), status)
		return
	}
	c.receive.Lock()
	defer c.receive.Unlock()
	if c.gone {
		http.Error(w, "there is no such session; open one by GET", http.StatusNotFound)
		return
	}
	// The call lives as long as the stream that its response goes to.
	c.duplex.Receive(c.ctx, body, caller)
	w.WriteHeader(http.StatusAccepted)
}

// writer writes events to the stream, one at a time.
type writer struct {
	mu sync.Mutex
	w  http.ResponseWriter
	rc *http.ResponseController
}

func (o *writer) event(name string, data []byte) error {
	return o.write(eventstream.AppendEvent(nil, eventstream.Event{Name: name, Data: data}))
}

func (o *writer) write(b []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return eventstream.WriteFlush(o.w, o.rc, b)
}
