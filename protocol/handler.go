package protocol

import (
	"context"
	"encoding/json"
	"net/http"
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

// Middleware wraps a Handler in another one.
type Middleware func(Handler) Handler

// Request is one MCP request. It is read-only to the Handler.
type Request struct {
	// Method is the JSON-RPC method, such as "tools/call".
	Method string
	// Params is the raw params object, or nil where the message had none.
	Params json.RawMessage
	// Meta is what the request says about itself.
	Meta Meta
	// Caller is who sent the request, and never nil.
	Caller *Caller
}

// Caller is what a front knows of the sender of one request. Credentials
// belong to the request that brought them: fronts build a Caller for every
// request anew and never keep one in a session.
type Caller struct {
	// Transport names the front: "stdio", "http" or "sse".
	Transport string
	// Header is the header of the HTTP request that carried the message.
	// It is nil where the transport has none.
	Header http.Header
	// RemoteAddr is the network address of the peer, where there is one.
	RemoteAddr string
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
