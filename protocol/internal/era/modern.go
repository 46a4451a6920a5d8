package era

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// modern asks a server that speaks 2026-07-28: every request stands alone.
type modern struct {
	log        *slog.Logger
	clientInfo json.RawMessage
	headers    *headers // nil where the transport has none
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
	params, fault := modernParams(r.Request, id, d.clientInfo)
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
		ID: id, Method: r.Method, Params: params, Header: header, Modern: true,
		Exclusive: r.Meta.LogLevel != protocol.LogNone,
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
	res, err := peer.ReadResult(r.Method, m.Result, true)
	if err == nil && d.headers != nil && r.Method == protocol.MethodListTools {
		res.Body, err = d.headers.learn(ctx, r.Identity, res.Body)
	}
	return res, err
}

// errSubscriptionEnded is the cause of the context of a subscription that the
// server has torn down (basic/patterns/cancellation).
var errSubscriptionEnded = errors.New("the server has ended the subscription")

// forward passes a notification to the caller as it would see it had it
// called the server itself.
func forward(ctx context.Context, log *slog.Logger, r *protocol.Request, m *jsonrpc.Message, n protocol.Notifier) {
	if m.Params != nil && jsontok.KindOf(m.Params) != jsontok.KindObject {
		log.DebugContext(ctx, "a notification whose params are no object was dropped", "method", m.Method)
		return
	}
	note := &protocol.Notification{Method: m.Method, Params: m.Params}
	switch m.Method {
	case protocol.NotificationProgress:
		note = peer.RestoreToken(m.Params, r.Meta.ProgressToken)
	case protocol.NotificationMessage:
		if !peer.WantsLog(r.Meta.LogLevel, m.Params) {
			note = nil
		}
	default:
		if r.Method == protocol.MethodListen {
			note.Params = untag(m.Params)
		}
	}
	if note == nil {
		log.DebugContext(ctx, "a notification that the caller has not asked for was dropped", "method", m.Method)
		return
	}
	if err := n.Notify(ctx, note); err != nil {
		log.DebugContext(ctx, "notification not delivered", "method", m.Method, "error", err)
	}
}

// untag takes away the subscription id of this hop.
func untag(params json.RawMessage) json.RawMessage {
	meta, ok := jsontok.Lookup(params, "_meta")
	if !ok || jsontok.KindOf(meta) != jsontok.KindObject {
		return params
	}
	rest := protocol.WithoutMember(meta, protocol.MetaSubscriptionID)
	if bytes.Equal(rest, []byte("{}")) {
		return protocol.WithoutMember(params, "_meta")
	}
	return peer.Replace(params, "_meta", rest)
}

// modernParams returns the params of a request with the metadata that every
// modern request has, and with token in the place of the caller's progress
// token.
func modernParams(r *protocol.Request, token, clientInfo json.RawMessage) (json.RawMessage, *protocol.Error) {
	var params, meta peer.Object
	set := func(key string, value []byte) {
		if len(value) > 0 {
			meta.Add(key, value)
		}
	}
	text := func(key, value string) {
		if value != "" {
			meta.Add(key, jsontok.AppendString(nil, value))
		}
	}
	text(protocol.MetaProtocolVersion, string(protocol.Revision20260728))
	if r.Meta.ClientInfo != nil {
		clientInfo = r.Meta.ClientInfo
	}
	set(protocol.MetaClientInfo, clientInfo)
	if r.Meta.Capabilities != nil {
		set(protocol.MetaClientCapabilities, r.Meta.Capabilities)
	} else {
		set(protocol.MetaClientCapabilities, []byte("{}"))
	}
	text(protocol.MetaLogLevel, r.Meta.LogLevel.String())
	if r.Meta.ProgressToken != nil {
		set(protocol.MetaProgressToken, token)
	}
	text("traceparent", r.Meta.TraceParent)
	text("tracestate", r.Meta.TraceState)
	text("baggage", r.Meta.Baggage)

	rest, err := peer.Split(r.Params, func(key string, value []byte) bool {
		if key != "_meta" {
			return false
		}
		// ReadMeta has seen that it is an object.
		_ = jsontok.Object(value, func(key, value []byte) error {
			if !ours(string(key)) {
				meta.Add(string(key), value)
			}
			return nil
		})
		return true
	})
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params: %v", err)
	}
	params.Add("_meta", meta.JSON())
	if inner := bytes.TrimSpace(rest); len(inner) > 2 {
		_ = jsontok.Object(inner, func(key, value []byte) error {
			params.Add(string(key), value)
			return nil
		})
	}
	return params.JSON(), nil
}

// ours reports whether modernParams writes a member of _meta itself.
func ours(key string) bool {
	switch key {
	case protocol.MetaProtocolVersion, protocol.MetaClientInfo, protocol.MetaClientCapabilities, protocol.MetaLogLevel,
		protocol.MetaProgressToken, "traceparent", "tracestate", "baggage":
		return true
	}
	return false
}

// header returns the headers of a modern HTTP request (basic/transports/
// streamable-http, Request Metadata).
func (d *modern) header(ctx context.Context, conn peer.Conn, r *peer.Request) http.Header {
	header := r.Header.Clone()
	if header == nil {
		header = make(http.Header)
	}
	header.Set("Mcp-Protocol-Version", string(protocol.Revision20260728))
	header.Set("Mcp-Method", encodeHeader(r.Method))
	info, _ := protocol.LookupMethod(r.Method)
	name := ""
	if info.NameParam != "" {
		if raw, ok := jsontok.Lookup(r.Params, info.NameParam); ok {
			if name, ok = jsontok.String(raw); ok {
				header.Set("Mcp-Name", encodeHeader(name))
			}
		}
	}
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
	plan.apply(header, args)
	return header
}

// maxListPages bounds the pages of one tools/list that is read for its schemas.
const maxListPages = 100

// list reads all tools, so that their headers are known.
func (d *modern) list(ctx context.Context, conn peer.Conn, r *peer.Request) error {
	params := json.RawMessage(`{}`)
	seen := make(map[string]bool)
	for range maxListPages {
		res, err := d.once(ctx, conn, &peer.Request{
			Request: &protocol.Request{
				Method: protocol.MethodListTools, Params: params, Caller: r.Caller,
				Meta: protocol.Meta{Revision: protocol.Revision20260728, ClientInfo: r.Meta.ClientInfo, Capabilities: r.Meta.Capabilities},
			},
			Header: r.Header, Identity: r.Identity,
		}, protocol.Discard)
		if err != nil {
			return err
		}
		cursor, ok := jsontok.Lookup(res.Body, "nextCursor")
		if !ok || jsontok.KindOf(cursor) != jsontok.KindString || seen[string(cursor)] {
			break
		}
		seen[string(cursor)] = true
		var o peer.Object
		o.Add("cursor", cursor)
		params = o.JSON()
	}
	d.headers.listed(r.Identity)
	return nil
}
