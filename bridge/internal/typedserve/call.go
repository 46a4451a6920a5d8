package typedserve

import (
	"context"
	"encoding/json"
	"sync"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectserve"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typed"
	"github.com/mcp-bridge/mcp-bridge/internal/front"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// method is an RPC that stands for something of the server. It is immutable.
type method struct {
	server *Server
	typed  typed.Method
	// request has the arguments, and response the result. A method that streams
	// has them in messages of its own.
	request, response protoreflect.MessageDescriptor
	streams           bool
	// codecs are made for the first call.
	codecs func() (*codecs, error)
}

// codecs are those of an RPC's own messages.
type codecs struct {
	request, response *transcode.Codec
	fill              *typed.Filler
}

func newCodecs(compiler *transcode.Compiler, md protoreflect.MethodDescriptor, m *method) (*codecs, error) {
	c := &codecs{fill: typed.NewFiller(m.request, m.typed.Fills)}
	var err error
	if c.request, err = compiler.Codec(md.Input()); err != nil {
		return nil, err
	}
	c.response, err = compiler.Codec(md.Output())
	return c, err
}

// serve answers a call.
func (m *method) serve(ctx context.Context, c *connectserve.Call) error {
	wire, err := c.Receive()
	if err != nil {
		return err
	}
	codecs, err := m.codecs()
	if err != nil {
		return err
	}
	r, err := m.newRequest(ctx, codecs, wire, c)
	if err != nil {
		return err
	}
	notes := &notifications{method: m, codec: codecs.response, call: c}
	n := protocol.Discard
	if m.streams {
		n = notes
	}
	res, err := m.server.core.Handle(ctx, r, n)
	if err != nil {
		return failure(c, err)
	}
	response, err := m.encode(codecs.response, r.Method, res)
	if err != nil {
		return err
	}
	return notes.send(response)
}

// newRequest makes the request of MCP.
func (m *method) newRequest(ctx context.Context, codecs *codecs, wire []byte, c *connectserve.Call) (*protocol.Request, error) {
	arguments, warnings, err := codecs.request.AppendJSON(nil, wire)
	switch {
	case err != nil:
		return nil, fault.New(code.Code_INVALID_ARGUMENT, err, "the request cannot be read: %v", err)
	case len(warnings) > 0:
		return nil, fault.New(code.Code_INVALID_ARGUMENT, nil, "the request cannot be JSON: %s", warnings[0])
	}
	if m.streams {
		inner, ok := jsontok.Lookup(arguments, "request")
		if !ok {
			inner = []byte(`{}`)
		}
		arguments = inner
	}
	params, name, err := m.params(codecs.fill.Append(nil, arguments))
	if err != nil {
		return nil, err
	}
	if err := m.addRest(&params, c.Header); err != nil {
		return nil, err
	}
	r := &protocol.Request{
		ID: front.NewID(), Method: name, Params: params.JSON(),
		Caller: protocol.NewCaller(ctx, c.Protocol, c.Header, c.RemoteAddr),
	}
	meta, bad := protocol.ReadMeta(r.Params)
	if bad != nil {
		return nil, failure(c, bad)
	}
	if bad := mcpjson.CompleteMeta(&meta); bad != nil {
		return nil, failure(c, bad)
	}
	// A proxy may have let the call pass for what its metadata says.
	if bad := mcpjson.CheckHeaders(c.Header, name, r.Params, meta.Revision, false); bad != nil {
		return nil, failure(c, bad)
	}
	r.Meta = meta
	return r, nil
}

// resultMembers are the members of results that responses have fields for.
var resultMembers = map[typed.Kind][]string{
	typed.ToolMethod:     {"structuredContent", "content"},
	typed.PromptMethod:   {"description", "messages"},
	typed.TemplateMethod: {"contents"},
}

// encode returns the message for a result.
func (m *method) encode(codec *transcode.Codec, name string, res *protocol.Result) ([]byte, error) {
	if err := m.noResponse(name, res); err != nil {
		return nil, err
	}
	wire, err := m.encodeBody(codec, res.Body, res.Meta)
	if err != nil && res.Meta != nil {
		// The metadata of a response is a Struct, which does not hold all JSON.
		m.server.cfg.Logger.Warn("the metadata of a result is left out", "of", m.typed.Name, "error", err)
		wire, err = m.encodeBody(codec, res.Body, nil)
	}
	if err != nil {
		return nil, m.noMCP(err)
	}
	return wire, nil
}

func (m *method) encodeBody(codec *transcode.Codec, body, meta json.RawMessage) ([]byte, error) {
	var out mcpjson.Object
	for _, name := range resultMembers[m.typed.Kind] {
		if value, ok := jsontok.Lookup(body, name); ok && (name != "description" || string(value) != `""`) {
			out.Add(name, value)
		}
	}
	if meta != nil {
		out.Add("_meta", meta)
	}
	text := out.JSON()
	if m.streams {
		text = event("result", text)
	}
	return codec.AppendWire([]byte{}, text)
}

// event returns the JSON of a message of a stream.
func event(name string, value []byte) json.RawMessage {
	var out mcpjson.Object
	out.Add(name, value)
	return out.JSON()
}

// notifications sends what happens in a call.
type notifications struct {
	method *method
	codec  *transcode.Codec
	call   *connectserve.Call
	mu     sync.Mutex
}

var _ protocol.Notifier = (*notifications)(nil)

// Notify sends progress and logs. Others have no place in the stream.
func (n *notifications) Notify(ctx context.Context, note *protocol.Notification) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	name := ""
	switch note.Method {
	case protocol.NotificationProgress:
		name = "progress"
	case protocol.NotificationMessage:
		name = "log"
	default:
		return nil
	}
	wire, err := n.codec.AppendWire([]byte{}, event(name, note.Params))
	if err != nil {
		n.method.server.cfg.Logger.WarnContext(ctx, "a notification is left out, because it is no MCP", "of", n.method.typed.Name, "error", err)
		return nil
	}
	return n.send(wire)
}

func (n *notifications) send(wire []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.call.Send(wire)
}
