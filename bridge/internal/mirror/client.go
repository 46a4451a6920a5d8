package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/metadata"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// ClientConfig configures a Client.
type ClientConfig struct {
	// Caller carries the calls.
	Caller rpc.Caller
	// Logger gets what goes wrong.
	Logger *slog.Logger
	// ClientInfo is the Implementation object of callers that have none.
	ClientInfo json.RawMessage
	// Metadata says which of a caller's own headers go along.
	Metadata *metadata.Policy
}

// Client is a backend that implements McpService, as a Handler.
type Client struct {
	cfg    ClientConfig
	routes map[string]*route // by method of MCP
	raw    atomic.Bool       // whether the backend reads arbitrary JSON as text
}

var _ protocol.Handler = (*Client)(nil)

// route is how a method of MCP is asked.
type route struct {
	unary  *method // nil where there are notifications only
	stream *method // nil where there are none
	// noStream is set once the backend has said that it has the unary one only.
	noStream atomic.Bool
}

// choose returns the RPC for a request: the one with notifications where the caller
// wants any.
func (r *route) choose(m *protocol.Meta) *method {
	if r.unary == nil || r.stream != nil && !r.noStream.Load() && (m.ProgressToken != nil || m.LogLevel != protocol.LogNone) {
		return r.stream
	}
	return r.unary
}

// NewClient returns a Client. Nothing is asked yet.
func NewClient(cfg ClientConfig) (*Client, error) {
	c := &Client{cfg: cfg, routes: make(map[string]*route)}
	methods, err := newCompilers(nil).methods()
	if err != nil {
		return nil, err
	}
	for _, m := range methods {
		r := c.routes[m.name]
		if r == nil {
			r = &route{}
			c.routes[m.name] = r
		}
		if m.kind == rpc.Unary {
			r.unary = m
		} else {
			r.stream = m
		}
	}
	return c, nil
}

// Handle asks the backend. Where it cannot be asked, the error is a
// [*protocol.UpstreamError].
func (c *Client) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	route, ok := c.routes[r.Method]
	if !ok {
		return nil, protocol.MethodNotFound(r.Method)
	}
	params, fault := mcpjson.ModernParams(r, r.Meta.ProgressToken, c.cfg.ClientInfo)
	if fault != nil {
		return nil, fault
	}
	m := route.choose(&r.Meta)
	res, err := c.ask(ctx, m, r, params, n)
	if m == route.stream && route.unary != nil && unimplemented(err) {
		// Nothing has been done: what is asked for matters more than notifications.
		route.noStream.Store(true)
		m = route.unary
		res, err = c.ask(ctx, m, r, params, n)
	}
	if failed, ok := errors.AsType[*failure](err); ok {
		return nil, ClientError(ctx, r, ServiceName, failed.error, failed.trailer)
	}
	return res, err
}

// failure is a call that the backend has not answered.
type failure struct {
	error

	trailer *rpc.Trailer
}

// unimplemented reports whether the backend does not have an RPC.
func unimplemented(err error) bool {
	failed, ok := errors.AsType[*failure](err)
	if !ok {
		return false
	}
	status, ok := errors.AsType[*rpc.StatusError](failed.error)
	return ok && status.Code() == code.Code_UNIMPLEMENTED
}

// ask asks by one RPC. The error of a call is a [*failure].
func (c *Client) ask(ctx context.Context, m *method, r *protocol.Request, params json.RawMessage, n protocol.Notifier) (*protocol.Result, error) {
	request, err := m.request.choose(c.raw.Load()).AppendWire(nil, params)
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params: %v", err)
	}
	header := c.cfg.Metadata.Request(r.Caller, r.Meta)
	header.Set(RawHeader, rawValue)
	mcpjson.SetHeaders(header, r.Method, params)
	call := &rpc.Call{Procedure: m.procedure, Kind: m.kind, Requests: [][]byte{request}, Header: header}
	if m.kind == rpc.ServerStream {
		return c.stream(ctx, m, r, call, n)
	}
	var response []byte
	trailer, err := c.cfg.Caller.Call(ctx, call, func(message []byte) error {
		response = message
		return nil
	})
	if err != nil {
		return nil, &failure{err, trailer}
	}
	c.learn(trailer)
	result, err := read(m, response)
	if err != nil {
		return nil, err
	}
	return mcpjson.ReadResult(r.Method, result, true)
}

// learn notes that the backend is one that says it reads JSON text. One that
// does not say so might look for google.protobuf.Struct only.
func (c *Client) learn(t *rpc.Trailer) {
	if t != nil && t.Header.Get(RawHeader) == rawValue {
		c.raw.Store(true)
	}
}

// stream asks by an RPC that has notifications.
func (c *Client) stream(ctx context.Context, m *method, r *protocol.Request, call *rpc.Call, n protocol.Notifier) (*protocol.Result, error) {
	if m.wrapped {
		call.Requests[0] = protowire.AppendBytes(protowire.AppendTag(nil, requestField, protowire.BytesType), call.Requests[0])
	}
	var result json.RawMessage
	trailer, err := c.cfg.Caller.Call(ctx, call, func(message []byte) error {
		event, err := read(m, message)
		if err != nil {
			return err
		}
		if raw, ok := jsontok.Lookup(event, "result"); ok {
			result = raw
			return nil
		}
		return c.notify(ctx, r, event, n)
	})
	switch {
	case err != nil:
		return nil, &failure{err, trailer}
	case result != nil:
		return mcpjson.ReadResult(r.Method, result, true)
	case r.Method == protocol.MethodListen:
		return &protocol.Result{}, nil // the server has ended it
	default:
		return nil, &protocol.UpstreamError{Kind: protocol.UpstreamMalformed, Message: "the MCP server has ended the stream without a result"}
	}
}

// notify passes a notification on, as far as the caller has asked for it.
func (c *Client) notify(ctx context.Context, r *protocol.Request, event json.RawMessage, n protocol.Notifier) error {
	raw, _ := jsontok.Lookup(event, "method")
	method, _ := jsontok.String(raw)
	params, _ := jsontok.Lookup(event, "params")
	note := &protocol.Notification{Method: method, Params: params}
	switch {
	case method == "":
		return nil // of a later version: neither a notification nor a result
	case method == protocol.NotificationProgress:
		note = mcpjson.RestoreToken(params, r.Meta.ProgressToken)
	case method == protocol.NotificationMessage && !mcpjson.WantsLog(r.Meta.LogLevel, params):
		note = nil
	case r.Method == protocol.MethodListen:
		note.Params = mcpjson.Untag(params)
	}
	if note == nil {
		c.cfg.Logger.DebugContext(ctx, "a notification that the caller has not asked for was dropped", "method", method)
		return nil
	}
	return n.Notify(ctx, note)
}

// read turns a response into JSON.
func read(m *method, wire []byte) (json.RawMessage, error) {
	text, warnings, err := m.response.plain.AppendJSON(nil, wire)
	if err == nil && len(warnings) > 0 {
		err = errors.New(strings.Join(warnings, "; "))
	}
	if err != nil {
		return nil, &protocol.UpstreamError{
			Kind: protocol.UpstreamMalformed, Message: "the MCP server's response cannot be read",
			Err: fmt.Errorf("%s: %w", m.procedure, err),
		}
	}
	return text, nil
}
