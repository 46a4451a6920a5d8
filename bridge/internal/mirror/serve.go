package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectserve"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/status"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/wire"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/front"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// RawHeader is the metadata by which a client chooses how arbitrary JSON comes
// back to it: with the value "raw" as JSON text, otherwise as
// google.protobuf.Struct and Value where these hold it exactly.
const RawHeader = "Mcp-Json"

// rawValue is the value of RawHeader for JSON text.
const rawValue = "raw"

// call is one RPC that is answered.
type call struct {
	front  *Front
	method *method
	rpc    *connectserve.Call
	raw    bool // whether arbitrary JSON goes back as text
	terse  bool // whether the request says no revision, as those made by hand
	mu     sync.Mutex
}

// serve answers an RPC: one response, or notifications as {"method", "params"}
// and then the result as {"result"}.
func (f *Front) serve(ctx context.Context, m *method, c *connectserve.Call) error {
	call := &call{front: f, method: m, rpc: c, raw: c.Header.Get(RawHeader) == rawValue}
	if call.raw {
		c.ResponseHeader().Set(RawHeader, rawValue) // requests may have it too
	}
	message, err := c.Receive()
	if err != nil {
		return err
	}
	r, err := call.request(ctx, message)
	if err != nil {
		return err
	}
	n := protocol.Discard
	if m.kind == rpc.ServerStream {
		n = protocol.NotifierFunc(call.notify)
	}
	res, err := f.core.Handle(ctx, r, n)
	if err != nil {
		if challenge := status.Challenge(err); challenge != "" {
			c.ResponseHeader().Set("Www-Authenticate", challenge)
		}
		return call.failure(err)
	}
	call.sayFailed(r, res)
	// Results are those of the newest revision.
	if m.kind == rpc.Unary {
		return call.send(protocol.AppendResult(nil, res, protocol.Revision20260728))
	}
	text := protocol.AppendResult([]byte(`{"result":`), res, protocol.Revision20260728)
	return call.send(append(text, '}'))
}

// ToolCodeHeader is the trailer with the name of the code that a failed tool says, such
// as UNAVAILABLE.
const ToolCodeHeader = "Mcp-Tool-Code"

// sayFailed puts into trailers what a failed tool says of whether to try again, as
// the RPC itself succeeds.
func (c *call) sayFailed(r *protocol.Request, res *protocol.Result) {
	if r.Method != protocol.MethodCallTool {
		return
	}
	if failed, _ := jsontok.Lookup(res.Body, "isError"); string(failed) != "true" {
		return
	}
	said := status.SaidBy(res)
	if said.Code == code.Code_UNKNOWN {
		return
	}
	trailer := c.rpc.ResponseTrailer()
	trailer.Set(ToolCodeHeader, said.Code.String())
	if said.Delay > 0 {
		trailer.Set("Retry-After", strconv.FormatInt(int64(math.Ceil(said.Delay.Seconds())), 10))
	}
}

// failure is the status for an error of MCP.
func (c *call) failure(err error) error {
	return &rpc.StatusError{Status: status.OfError(err, c.raw)}
}

// request makes the MCP request of a message.
func (c *call) request(ctx context.Context, message []byte) (*protocol.Request, error) {
	if c.method.wrapped {
		var err error
		if message, err = unwrap(message); err != nil {
			return nil, fault.New(code.Code_INVALID_ARGUMENT, err, "the request cannot be read: %v", err)
		}
	}
	if err := c.method.validate(message); err != nil {
		return nil, err
	}
	params, warnings, err := c.method.request.plain.AppendJSON(nil, message)
	switch {
	case err != nil:
		return nil, fault.New(code.Code_INVALID_ARGUMENT, err, "the request cannot be read: %v", err)
	case len(warnings) > 0:
		return nil, fault.New(code.Code_INVALID_ARGUMENT, nil, "the request cannot be JSON: %s", warnings[0])
	}
	meta, bad := protocol.ReadMeta(params)
	if bad != nil {
		return nil, c.failure(bad)
	}
	c.terse = meta.Revision == ""
	if bad := mcpjson.CompleteMeta(&meta); bad != nil {
		return nil, c.failure(bad)
	}
	if bad := mcpjson.CheckName(c.method.name, params); bad != nil {
		return nil, c.failure(bad)
	}
	if bad := mcpjson.CheckHeaders(c.rpc.Header, c.method.name, params, meta.Revision, false); bad != nil {
		return nil, c.failure(bad)
	}
	r := &protocol.Request{
		ID: front.NewID(), Method: c.method.name, Params: params, Meta: meta,
		Caller: protocol.NewCaller(ctx, c.rpc.Protocol, c.rpc.Header, c.rpc.RemoteAddr),
	}
	// A client that speaks MCP in full would have said that it wants progress.
	if c.method.kind == rpc.ServerStream && r.Meta.ProgressToken == nil && r.Method != protocol.MethodListen && c.terse {
		r.Meta.ProgressToken = json.RawMessage(`"stream"`)
		said, _ := jsontok.Lookup(params, "_meta")
		r.Params = protocol.WithMeta(protocol.WithoutMember(params, "_meta"), said, protocol.MetaProgressToken, r.Meta.ProgressToken)
	}
	return r, nil
}

// notify sends a notification.
func (c *call) notify(ctx context.Context, n *protocol.Notification) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	params := n.Params
	if params == nil {
		params = json.RawMessage(`{}`)
	}
	text := jsontok.AppendString([]byte(`{"method":`), n.Method)
	return c.send(append(append(append(text, `,"params":`...), params...), '}'))
}

// send sends a response, given as JSON.
func (c *call) send(text []byte) error {
	message, err := c.method.response.choose(c.raw).AppendWire(nil, text)
	if err != nil {
		c.front.cfg.Logger.Warn("what the server said is no MCP", "procedure", c.method.procedure, "error", err)
		return fault.New(code.Code_INTERNAL, err, "what the MCP server said is no MCP")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rpc.Send(message)
}

// unwrap returns the request in a Stream request. Where the field occurs more
// than once, its parts are one message.
func unwrap(message []byte) ([]byte, error) {
	var request []byte
	err := wire.EachBytes(message, func(num protowire.Number, value []byte) error {
		if num == requestField {
			request = append(request, value...)
		}
		return nil
	})
	return request, err
}

// validate checks a request against the rules of its type.
func (m *method) validate(request []byte) error {
	if m.check == nil {
		return nil
	}
	message := m.messageType.New()
	if err := proto.Unmarshal(request, message.Interface()); err != nil {
		return fault.New(code.Code_INVALID_ARGUMENT, err, "the request cannot be read: %v", err)
	}
	err := m.check.CheckMessage(message)
	if bad, ok := errors.AsType[*transcode.ArgumentError](err); ok {
		return &rpc.StatusError{Status: status.BadRequest(bad)}
	}
	return err
}

// messageType returns the generated type of a message.
func messageType(md protoreflect.MessageDescriptor) (protoreflect.MessageType, error) {
	mt, err := protoregistry.GlobalTypes.FindMessageByName(md.FullName())
	if err != nil {
		return nil, fmt.Errorf("mirror: %s: %w", md.FullName(), err)
	}
	return mt, nil
}
