package eraclient

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// modern asks a server that speaks 2026-07-28: every request stands alone.
type modern struct {
	log        *slog.Logger
	clientInfo json.RawMessage
	headers    *headers // nil where the transport has none
	tasks      atomic.Bool
}

// do sends one request on conn and returns what comes of it.
func (d *modern) do(ctx context.Context, conn peer.Conn, r *peer.Request, n protocol.Notifier) (*protocol.Result, error) {
	if !protocol.MethodIn(r.Method, protocol.Revision20260728) {
		return nil, protocol.MethodNotFound(r.Method)
	}
	res, err := d.once(ctx, conn, r, n)
	fault, mismatch := errors.AsType[*protocol.Error](err)
	if !mismatch || fault.Code != protocol.CodeHeaderMismatch || d.headers == nil || r.Method != protocol.MethodCallTool {
		return res, err
	}
	// The tool's schema may have changed (basic/transports/streamable-http,
	// Client Behavior). The server has refused the call, so repeating is safe.
	d.headers.forget(r.Identity)
	return d.once(ctx, conn, r, n)
}

func (d *modern) once(ctx context.Context, conn peer.Conn, r *peer.Request, n protocol.Notifier) (*protocol.Result, error) {
	id := conn.NextID()
	params, fault := mcpjson.ModernParams(r.Request, id, d.clientInfo)
	if fault != nil {
		return nil, fault
	}
	header := r.Header
	if d.headers != nil {
		header = d.header(ctx, conn, r)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	call := &peer.Call{
		ID: id, Method: r.Method, Params: params, Header: header, Principal: r.Principal(), Modern: true,
		Exclusive: r.Meta.LogLevel != protocol.LogNone, Late: late(r),
		Receive: func(ctx context.Context, m *jsonrpc.Message) {
			switch {
			case m.Kind() == jsonrpc.KindRequest:
				d.log.WarnContext(ctx, "the MCP server sent a request, which revision 2026-07-28 does not have; it was ignored", "method", m.Method)
			case m.Method == protocol.NotificationCancelled && r.Method == protocol.MethodListen:
				cancel(errSubscriptionEnded)
			default:
				forward(ctx, d.log, r.Request, m, n)
			}
		},
	}
	m, err := conn.Call(ctx, call)
	switch {
	case errors.Is(context.Cause(ctx), errSubscriptionEnded):
		return &protocol.Result{}, nil
	case err != nil:
		return nil, err
	case m.Error != nil:
		return nil, jsonrpc.ReadError(m.Error)
	}
	res, err := mcpjson.ReadResult(r.Method, m.Result, true)
	if err == nil && d.headers != nil && r.Method == protocol.MethodListTools {
		res.Body, err = d.headers.learn(ctx, r.Identity, res.Body)
	}
	if err == nil {
		d.execution(r.Request, res)
	}
	return res, err
}

// errSubscriptionEnded is the cause of the context of a subscription that the
// server has torn down (basic/patterns/cancellation).
var errSubscriptionEnded = errors.New("the server has ended the subscription")

// header returns the headers of a modern HTTP request (basic/transports/
// streamable-http, Request Metadata).
func (d *modern) header(ctx context.Context, conn peer.Conn, r *peer.Request) http.Header {
	header := r.Header.Clone()
	if header == nil {
		header = make(http.Header)
	}
	name := mcpjson.SetHeaders(header, r.Method, r.Params)
	if r.Method != protocol.MethodCallTool || name == "" {
		return header
	}
	plan, known := d.headers.plan(r.Identity, name)
	if !known {
		if err := d.list(ctx, conn, r); err != nil {
			if _, down := errors.AsType[*protocol.UpstreamError](err); !down && ctx.Err() == nil {
				d.headers.listed(r.Identity) // it will not list them the next time either
			}
			// The call itself will say what is wrong, if anything is.
			d.log.DebugContext(ctx, "tools could not be listed for their x-mcp-header", "error", err)
		}
		plan, _ = d.headers.plan(r.Identity, name)
	}
	args, _ := jsontok.Lookup(r.Params, "arguments")
	plan.Set(header, args)
	return header
}

// list reads all tools, so that their headers are known.
func (d *modern) list(ctx context.Context, conn peer.Conn, r *peer.Request) error {
	err := mcpjson.EachPage(func(params json.RawMessage) (json.RawMessage, error) {
		res, err := d.once(ctx, conn, &peer.Request{
			Request: &protocol.Request{
				Method: protocol.MethodListTools, Params: params, Caller: r.Caller,
				Meta: protocol.Meta{Revision: protocol.Revision20260728, ClientInfo: r.Meta.ClientInfo, Capabilities: r.Meta.Capabilities},
			},
			Header: r.Header, Identity: r.Identity,
		}, protocol.Discard)
		if err != nil {
			return nil, err
		}
		return res.Body, nil
	})
	if err == nil {
		d.headers.listed(r.Identity)
	}
	return err
}
