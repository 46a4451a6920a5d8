package protocol

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
)

// A Handler answers MCP requests.
//
// Handle is called concurrently. It must return soon after ctx ends, and it
// must not use n after it has returned. It returns either a result or an
// error; an error that is (or wraps) an [*Error] reaches the client as it is,
// any other one as an internal error without its text.
type Handler interface {
	Handle(ctx context.Context, r *Request, n Notifier) (*Result, error)
}

// HandlerFunc adapts a function to [Handler].
type HandlerFunc func(ctx context.Context, r *Request, n Notifier) (*Result, error)

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, r *Request, n Notifier) (*Result, error) {
	return f(ctx, r, n)
}

// Middleware wraps a Handler in another one. What must know whose tool is called
// is no Middleware but a [Guard].
type Middleware func(Handler) Handler

// Chain returns h behind the middleware. The first one sees a request first.
func Chain(h Handler, middleware ...Middleware) Handler {
	for _, m := range slices.Backward(middleware) {
		h = m(h)
	}
	return h
}

// Request is one MCP request. It is read-only to the Handler.
type Request struct {
	// ID is the id of the client's message, a JSON string or number exactly as
	// it was sent, or nil where its transport has none. Requests that a front
	// makes on behalf of the same message, such as retries with input, carry its
	// id too. It is unique only among the messages that one client has under way.
	ID json.RawMessage
	// Method is the JSON-RPC method, such as "tools/call".
	Method string
	// Params is the raw params object, or nil where the message had none.
	Params json.RawMessage
	// Meta is what the request says about itself.
	Meta Meta
	// Caller is who sent the request, and never nil.
	Caller *Caller
	// Pin is that of the [Resolution] that somebody has decided by, or nil. A
	// Resolver then answers the request by what it resolved, even if it has changed
	// since. Others ignore it.
	Pin any
}

// Caller is what a front knows of the sender of one request. Credentials
// belong to the request that brought them: fronts build a Caller for every
// request anew and never keep one in a session.
type Caller struct {
	// Principal is who sent the request. Nil is an anonymous principal without
	// credentials.
	Principal *Principal
	// Transport names the front: "stdio", "http", "sse", "tunnel", "grpc",
	// "grpc-web" or "connect". Requests that this program makes on its own
	// account have "internal".
	Transport string
	// Header is the header of the HTTP request that carried the message.
	// It is nil where the transport has none.
	Header http.Header
	// RemoteAddr is the network address of the peer, where there is one.
	RemoteAddr string
}

// NewCaller returns the Caller of a request. Its principal is that of ctx (see
// [WithPrincipal]), or else an anonymous one that is told from others by its
// Authorization header. header and remoteAddr may be empty.
func NewCaller(ctx context.Context, transport string, header http.Header, remoteAddr string) *Caller {
	if p := PrincipalFrom(ctx); p != nil {
		return &Caller{Principal: p, Transport: transport, Header: header, RemoteAddr: remoteAddr}
	}
	both := struct { // in one allocation, as there is one for every request
		caller    Caller
		principal Principal
	}{
		caller:    Caller{Transport: transport, Header: header, RemoteAddr: remoteAddr},
		principal: anonymous(remoteAddr, header.Values("Authorization")),
	}
	both.caller.Principal = &both.principal
	return &both.caller
}

// InternalCaller returns the Caller of a request that this program makes on its
// own account, with the [InternalPrincipal].
func InternalCaller() *Caller {
	return &Caller{Principal: internalPrincipal, Transport: "internal"}
}

// Key returns the [Principal.Key] of the caller, which may be nil.
func (c *Caller) Key() string {
	if c == nil {
		return anonymousKey
	}
	return c.Principal.Key()
}

// Quota returns the [Principal.Quota] of the caller, which may be nil.
func (c *Caller) Quota() string {
	if c == nil {
		return new(Principal).Quota()
	}
	return c.Principal.Quota()
}

// Notifier takes the notifications that belong to one request. Notify blocks
// until the front has accepted the notification, so flow control reaches the
// source, and fails once the client is gone. It may be called concurrently.
type Notifier interface {
	Notify(ctx context.Context, n *Notification) error
}

// NotifierFunc adapts a function to [Notifier].
type NotifierFunc func(ctx context.Context, n *Notification) error

// Notify calls f.
func (f NotifierFunc) Notify(ctx context.Context, n *Notification) error { return f(ctx, n) }

// Discard is a Notifier that drops everything.
var Discard Notifier = NotifierFunc(func(context.Context, *Notification) error { return nil })

// Notification is one MCP notification.
type Notification struct {
	// Method is the JSON-RPC method, such as "notifications/progress".
	Method string
	// Params is the raw params object, or nil for none.
	Params json.RawMessage
}

// Change reports whether the notification says no more than that something has
// changed: of two that wait to be sent, one is enough.
func (n *Notification) Change() bool {
	switch n.Method {
	case NotificationToolsChanged, NotificationPromptsChanged, NotificationResourcesChanged, NotificationResourceUpdated:
		return true
	}
	return false
}

// ResultType tells how to read a [Result] (basic/index, ResultType).
type ResultType string

// The result types that the specification and the tasks extension define.
// The set is open.
const (
	ResultComplete      ResultType = "complete"
	ResultInputRequired ResultType = "input_required"
	ResultTask          ResultType = "task"
)

// Result is the answer to a request.
type Result struct {
	// Type is the resultType. Empty means complete.
	Type ResultType
	// Body is the result object without the members that the other fields
	// of this struct stand for: resultType, _meta, ttlMs and cacheScope. Nil
	// means an empty object. Handlers may share one Body between results, so
	// nobody writes into it.
	Body json.RawMessage
	// Meta is the _meta object, or nil for none.
	Meta json.RawMessage
	// Server is the Implementation object of the server that made the
	// result. Modern clients find it in _meta as
	// io.modelcontextprotocol/serverInfo; in an InitializeResult it is
	// serverInfo.
	Server json.RawMessage
	// Cache is set on the results that the specification calls cacheable.
	// Fronts send it to modern clients only.
	Cache *Cache
}

// Cache is how long and by whom a result may be cached (server/utilities/caching).
type Cache struct {
	// TTLMillis is the time the result may be held for fresh, in
	// milliseconds; 0 means that it is stale at once.
	TTLMillis int64
	// Private is true where the result may depend on the caller.
	Private bool
}
