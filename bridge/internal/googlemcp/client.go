package googlemcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync/atomic"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/metadata"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// ClientConfig configures a Client.
type ClientConfig struct {
	// Caller carries the calls. It stays its owner's.
	Caller rpc.Caller
	// Logger gets what goes wrong.
	Logger *slog.Logger
	// ClientInfo is the Implementation object of callers that have none, or nil.
	ClientInfo json.RawMessage
	// Metadata says which of a caller's own headers go along.
	Metadata *metadata.Policy
	// Base64 is for servers that put the text of base64 into fields of bytes:
	// where a field could be that, it is taken for it.
	Base64 bool
}

// Client is a backend that implements the service, as a Handler. It keeps
// nothing of its callers.
type Client struct {
	cfg       ClientConfig
	methods   map[string]*method // by their names in MCP
	converter *converter
	version   atomic.Pointer[protocol.Revision] // what the server speaks
}

var _ protocol.Handler = (*Client)(nil)

// NewClient returns a Client. Nothing is asked yet. The Client needs no end, and
// uses the Caller as long as calls of Handle last.
func NewClient(cfg ClientConfig) (*Client, error) {
	methods, err := newMethods()
	if err != nil {
		return nil, err
	}
	client := &Client{cfg: cfg, methods: make(map[string]*method)}
	if client.converter, err = newConverter(methods); err != nil {
		return nil, err
	}
	client.converter.base64 = cfg.Base64
	for _, m := range methods {
		client.methods[m.name] = m
	}
	client.version.Store(new(defaultVersion))
	return client, nil
}

// Handle asks the backend. Where it cannot be asked, the error is a
// [*protocol.UpstreamError]. Methods that the service does not have are not
// found; there are no notifications.
func (c *Client) Handle(ctx context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
	m := c.methods[r.Method]
	if m == nil && r.Method != protocol.MethodDiscover {
		return nil, protocol.MethodNotFound(r.Method)
	}
	params, fault := mcpjson.ModernParams(r, nil, c.cfg.ClientInfo)
	if fault != nil {
		return nil, fault
	}
	a := &asking{client: c, request: r}
	if m == nil {
		return a.discover(ctx, params)
	}
	request, about, err := a.encode(m, params)
	if err != nil {
		return nil, err
	}
	response, err := a.call(ctx, m, request, about)
	if err != nil {
		return nil, err
	}
	return a.decode(m, response)
}

// asking is one request.
type asking struct {
	client  *Client
	request *protocol.Request
}

// encode makes the request of the service, and returns what it is about.
func (a *asking) encode(m *method, params json.RawMessage) (request proto.Message, about string, err error) {
	asked := m.params.New().Interface()
	if err := a.read(params, asked); err != nil {
		return nil, "", err
	}
	var responses map[string]*mcpv1.InputResponse
	var state *string
	switch asked := asked.(type) {
	case *mcpv1.CallToolRequest:
		if raw := asked.GetArgumentsJson(); raw != nil && jsontok.KindOf(raw) != jsontok.KindObject {
			return nil, "", protocol.Errorf(protocol.CodeInvalidParams, "params.arguments must be an object")
		}
		responses, state = asked.GetInputResponses(), asked.RequestState
	case *mcpv1.ReadResourceRequest:
		responses, state = asked.GetInputResponses(), asked.RequestState
	case *mcpv1.GetPromptRequest:
		responses, state = asked.GetInputResponses(), asked.RequestState
	case *mcpv1.CompleteRequest:
		if asked.GetRef().GetPrompt() == nil && asked.GetRef().GetResource() == nil {
			return nil, "", protocol.Errorf(protocol.CodeInvalidParams, "params.ref must be of type ref/prompt or ref/resource")
		}
	default:
		if _, ok := jsontok.Lookup(params, "cursor"); ok {
			return nil, "", protocol.Errorf(protocol.CodeInvalidParams, "params.cursor is not one of this server: its lists have one page")
		}
	}
	out := m.request.New()
	if err := a.client.converter.toGoogle(out.Interface(), asked); err != nil {
		return nil, "", protocol.Errorf(protocol.CodeInvalidParams, "params: %v", err)
	}
	common, err := a.client.converter.retryToGoogle(params, responses, state)
	if err != nil {
		return nil, "", protocol.Errorf(protocol.CodeInvalidParams, "%v", err)
	}
	out.Set(out.Descriptor().Fields().ByName(commonField), protoreflect.ValueOfMessage(common.ProtoReflect()))
	return out.Interface(), subject(asked), nil
}

