package googlemcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/proto"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectserve"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/plainjson"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/front"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// FrontConfig configures a Front.
type FrontConfig struct {
	// Handler answers the requests.
	Handler protocol.Handler
	// Logger gets what goes wrong.
	Logger *slog.Logger
	// MaxMessageBytes bounds a request.
	MaxMessageBytes int
}

// Front is the service in front of a Handler, over gRPC, gRPC-Web and Connect. It
// is an HTTP handler of the paths below "/model_context_protocol.Mcp/".
type Front struct {
	core      front.Core
	converter *converter
	mux       http.ServeMux
}

var _ http.Handler = (*Front)(nil)

// NewFront returns a Front.
func NewFront(cfg FrontConfig) (*Front, error) {
	methods, err := newMethods()
	if err != nil {
		return nil, err
	}
	f := &Front{core: front.Core{Handler: cfg.Handler, Log: cfg.Logger}}
	if f.converter, err = newConverter(methods); err != nil {
		return nil, err
	}
	types := plainjson.New(googlepb.File_modelcontextprotocol_mcp_proto)
	for _, m := range methods {
		f.mux.Handle(m.procedure, connectserve.Handler(&connectserve.Method{
			Procedure: m.procedure, Types: types.Types(m.desc),
			Serve: func(ctx context.Context, c *connectserve.Call) error {
				return (&call{front: f, method: m, rpc: c}).serve(ctx)
			},
		}, connectserve.Options{MaxMessageBytes: cfg.MaxMessageBytes, Logger: cfg.Logger}))
	}
	return f, nil
}

// ServeHTTP serves an RPC.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.mux.ServeHTTP(w, r) }

// call is one RPC.
type call struct {
	front  *Front
	method *method
	rpc    *connectserve.Call

	caller *protocol.Caller
	id     json.RawMessage
	meta   protocol.Meta
	raw    json.RawMessage // the _meta of requests
}

func (c *call) serve(ctx context.Context) error {
	response, err := c.answer(ctx)
	if err != nil {
		return c.failure(err)
	}
	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(response)
	if err != nil {
		return c.failure(err)
	}
	return c.rpc.Send(wire)
}

// answer returns the response to the request.
func (c *call) answer(ctx context.Context) (proto.Message, error) {
	if err := c.version(); err != nil {
		return nil, err
	}
	wire, err := c.rpc.Receive()
	if err != nil {
		return nil, err
	}
	request := c.method.request.New().Interface()
	if err := proto.Unmarshal(wire, request); err != nil {
		return nil, fault.New(code.Code_INVALID_ARGUMENT, err, "the request cannot be read: %v", err)
	}
	c.caller = protocol.NewCaller(ctx, c.rpc.Protocol, c.rpc.Header, c.rpc.RemoteAddr)
	c.id = front.NewID()
	if err := c.readMeta(commonOf(request)); err != nil {
		return nil, err
	}
	if c.method.lists() {
		return c.list(ctx)
	}
	again, err := c.front.converter.readRetry(commonOf(request))
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "common: %v", err)
	}
	called, err := completeCall(request, again)
	if err != nil {
		return nil, err
	}
	params := c.method.params.New().Interface()
	if err := c.front.converter.toMCP(params, request); err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "%v", err)
	}
	if err := c.about(subject(params)); err != nil {
		return nil, err
	}
	text, err := c.front.converter.json(params)
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "%v", err)
	}
	return c.rounds(ctx, text, again, called)
}

// completeCall puts into a call of a tool what the client has left out when it
// calls again, and returns it. Other requests have none.
func completeCall(request proto.Message, again *retry) (*googlepb.CallToolRequest_Request, error) {
	r, ok := request.(*googlepb.CallToolRequest)
	if !ok {
		return nil, nil //nolint:nilnil // no call is a value here
	}
	if r.GetRequest() == nil {
		r.Request = again.called
	}
	if r.GetRequest() == nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "request is missing: it may be left out only with the resume_data of a response")
	}
	return r.GetRequest(), nil
}

// commonOf returns the common fields of a request.
func commonOf(request proto.Message) *googlepb.RequestFields {
	r, ok := request.(interface {
		GetCommon() *googlepb.RequestFields
	})
	if !ok { // all requests of the service have them
		return nil
	}
	return r.GetCommon()
}

