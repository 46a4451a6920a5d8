package mirror

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/plainjson"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/validate"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// ServiceName is the full name of McpService.
const ServiceName = "mcp.v1.McpService"

func service() protoreflect.ServiceDescriptor {
	return mcpv1.File_mcp_v1_service_proto.Services().ByName("McpService")
}

// rpcs are the RPCs by which the methods of MCP are asked. Those that have
// notifications too have a second one, whose name begins with Stream.
var rpcs = map[string]protoreflect.Name{
	protocol.MethodDiscover:      "Discover",
	protocol.MethodListTools:     "ListTools",
	protocol.MethodCallTool:      "CallTool",
	protocol.MethodListResources: "ListResources",
	protocol.MethodListTemplates: "ListResourceTemplates",
	protocol.MethodReadResource:  "ReadResource",
	protocol.MethodListPrompts:   "ListPrompts",
	protocol.MethodGetPrompt:     "GetPrompt",
	protocol.MethodComplete:      "Complete",
	protocol.MethodListen:        "Listen",
	protocol.MethodGetTask:       "GetTask",
	protocol.MethodUpdateTask:    "UpdateTask",
	protocol.MethodCancelTask:    "CancelTask",
	protocol.MethodListTasks:     "ListTasks",
	protocol.MethodTaskResult:    "GetTaskResult",
}

// streamPrefix is what the name of an RPC with notifications begins with.
const streamPrefix = "Stream"

// requestField is the field of a Stream request that has the request.
const requestField = 1

// codecs are the two codecs of a message: with Struct and Value for arbitrary
// JSON where these hold it exactly, and with JSON text.
type codecs struct{ plain, raw *transcode.Codec }

func (c *codecs) choose(raw bool) *transcode.Codec {
	if raw {
		return c.raw
	}
	return c.plain
}

// method is an RPC and the method of MCP that it asks.
type method struct {
	name      string // of MCP
	procedure string
	kind      rpc.Kind
	wrapped   bool // the request is the first field of the message
	// request is of the message that has the params, wrapped or not.
	request, response codecs
	check             *validate.Checker
	types             func() (request, response *transcode.Codec, err error)
	messageType       protoreflect.MessageType // of what request is of
}

// compilers make the codecs of a front or a client.
type compilers struct {
	plain, raw *transcode.Compiler
	rules      *validate.Validator
	json       *plainjson.Codecs
}

func newCompilers(warn func(string)) *compilers {
	return &compilers{
		plain: transcode.NewCompiler(nil, transcode.Options{Exact: true}),
		raw:   transcode.NewCompiler(nil, transcode.Options{Exact: true, PreferRaw: true}),
		rules: validate.New(validate.Options{Warn: warn}),
		json:  plainjson.New(mcpv1.File_mcp_v1_service_proto),
	}
}

func (c *compilers) codecs(md protoreflect.MessageDescriptor) (out codecs, err error) {
	if out.plain, err = c.plain.Codec(md); err != nil {
		return out, err
	}
	out.raw, err = c.raw.Codec(md)
	return out, err
}

// methods returns all RPCs but Tunnel.
func (c *compilers) methods() ([]*method, error) {
	var all []*method
	mds := service().Methods()
	for name, unary := range rpcs {
		for _, rpcName := range []protoreflect.Name{unary, streamPrefix + unary} {
			md := mds.ByName(rpcName)
			switch {
			case md == nil && rpcName == unary:
				return nil, fmt.Errorf("mirror: there is no RPC %s", rpcName)
			case md == nil:
				continue
			}
			m, err := c.method(name, md, mds.ByName(unary).Input())
			if err != nil {
				return nil, err
			}
			all = append(all, m)
		}
	}
	return all, nil
}

func (c *compilers) method(name string, md protoreflect.MethodDescriptor, params protoreflect.MessageDescriptor) (*method, error) {
	m := &method{
		name: name, procedure: "/" + ServiceName + "/" + string(md.Name()), wrapped: md.Input() != params,
		check: c.rules.For(params), types: c.json.Types(md),
	}
	if md.IsStreamingServer() {
		m.kind = rpc.ServerStream
	}
	var err error
	if m.request, err = c.codecs(params); err != nil {
		return nil, err
	}
	if m.response, err = c.codecs(md.Output()); err != nil {
		return nil, err
	}
	m.messageType, err = messageType(params)
	return m, err
}
