package googlemcp

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// ServiceName is the full name of the service.
const ServiceName = "model_context_protocol.Mcp"

// Metadata of the service, in canonical HTTP form.
const (
	// headerVersion names a revision of MCP, in both directions.
	headerVersion = "Mcp-Protocol-Version"
	// headerErrorCode is the trailer with the code of a JSON-RPC error.
	headerErrorCode = "Mcp-Error-Code"
)

// defaultVersion is the revision that the service was made for.
const defaultVersion = protocol.Revision20250618

// rpcs are the RPCs of the service: the methods of MCP, and the metadata, in
// canonical HTTP form, by which clients say to proxies what a request is about.
// The first is as the comments of the service have it; implementations send the
// others, or what HTTP has in MCP.
var rpcs = map[protoreflect.Name]struct {
	method string
	about  []string
}{
	"ListTools":             {method: protocol.MethodListTools},
	"ListResources":         {method: protocol.MethodListResources},
	"ListResourceTemplates": {method: protocol.MethodListTemplates},
	"ListPrompts":           {method: protocol.MethodListPrompts},
	"CallTool":              {protocol.MethodCallTool, []string{"Mcp_tool", "Mcp-Tool", "Mcp-Tool-Name", mcpjson.HeaderName}},
	"GetPrompt":             {protocol.MethodGetPrompt, []string{"Mcp_prompt", "Mcp-Prompt", "Mcp-Prompt-Name", mcpjson.HeaderName}},
	"ReadResource":          {protocol.MethodReadResource, []string{"Mcp_resource", "Mcp-Resource", "Mcp-Resource-Uri", mcpjson.HeaderName}},
	"Complete":              {protocol.MethodComplete, []string{"Mcp_resource"}},
}

// method is an RPC of the service.
type method struct {
	name      string // of MCP
	procedure string
	about     []string
	desc      protoreflect.MethodDescriptor
	// request and response are the types of the service, params and result those
	// of mcp.v1.
	request, response, params, result protoreflect.MessageType
}

// lists reports whether the method has pages in MCP.
func (m *method) lists() bool { return m.about == nil }

// asks reports whether a result may say what the server needs first.
func (m *method) asks() bool { return !m.lists() && m.name != protocol.MethodComplete }

// newMethods returns all RPCs of the service.
func newMethods() ([]*method, error) {
	service := googlepb.File_modelcontextprotocol_mcp_proto.Services().ByName("Mcp").Methods()
	mirror := mcpv1.File_mcp_v1_service_proto.Services().ByName("McpService").Methods()
	all := make([]*method, service.Len())
	for i := range all {
		md := service.Get(i)
		rpc, ok := rpcs[md.Name()]
		like := mirror.ByName(md.Name())
		if !ok || like == nil {
			return nil, fmt.Errorf("googlemcp: nothing in MCP is %s", md.FullName())
		}
		result := like.Output()
		if complete := result.Fields().ByName("complete"); complete != nil {
			result = complete.Message()
		}
		m := &method{name: rpc.method, procedure: "/" + ServiceName + "/" + string(md.Name()), about: rpc.about, desc: md}
		for md, mt := range map[protoreflect.MessageDescriptor]*protoreflect.MessageType{
			md.Input(): &m.request, md.Output(): &m.response, like.Input(): &m.params, result: &m.result,
		} {
			var err error
			if *mt, err = protoregistry.GlobalTypes.FindMessageByName(md.FullName()); err != nil {
				return nil, fmt.Errorf("googlemcp: %s: %w", md.FullName(), err)
			}
		}
		all[i] = m
	}
	return all, nil
}

// subject returns what a request, given as params of mcp.v1, is about.
func subject(params protoreflect.ProtoMessage) string {
	switch m := params.(type) {
	case *mcpv1.CallToolRequest:
		return m.GetName()
	case *mcpv1.GetPromptRequest:
		return m.GetName()
	case *mcpv1.ReadResourceRequest:
		return m.GetUri()
	case *mcpv1.CompleteRequest:
		if p := m.GetRef().GetPrompt(); p != nil {
			return p.GetName()
		}
		return m.GetRef().GetResource().GetUri()
	default:
		return ""
	}
}