// version answers with the revision that the client has named. One that is not
// spoken here is refused, with one that is, as clients expect.
func (c *call) version() error {
	version := protocol.Revision(c.rpc.Header.Get(headerVersion))
	if version.Known() {
		c.rpc.ResponseHeader().Set(headerVersion, string(version))
		return nil
	}
	c.rpc.ResponseHeader().Set(headerVersion, string(defaultVersion))
	if version == "" {
		return nil
	}
	return fault.New(code.Code_UNIMPLEMENTED, nil, "the version %q of MCP is not spoken here", clip.Text(string(version), maxEchoed))
}

// readMeta makes the _meta of the MCP requests: the metadata, with what the
// service stands for. Nothing but the result reaches clients, so there is no
// use in progress and log messages.
func (c *call) readMeta(common *googlepb.RequestFields) error {
	var text json.RawMessage
	if common.GetMetadata() != nil {
		var err error
		if text, err = c.front.converter.json(common.GetMetadata()); err != nil {
			return protocol.Errorf(protocol.CodeInvalidParams, "metadata: %v", err)
		}
	}
	var declared json.RawMessage
	rest, err := mcpjson.Split(text, func(key string, value []byte) bool {
		switch key {
		case protocol.MetaClientCapabilities:
			declared = value
		case protocol.MetaProtocolVersion, protocol.MetaProgressToken, protocol.MetaLogLevel:
		default:
			return false
		}
		return true
	})
	if err != nil {
		return protocol.Errorf(protocol.CodeInvalidParams, "metadata: %v", err)
	}
	var meta mcpjson.Object
	meta.Add(protocol.MetaProtocolVersion, []byte(`"`+protocol.Revision20260728+`"`))
	meta.Add(protocol.MetaClientCapabilities, capabilities(declared))
	if rest != nil {
		_ = jsontok.Object(rest, func(key, value []byte) error { // it is valid
			meta.Add(string(key), value)
			return nil
		})
	}
	c.raw = meta.JSON()
	var fault *protocol.Error
	if c.meta, fault = protocol.ReadMeta(object("_meta", c.raw)); fault != nil {
		return fault
	}
	return nil
}

// capabilities returns what the client can be asked for: what it has declared in
// its metadata, as far as the service has fields for it, or else all of that.
func capabilities(declared json.RawMessage) json.RawMessage {
	var o mcpjson.Object
	for _, name := range []string{"elicitation", "sampling", "roots"} {
		if declared == nil || can(declared, name) {
			o.Add(name, []byte(`{}`))
		}
	}
	return o.JSON()
}

// can reports whether a client has a capability, of what the service has of it.
func can(capabilities json.RawMessage, name string) bool {
	member := ""
	if name == "elicitation" {
		member = "form"
	}
	return protocol.HasCapability(capabilities, name, member)
}

// ask asks the Handler by a method of MCP, and reads its result: into response,
// or, where the server needs something first and the service can say so, into
// the message that is returned. It also returns the _meta of the result.
func (c *call) ask(ctx context.Context, method string, params json.RawMessage, response proto.Message) (needed *mcpv1.InputRequiredResult, meta json.RawMessage, err error) {
	var all mcpjson.Object
	all.Add("_meta", c.raw)
	if err := jsontok.Object(params, func(key, value []byte) error {
		all.Add(string(key), value)
		return nil
	}); err != nil {
		return nil, nil, err
	}
	res, err := c.front.core.Handle(ctx, &protocol.Request{Method: method, ID: c.id, Params: all.JSON(), Meta: c.meta, Caller: c.caller}, protocol.Discard)
	if err != nil {
		return nil, nil, err
	}
	switch res.Type {
	case "", protocol.ResultComplete:
	case protocol.ResultInputRequired:
		if c.method.asks() {
			needed = &mcpv1.InputRequiredResult{}
			response = needed
			break
		}
		fallthrough
	default:
		return nil, nil, protocol.Errorf(protocol.CodeInternalError, "%s has no field for a result of type %q", ServiceName, clip.Text(string(res.Type), maxEchoed))
	}
	text := protocol.AppendResult(nil, res, protocol.Revision20260728)
	if err := c.front.converter.read(text, response); err != nil {
		c.front.core.Log.WarnContext(ctx, "what the server said is no MCP", "method", method, "error", err)
		return nil, nil, protocol.Errorf(protocol.CodeInternalError, "what the MCP server said is no MCP")
	}
	meta, _ = jsontok.Lookup(text, "_meta")
	return needed, meta, nil
}
