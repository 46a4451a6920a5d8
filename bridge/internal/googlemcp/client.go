package googlemcp

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync/atomic"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/proto"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/metadata"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc"
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
	cfg     ClientConfig
	codecs  *codecs
	version atomic.Pointer[protocol.Revision] // what the server speaks
}

var _ protocol.Handler = (*Client)(nil)

// NewClient returns a Client. Nothing is asked yet. The Client needs no end, and
// uses the Caller as long as calls of Handle last.
func NewClient(cfg ClientConfig) (*Client, error) {
	c, err := newCodecs()
	if err != nil {
		return nil, err
	}
	client := &Client{cfg: cfg, codecs: c}
	client.version.Store(new(defaultVersion))
	return client, nil
}

// Handle asks the backend. Where it cannot be asked, the error is a
// [*protocol.UpstreamError]. Methods that the service does not have are not
// found; there are no notifications.
func (c *Client) Handle(ctx context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
	answer, ok := answers[r.Method]
	if !ok {
		return nil, protocol.MethodNotFound(r.Method)
	}
	params, fault := mcpjson.ModernParams(r, nil, c.cfg.ClientInfo)
	if fault != nil {
		return nil, fault
	}
	return answer(&asking{client: c, request: r, to: &toGoogle{codecs: c.codecs}, from: &toMCP{base64: c.cfg.Base64}}, ctx, params)
}

// asking is one request.
type asking struct {
	client  *Client
	request *protocol.Request
	to      *toGoogle
	from    *toMCP
}

// read reads the params into a request of mcp.v1.
func (a *asking) read(params json.RawMessage, m interface {
	proto.Message
	GetExtra() []byte
},
) error {
	if err := a.client.codecs.read(params, m); err != nil {
		return protocol.Errorf(protocol.CodeInvalidParams, "params: %v", err)
	}
	if m.GetExtra() == nil {
		return nil
	}
	// What a field cannot hold is among what is no field.
	fields := m.ProtoReflect().Descriptor().Fields()
	return jsontok.Object(m.GetExtra(), func(key, _ []byte) error {
		if fields.ByJSONName(string(key)) != nil {
			return protocol.Errorf(protocol.CodeInvalidParams, "params.%s has the wrong type", key)
		}
		return nil
	})
}

// fields makes the common fields of a request.
func (a *asking) fields(params json.RawMessage, responses map[string]*mcpv1.InputResponse, state *string) (*googlepb.RequestFields, error) {
	meta, _ := jsontok.Lookup(params, "_meta")
	out, err := a.to.requestFields(meta, responses, state)
	if err == nil {
		err = a.to.err
	}
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "%v", err)
	}
	return out, nil
}

// call performs an RPC. The key is of the metadata that says to proxies what it
// is about.
func (a *asking) call(ctx context.Context, name string, request, response proto.Message, key, about string) error {
	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		return protocol.Errorf(protocol.CodeInvalidParams, "params: %v", err)
	}
	header := a.client.cfg.Metadata.Request(a.request.Caller, a.request.Meta)
	if key != "" && printable(about) {
		header[key] = []string{about}
	}
	version := *a.client.version.Load()
	for again := false; ; again = true {
		header.Set(headerVersion, string(version))
		trailer, err := a.client.cfg.Caller.Call(ctx, &rpc.Call{Procedure: "/" + ServiceName + "/" + name, Requests: [][]byte{wire}, Header: header}, func(message []byte) error {
			if err := proto.Unmarshal(message, response); err != nil {
				return malformed(err)
			}
			return nil
		})
		if err == nil {
			return nil
		}
		other := otherVersion(err, trailer, version)
		if other == "" || again {
			return a.failure(ctx, err, trailer)
		}
		if !other.Known() {
			return &protocol.UpstreamError{Kind: protocol.UpstreamMalformed, Message: "the MCP server speaks no version of MCP that is known here", Err: err}
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

// needs returns the result that says what the server needs, or nil if it needs
// nothing. What the client has not declared it is not asked.
func (a *asking) needs(common *googlepb.ResponseFields) (*mcpv1.InputRequiredResult, error) {
	if len(common.GetDependentRequests()) == 0 {
		return nil, nil //nolint:nilnil // nothing is a value here
	}
	in, capabilities, err := a.from.inputRequired(common, a.client.codecs)
	if err != nil {
		return nil, malformed(err)
	}
	for _, name := range capabilities {
		if !can(a.request.Meta.Capabilities, name) {
			return nil, protocol.MissingCapability(`{"` + name + `":{}}`)
		}
	}
	return in, nil
}

// result makes the result of a response of mcp.v1 and the fields that all
// responses of the service have.
func (a *asking) result(response proto.Message, common *googlepb.ResponseFields) (*protocol.Result, error) {
	text, err := a.client.codecs.json(response)
	if err != nil {
		return nil, malformed(err)
	}
	if m := common.GetMetadata(); len(m.GetFields()) > 0 {
		meta, err := a.client.codecs.json(m)
		if err != nil {
			return nil, malformed(err)
		}
		var o mcpjson.Object
		o.Add("_meta", meta)
		_ = jsontok.Object(text, func(key, value []byte) error { // it is valid
			o.Add(string(key), value)
			return nil
		})
		text = o.JSON()
	}
	return mcpjson.ReadResult(a.request.Method, text, true)
}
