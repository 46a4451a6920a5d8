package streamable

import (
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/bounded"
	"github.com/mcp-bridge/mcp-bridge/internal/front"
	"github.com/mcp-bridge/mcp-bridge/internal/guard"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eraserver"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eventstream"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/httpbody"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// Defaults of [Config].
const (
	// DefaultMaxMessageBytes bounds the body of a POST.
	DefaultMaxMessageBytes = 4 << 20
	// DefaultBodyTimeout is how long a client may take to send the body of a POST.
	DefaultBodyTimeout = httpbody.DefaultTimeout
	// DefaultStreamAfter is how long a request may take before its response
	// becomes an event stream, so that proxies and clients see life.
	DefaultStreamAfter = time.Second
	// DefaultKeepAlive is the time between comments on a silent stream.
	DefaultKeepAlive = 15 * time.Second
	// DefaultSessionIdle is how long a legacy session may go without any
	// request or open stream.
	DefaultSessionIdle = 30 * time.Minute
	// DefaultMaxSessions bounds the legacy sessions of one Handler.
	DefaultMaxSessions = 10_000
	// DefaultMaxSessionsPerCaller bounds those of one caller.
	DefaultMaxSessionsPerCaller = 1000
	// DefaultMaxBufferedBytes bounds what the event streams of one caller hold.
	DefaultMaxBufferedBytes = 64 << 20
	// MaxBatch is how many messages a batch may hold.
	MaxBatch = 128
)

// Config configures a [Handler]. The zero value of every field but Handler
// means its default.
type Config struct {
	// Handler answers the requests.
	Handler protocol.Handler
	// Logger gets what goes wrong. The default discards.
	Logger *slog.Logger

	// AllowedOrigins are the values of the Origin header that browsers may
	// send, such as "https://app.example.com", beside those of loopback
	// hosts. "*" allows any. Requests without Origin do not come from a
	// browser's page and are not concerned.
	AllowedOrigins []string
	// AllowedHosts are the host names, without port, that requests may be
	// addressed to, beside loopback ones. "*" allows any. Where it is empty,
	// connections that arrive on a loopback address must be addressed to a
	// loopback name, which stops DNS rebinding, and others may name any; requests
	// from a browser's page must then come from AllowedOrigins, or from the IP
	// address that they are addressed to.
	AllowedHosts []string

	// MaxMessageBytes bounds the body of a POST.
	MaxMessageBytes int64
	// BodyTimeout is how long a client may take to send the body of a POST, and
	// one second more for every 4 KiB that have arrived.
	BodyTimeout time.Duration
	// StreamAfter is how long a request may take before its response becomes
	// an event stream.
	StreamAfter time.Duration
	// KeepAlive is the time between comments on a silent stream.
	KeepAlive time.Duration
	// SessionIdle is how long a legacy session may be idle.
	SessionIdle time.Duration
	// MaxSessions bounds the legacy sessions, and MaxSessionsPerCaller those of
	// one caller, by [protocol.Principal.Quota]. An idle session makes room: the
	// oldest of the same caller, or at MaxSessions of the caller who has most.
	MaxSessions, MaxSessionsPerCaller int
	// MaxBufferedBytes bounds the bytes that the event streams of one caller's
	// legacy sessions hold together. Beyond it, streams that nobody reads are
	// forgotten, the oldest first.
	MaxBufferedBytes int64
}

// Handler is the MCP endpoint: an [http.Handler] for one path. Close it to
// end its sessions.
type Handler struct {
	cfg      Config
	core     front.Core
	log      *slog.Logger
	legacy   *eraserver.Server
	guard    guard.Policy
	params   *paramCheck
	accounts *accounts
	sessions *bounded.Set[*session]
	workers  *workers // run legacy calls, which may outlive their requests

	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup // requests
}

var _ http.Handler = (*Handler)(nil)

// New returns a Handler.
func New(cfg Config) (*Handler, error) {
	if cfg.Handler == nil {
		return nil, errors.New("streamable: Config.Handler is nil")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxMessageBytes <= 0 {
		cfg.MaxMessageBytes = DefaultMaxMessageBytes
	}
	if cfg.BodyTimeout <= 0 {
		cfg.BodyTimeout = DefaultBodyTimeout
	}
	if cfg.StreamAfter <= 0 {
		cfg.StreamAfter = DefaultStreamAfter
	}
	if cfg.KeepAlive <= 0 {
		cfg.KeepAlive = DefaultKeepAlive
	}
	if cfg.SessionIdle <= 0 {
		cfg.SessionIdle = DefaultSessionIdle
	}
	if cfg.MaxSessions <= 0 {
		cfg.MaxSessions = DefaultMaxSessions
	}
	if cfg.MaxSessionsPerCaller <= 0 {
		cfg.MaxSessionsPerCaller = DefaultMaxSessionsPerCaller
	}
	if cfg.MaxBufferedBytes <= 0 {
		cfg.MaxBufferedBytes = DefaultMaxBufferedBytes
	}
	policy := guard.Policy{Origins: cfg.AllowedOrigins, Hosts: cfg.AllowedHosts}
	if err := policy.Validate(); err != nil {
		return nil, fmt.Errorf("streamable: %w", err)
	}
	core := front.Core{Handler: cfg.Handler, Log: cfg.Logger}
	return &Handler{
		cfg:      cfg,
		core:     core,
		guard:    policy,
		log:      cfg.Logger,
		legacy:   eraserver.NewServer(cfg.Handler, cfg.Logger),
		params:   newParamCheck(core),
		accounts: newAccounts(cfg.MaxBufferedBytes),
		sessions: newSessions(&cfg),
		workers:  newWorkers(),
	}, nil
}

// Close ends all sessions and their calls, refuses new requests, and waits for
// those under way. Requests of modern clients end by themselves or with their
// connections: shut the HTTP server down, or end the [protocol.Handler]'s
// streams, first.
func (h *Handler) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.sessions.Close()
	h.wg.Wait()
	h.workers.close()
	h.legacy.Close()
}

// begin registers a request, and returns false once the Handler is closed.
func (h *Handler) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.wg.Add(1)
	return true
}

