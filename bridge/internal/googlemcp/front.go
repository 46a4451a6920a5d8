package googlemcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectserve"
	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol/modelcontextprotocolconnect"
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

// Front is the service in front of a Handler, over gRPC, gRPC-Web and Connect.
type Front struct {
	cfg    FrontConfig
	codecs *codecs
}

var _ modelcontextprotocolconnect.McpHandler = (*Front)(nil)

// NewFront returns a Front.
func NewFront(cfg FrontConfig) (*Front, error) {
	c, err := newCodecs()
	if err != nil {
		return nil, err
	}
	return &Front{cfg: cfg, codecs: c}, nil
}

// Handler returns the path of the service and its handler.
func (f *Front) Handler() (path string, h http.Handler) {
	return modelcontextprotocolconnect.NewMcpHandler(f,
		connect.WithReadMaxBytes(f.cfg.MaxMessageBytes),
		connect.WithRecover(f.recovered),
	)
}

func (f *Front) recovered(_ context.Context, spec connect.Spec, _ http.Header, fault any) error {
	f.cfg.Logger.Error("a handler panicked", "procedure", spec.Procedure, "panic", fmt.Sprint(fault))
	return connect.NewError(connect.CodeInternal, errors.New("internal error"))
}

// call is one RPC.
type call struct {
	front  *Front
	info   connect.CallInfo
	caller *protocol.Caller
	meta   protocol.Meta
	raw    json.RawMessage // the _meta of requests
}

// begin looks at what all requests have in common.
func (f *Front) begin(ctx context.Context, common *googlepb.RequestFields) (*call, error) {
	c := &call{front: f}
	var ok bool
	if c.info, ok = connect.CallInfoForHandlerContext(ctx); !ok {
		return nil, errors.New("googlemcp: a Front answers calls of its Handler only")
	}
	c.caller = &protocol.Caller{
		Transport: connectserve.ProtocolOf(c.info.Peer()), Header: c.info.RequestHeader(), RemoteAddr: c.info.Peer().Addr,
	}
	if err := c.version(); err != nil {
		return nil, err
	}
	if err := c.readMeta(common); err != nil {
		return nil, c.failure(err)
	}
	return c, nil
}

// defaultVersion is the revision that the service was made for.
const defaultVersion = protocol.Revision20250618

// version answers with the revision that the client has named. One that is not
// spoken here is refused, with one that is, as clients expect.
func (c *call) version() error {
	version := protocol.Revision(c.info.RequestHeader().Get(headerVersion))
	known := version.Known()
	if !known {
		c.info.ResponseHeader().Set(headerVersion, string(defaultVersion))
	} else {
		c.info.ResponseHeader().Set(headerVersion, string(version))
	}
	if version != "" && !known {
		return connect.NewError(connect.CodeUnimplemented, fmt.Errorf("the version %q of MCP is not spoken here", version))
	}
	return nil
}

// readMeta makes the _meta of the MCP requests: the metadata, with what the
// service stands for. Nothing but the result reaches clients, so there is no
// use in progress and log messages.
func (c *call) readMeta(common *googlepb.RequestFields) error {
	var text json.RawMessage
	if common.GetMetadata() != nil {
		var err error
		if text, err = c.front.codecs.json(common.GetMetadata()); err != nil {
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
	if c.meta, fault = protocol.ReadMeta(append(append(json.RawMessage(`{"_meta":`), c.raw...), '}')); fault != nil {
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

// ask asks the Handler by a method of MCP, and reads its result into a response
// of mcp.v1. It returns the _meta of the result.
func (c *call) ask(ctx context.Context, method string, params json.RawMessage, response proto.Message) (json.RawMessage, error) {
	var all mcpjson.Object
	all.Add("_meta", c.raw)
	if err := jsontok.Object(params, func(key, value []byte) error {
		all.Add(string(key), value)
		return nil
	}); err != nil {
		return nil, err
	}
	res, err := c.front.cfg.Handler.Handle(ctx, &protocol.Request{Method: method, Params: all.JSON(), Meta: c.meta, Caller: c.caller}, protocol.Discard)
	if err != nil {
		return nil, err
	}
	if res == nil {
		return nil, errors.New("the handler returned nothing")
	}
	if _, ok := response.(asks); !ok && res.Type == protocol.ResultInputRequired || !carries(res.Type) {
		return nil, protocol.Errorf(protocol.CodeInternalError, "%s has no field for a result of type %q", ServiceName, res.Type)
	}
	text := protocol.AppendResult(nil, res, protocol.Revision20260728)
	if err := c.front.codecs.read(text, response); err != nil {
		c.front.cfg.Logger.WarnContext(ctx, "what the server said is no MCP", "method", method, "error", err)
		return nil, protocol.Errorf(protocol.CodeInternalError, "what the MCP server said is no MCP")
	}
	meta, _ := jsontok.Lookup(text, "_meta")
	return meta, nil
}

// asks is a response that may say what the server needs.
type asks interface {
	proto.Message
	GetInputRequired() *mcpv1.InputRequiredResult
}

func carries(t protocol.ResultType) bool {
	return t == "" || t == protocol.ResultComplete || t == protocol.ResultInputRequired
}
