// Package peer is what the transports have in common where this module is the
// client: a connection to an MCP server that takes requests and gives their
// responses, and the bookkeeping of channels that carry everything at once.
// It knows no era: what a request must look like is its caller's affair.
package peer

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// ErrSessionGone says that the server has forgotten the session of a
// connection. The request it comes back for has not been looked at.
var ErrSessionGone = errors.New("the server has ended the session")

// ErrClosed is the error of a connection that its user has closed.
var ErrClosed = errors.New("the connection is closed")

// Request is a request on its way to a server.
type Request struct {
	*protocol.Request
	// Header holds what HTTP requests made for it carry beyond what the
	// protocol wants: credentials and what is forwarded from the caller.
	Header http.Header
	// Identity tells callers apart that must share nothing: by their principals,
	// and by what is forwarded from them.
	Identity string
}

// Principal returns who the request comes from, or nil.
func (r *Request) Principal() *protocol.Principal {
	if r.Caller == nil {
		return nil
	}
	return r.Caller.Principal
}

// Call is one JSON-RPC request.
type Call struct {
	// ID is the raw id, from [Conn.NextID]. Where the request has a progress
	// token, it is the same, so that progress finds the way back.
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	// Header goes on the HTTP request that carries the call.
	Header http.Header
	// Principal is who the call is made for, or nil.
	Principal *protocol.Principal
	// Modern is true for requests of 2026-07-28 and later: they are not
	// resumed, and over HTTP their cancellation is the end of the stream.
	Modern bool
	// Exclusive calls are those that a message without an address can belong
	// to: one that is alone of its kind on a channel gets it.
	Exclusive bool
	// Uncancellable calls end here without a word to the server.
	Uncancellable bool
	// Late is how long after its response progress of the call is still waited for:
	// some servers write it just after, or on another stream.
	Late time.Duration
	// Receive takes notifications and requests of the server that belong to
	// the call. It is called by the goroutine that runs [Conn.Call], one
	// message at a time, and may block.
	Receive func(ctx context.Context, m *jsonrpc.Message)
}

// Conn is a connection to a server. It is used concurrently.
type Conn interface {
	// NextID returns an id that no other call of the connection has.
	NextID() json.RawMessage
	// Call sends a request and returns the response to it, which may be an
	// error response. It returns soon after ctx ends, and then tells the
	// server. Its error is ctx's or a [*protocol.UpstreamError], which may be
	// an [ErrSessionGone].
	Call(ctx context.Context, c *Call) (*jsonrpc.Message, error)
	// Send sends a notification or a response.
	Send(ctx context.Context, message []byte, header http.Header) error
	// OnStray sets who takes the server's messages that belong to no call. It
	// must not block. Until it is set they are dropped.
	OnStray(func(m *jsonrpc.Message))
	// Initialized ends the handshake of a legacy session of revision rev with
	// its notification. What the connection sends by itself from then on
	// carries header.
	Initialized(ctx context.Context, rev protocol.Revision, header http.Header) error
	// Listening is closed once strays can arrive after Initialized, or it is
	// certain that there are none.
	Listening() <-chan struct{}
	// Done is closed once the connection is of no more use; Err then says why.
	Done() <-chan struct{}
	Err() error
	// Close ends the connection and waits for what belongs to it.
	Close()
}

// IDs makes ids. The zero value is ready for use.
type IDs struct{ last atomic.Int64 }

// NextID returns an id that has not been returned before.
func (s *IDs) NextID() json.RawMessage {
	return strconv.AppendInt(nil, s.last.Add(1), 10)
}

// SessionGone returns the error for a session that the server has forgotten.
// It is an [ErrSessionGone].
func SessionGone(err error) *protocol.UpstreamError {
	fault := Unavailable(errors.Join(ErrSessionGone, err), "the MCP server has ended the session")
	fault.Unsent = true
	return fault
}

// Unsent reports whether an error says that its request has not been sent.
func Unsent(err error) bool {
	fault, ok := errors.AsType[*protocol.UpstreamError](err)
	return ok && fault.Unsent
}

// NotSent returns an error as one of a request that has not been sent.
func NotSent(err error) error {
	if e, ok := errors.AsType[*protocol.UpstreamError](err); ok {
		again := *e
		again.Unsent = true
		return &again
	}
	return err
}

// InitializedMessage is the notification that ends the handshake.
var InitializedMessage = jsonrpc.AppendNotification(nil, &protocol.Notification{Method: protocol.NotificationInitialized})

// Unavailable returns the error for a server that cannot be reached.
func Unavailable(err error, message string) *protocol.UpstreamError {
	return &protocol.UpstreamError{Kind: protocol.UpstreamUnavailable, Message: message, Err: err}
}

// Malformed returns the error for a server that says what it must not.
func Malformed(err error, message string) *protocol.UpstreamError {
	return &protocol.UpstreamError{Kind: protocol.UpstreamMalformed, Message: message, Err: err}
}

// BrokenResponse returns the error for a call whose response cannot be read.
func BrokenResponse(fault *protocol.Error) *protocol.UpstreamError {
	return Malformed(fault, "the MCP server's response to the request is no valid JSON-RPC message")
}
