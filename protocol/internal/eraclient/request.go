package eraclient

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/internal/mcptask"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

const (
	// maxHeld is how many notifications a call holds whose caller does not
	// take them. Beyond it the call's stream is not read on.
	maxHeld = 256
	// maxQuestions is how many requests of the server one call may have open.
	maxQuestions = 32
	// gatherTime is how long after a request of the server further ones are
	// waited for, so that the caller is asked for all of them at once.
	gatherTime = 10 * time.Millisecond

	codeURLElicitationRequired = -32042 // 2025-11-25 client/elicitation
)

// do asks the server one request.
func (s *clientSession) do(ctx context.Context, r *peer.Request, n protocol.Notifier) (*protocol.Result, error) {
	switch r.Method {
	case protocol.MethodDiscover:
		return s.discover(), nil
	case protocol.MethodListen:
		return s.listen(ctx, r, n)
	}
	s.setLevel(ctx, r.Meta.LogLevel, r.Header)
	if protocol.TakesInput(r.Method) {
		s.hear(ctx)
		mode, fault := s.taskMode(ctx, r)
		if fault != nil {
			return nil, fault
		}
		call, err := s.begin(r, mode)
		if err != nil {
			return nil, err
		}
		return call.serve(ctx, r, n)
	}
	id := s.conn.NextID()
	params, err := legacyParams(r.Request, id)
	if err != nil {
		return nil, err
	}
	m, err := s.conn.Call(ctx, &peer.Call{
		ID: id, Method: r.Method, Params: params, Header: r.Header, Principal: r.Principal(), Exclusive: true,
		Receive: func(ctx context.Context, m *jsonrpc.Message) {
			switch {
			case m.Kind() == jsonrpc.KindRequest:
				s.asked(m, nil)
			case !s.noted(m):
				forward(ctx, s.client.log, r.Request, m, n)
			}
		},
	})
	if err != nil {
		return nil, s.unserved(ctx, r.Method, err)
	}
	return s.result(r.Request, m)
}

// unserved returns the error of a request. Some servers answer a method that
// they do not know with an HTTP status alone, which for a method that no
// revision defines means no more than that.
func (s *clientSession) unserved(ctx context.Context, method string, err error) error {
	if _, ok := protocol.LookupMethod(method); ok {
		return err
	}
	if fault, ok := errors.AsType[*protocol.UpstreamError](err); ok {
		switch fault.HTTPStatus {
		case http.StatusBadRequest, http.StatusNotImplemented:
			s.client.log.DebugContext(ctx, "the MCP server does not know a method", "method", method, "error", fault)
			return protocol.MethodNotFound(method)
		}
	}
	return err
}

// result makes a modern result, or error, of a response.
func (s *clientSession) result(r *protocol.Request, m *jsonrpc.Message) (*protocol.Result, error) {
	if m.Error != nil {
		return s.fault(r, jsonrpc.ReadError(m.Error))
	}
	res, err := mcpjson.ReadResult(r.Method, m.Result, false)
	if err == nil {
		res.Server = s.server
		if s.tasks {
			res.Meta = mcptask.Unrelated(res.Meta)
		}
	}
	return res, err
}

// fault gives an error of the server the form that 2026-07-28 has for it.
func (s *clientSession) fault(r *protocol.Request, e *protocol.Error) (*protocol.Result, error) {
	switch {
	case e.Code == protocol.CodeResourceNotFound && r.Method == protocol.MethodReadResource:
		again := *e
		again.Code = protocol.CodeInvalidParams
		if uri, ok := jsontok.Lookup(r.Params, "uri"); ok && again.Data == nil {
			var o mcpjson.Object
			o.Add("uri", uri)
			again.Data = o.JSON()
		}
		return nil, &again
	case e.Code == codeURLElicitationRequired && protocol.TakesInput(r.Method):
		raw, _ := jsontok.Lookup(e.Data, "elicitations")
		if jsontok.KindOf(raw) != jsontok.KindArray {
			return nil, e
		}
		if !protocol.HasCapability(r.Meta.Capabilities, "elicitation", "url") {
			return nil, protocol.MissingCapability(`{"elicitation":{"url":{}}}`)
		}
		var requests mcpjson.Object
		_ = jsontok.Array(raw, func(i int, params []byte) error { // valid already
			if i < maxQuestions && jsontok.KindOf(params) == jsontok.KindObject {
				requests.Add("url"+string(jsonIndex(i)), inputRequest(protocol.MethodElicit, params))
			}
			return nil
		})
		if requests.Empty() {
			return nil, e
		}
		var body mcpjson.Object
		body.Add("inputRequests", requests.JSON())
		// The call is over and its retry is a call like any other, so there
		// is no state to give.
		return &protocol.Result{Type: protocol.ResultInputRequired, Server: s.server, Body: body.JSON()}, nil
	}
	return nil, e
}

// legacyParams returns the params of a request without what legacy revisions
// do not have, and with token in the place of the caller's progress token.
func legacyParams(r *protocol.Request, token json.RawMessage) (json.RawMessage, error) {
	var meta mcpjson.Object
	rest, err := mcpjson.Split(r.Params, func(key string, value []byte) bool {
		switch key {
		case "_meta":
			// ReadMeta has seen that it is an object.
			_ = jsontok.Object(value, func(k, v []byte) error {
				switch key := string(k); key {
				case protocol.MetaProtocolVersion, protocol.MetaClientInfo, protocol.MetaClientCapabilities,
					protocol.MetaLogLevel, protocol.MetaProgressToken, "traceparent", "tracestate", "baggage":
				default:
					meta.Add(key, v)
				}
				return nil
			})
		case "inputResponses", "requestState":
			return protocol.TakesInput(r.Method)
		default:
			return false
		}
		return true
	})
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params: %v", err)
	}
	if r.Meta.ProgressToken != nil {
		meta.Add(protocol.MetaProgressToken, token)
	}
	for _, m := range [...][2]string{{"traceparent", r.Meta.TraceParent}, {"tracestate", r.Meta.TraceState}, {"baggage", r.Meta.Baggage}} {
		if m[1] != "" {
			meta.Add(m[0], jsontok.AppendString(nil, m[1]))
		}
	}
	if meta.Empty() {
		return rest, nil
	}
	var o mcpjson.Object
	if rest != nil {
		_ = jsontok.Object(rest, func(k, v []byte) error { // valid already
			o.Add(string(k), v)
			return nil
		})
	}
	o.Add("_meta", meta.JSON())
	return o.JSON(), nil
}