// read reads the params into a request of mcp.v1.
func (a *asking) read(params json.RawMessage, m proto.Message) error {
	if err := a.client.converter.read(params, m); err != nil {
		return protocol.Errorf(protocol.CodeInvalidParams, "params: %v", err)
	}
	kept, ok := m.(interface{ GetExtra() []byte })
	if !ok || kept.GetExtra() == nil {
		return nil
	}
	// What a field cannot hold is among what is no field.
	fields := m.ProtoReflect().Descriptor().Fields()
	return jsontok.Object(kept.GetExtra(), func(key, _ []byte) error {
		if fields.ByJSONName(string(key)) != nil {
			return protocol.Errorf(protocol.CodeInvalidParams, "params.%s has the wrong type", key)
		}
		return nil
	})
}

// call performs an RPC. about is what it is about, for proxies.
func (a *asking) call(ctx context.Context, m *method, request proto.Message, about string) (proto.Message, error) {
	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params: %v", err)
	}
	header := a.client.cfg.Metadata.Request(a.request.Caller, a.request.Meta)
	if m.about != nil && printable(about) {
		header[m.about[0]] = []string{about}
	}
	response := m.response.New().Interface()
	version := *a.client.version.Load()
	for again := false; ; again = true {
		header.Set(headerVersion, string(version))
		trailer, err := a.client.cfg.Caller.Call(ctx, &rpc.Call{Procedure: m.procedure, Requests: [][]byte{wire}, Header: header}, func(message []byte) error {
			if err := proto.Unmarshal(message, response); err != nil {
				return malformed(err)
			}
			return nil
		})
		if err == nil {
			return response, nil
		}
		other := otherVersion(err, trailer, version)
		if other == "" || again {
			return nil, a.failure(ctx, err, trailer)
		}
		if !other.Known() {
			return nil, &protocol.UpstreamError{Kind: protocol.UpstreamMalformed, Message: "the MCP server speaks no version of MCP that is known here", Err: err}
		}
		version = other
		a.client.version.Store(&other)
	}
}

// otherVersion returns the revision by which a server says that it does not
// speak the one it was asked in, or "".
func otherVersion(err error, t *rpc.Trailer, asked protocol.Revision) protocol.Revision {
	if codeOfStatus(err) != code.Code_UNIMPLEMENTED || t == nil {
		return ""
	}
	for _, h := range []http.Header{t.Header, t.Trailer} {
		if v := protocol.Revision(h.Get(headerVersion)); v != "" && v != asked {
			return v
		}
	}
	return ""
}

// printable reports whether metadata can have the value.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s != "" && s[0] != ' ' && s[len(s)-1] != ' '
}

func malformed(err error) error {
	return &protocol.UpstreamError{Kind: protocol.UpstreamMalformed, Message: "the MCP server's response cannot be read", Err: err}
}

// decode makes the result of a response, or one that says what the server needs.
// What the client has not declared it is not asked.
func (a *asking) decode(m *method, response proto.Message) (*protocol.Result, error) {
	common := responseFields(response)
	var result mcpjson.Object
	var out proto.Message
	if m.asks() && len(common.GetDependentRequests()) > 0 {
		needed, capabilities, err := a.client.converter.neededToMCP(common)
		if err != nil {
			return nil, malformed(err)
		}
		for _, name := range capabilities {
			if !can(a.request.Meta.Capabilities, name) {
				return nil, protocol.MissingCapability(string(object(name, []byte(`{}`))))
			}
		}
		result.Add("resultType", []byte(`"`+protocol.ResultInputRequired+`"`))
		out = needed
	} else {
		out = m.result.New().Interface()
		if err := a.client.converter.toMCP(out, response); err != nil {
			return nil, malformed(err)
		}
	}
	if metadata := common.GetMetadata(); len(metadata.GetFields()) > 0 {
		meta, err := a.client.converter.json(metadata)
		if err != nil {
			return nil, malformed(err)
		}
		result.Add("_meta", meta)
	}
	text, err := a.client.converter.json(out)
	if err != nil {
		return nil, malformed(err)
	}
	_ = jsontok.Object(text, func(key, value []byte) error { // it is valid
		result.Add(string(key), value)
		return nil
	})
	return mcpjson.ReadResult(a.request.Method, result.JSON(), true)
}

// responseFields returns the common fields of a response.
func responseFields(response proto.Message) *googlepb.ResponseFields {
	r, ok := response.(interface {
		GetCommon() *googlepb.ResponseFields
	})
	if !ok { // all responses of the service have them
		return nil
	}
	return r.GetCommon()
}