// ServeHTTP answers POST, GET and DELETE on the MCP endpoint.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.begin() {
		http.Error(w, "shutting down", http.StatusServiceUnavailable)
		return
	}
	defer h.wg.Done()
	if reason := h.guard.Refuse(r); reason != "" {
		writeError(w, http.StatusForbidden, nil, protocol.Errorf(protocol.CodeInvalidRequest, "%s", reason), protocol.LatestLegacy)
		return
	}
	switch r.Method {
	case http.MethodPost:
		h.post(w, r)
	case http.MethodGet:
		h.get(w, r)
	case http.MethodDelete:
		h.delete(w, r)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "the MCP endpoint takes POST, GET and DELETE", http.StatusMethodNotAllowed)
	}
}

// post reads the message and decides which era answers it: one whose _meta
// names a revision is modern, and so is one whose header names a modern
// revision. Everything else is legacy.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	version := protocol.Revision(r.Header.Get("Mcp-Protocol-Version"))
	rev := headerRevision(version)
	accept := parseAccept(r.Header)
	if !accept.json && !accept.stream {
		writeError(w, http.StatusNotAcceptable, nil, protocol.Errorf(protocol.CodeInvalidRequest, "Accept must list application/json and text/event-stream"), rev)
		return
	}
	if reason := httpbody.Unsupported(w, r); reason != "" {
		writeError(w, http.StatusUnsupportedMediaType, nil, protocol.Errorf(protocol.CodeInvalidRequest, "%s", reason), rev)
		return
	}
	body, err := httpbody.Read(w, r, httpbody.Limits{Bytes: h.cfg.MaxMessageBytes, Timeout: h.cfg.BodyTimeout})
	if err != nil {
		h.unreadable(w, err, rev)
		return
	}
	caller := newCaller(r)
	if jsonrpc.IsBatch(body) {
		h.legacyBatch(w, r, body, caller, accept)
		return
	}
	m, fault := jsonrpc.Parse(body)
	if fault != nil {
		writeError(w, http.StatusBadRequest, m.ID, fault, rev)
		return
	}
	meta, fault := protocol.ReadMeta(m.Params)
	if m.Kind() == jsonrpc.KindRequest && fault != nil {
		writeError(w, http.StatusBadRequest, m.ID, fault, rev)
		return
	}
	if isModern(meta.Revision) || version.Known() && version.Modern() {
		h.modern(w, r, m, &meta, caller, accept)
		return
	}
	h.legacyPost(w, r, m, caller, accept)
}

func newCaller(r *http.Request) *protocol.Caller {
	return protocol.NewCaller(r.Context(), "http", r.Header, r.RemoteAddr)
}

// unreadable answers a request whose body could not be read.
func (h *Handler) unreadable(w http.ResponseWriter, err error, rev protocol.Revision) {
	status, fault := http.StatusBadRequest, protocol.Errorf(protocol.CodeParseError, "the body could not be read")
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		status = http.StatusRequestEntityTooLarge
		fault = protocol.Errorf(protocol.CodeInvalidRequest, "the message is longer than %d bytes", h.cfg.MaxMessageBytes)
	} else if errors.Is(err, httpbody.ErrTooSlow) {
		status, fault = http.StatusRequestTimeout, protocol.Errorf(protocol.CodeInvalidRequest, "%v", err)
	}
	writeError(w, status, nil, fault, rev)
}

// isModern reports whether a revision that a request's _meta names makes it
// modern. An unknown one does too: only there is an answer to it defined.
func isModern(rev protocol.Revision) bool {
	return rev != "" && (rev.Modern() || !rev.Known())
}

// headerRevision is the revision by which errors are written as long as
// nothing better than the header is known (basic/transports/streamable-http,
// Protocol Version Header).
func headerRevision(version protocol.Revision) protocol.Revision {
	if version == "" {
		return protocol.Revision20250326
	}
	return version
}

type accept struct{ json, stream bool }

// parseAccept reads the Accept header. An absent one accepts everything.
func parseAccept(header http.Header) accept {
	values := header.Values("Accept")
	if len(values) == 0 {
		return accept{json: true, stream: true}
	}
	if len(values) == 1 && values[0] == "application/json, text/event-stream" { // almost always
		return accept{json: true, stream: true}
	}
	var a accept
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		t, params, err := mime.ParseMediaType(strings.TrimSpace(part))
		if err != nil || params["q"] == "0" {
			continue
		}
		switch t {
		case "*/*":
			a.json, a.stream = true, true
		case "application/json", "application/*":
			a.json = true
		case "text/event-stream", "text/*":
			a.stream = true
		}
	}
	return a
}

// writeJSON writes one complete JSON response. A write timeout of the server
// does not count, as that began before the call.
func writeJSON(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	// Where this fails the client is gone, and there is nobody to tell.
	_ = eventstream.WriteFlush(w, http.NewResponseController(w), body)
}

// writeError writes a JSON-RPC error with an HTTP status.
func writeError(w http.ResponseWriter, status int, id []byte, fault *protocol.Error, rev protocol.Revision) {
	if fault.Challenge != "" {
		w.Header().Set("Www-Authenticate", fault.Challenge)
		status = http.StatusUnauthorized
	}
	writeJSON(w, status, jsonrpc.AppendError(nil, id, fault, rev))
}
