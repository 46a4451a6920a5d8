// Package googlemcp speaks model_context_protocol.Mcp, the service that Google
// Cloud has published for MCP over gRPC. [Front] serves it in front of what
// answers MCP, [Client] is a backend that implements it.
//
// Package transcode turns the JSON of MCP and the messages of mcp.v1 into each
// other, and this package those and the messages of the service. What these have
// no field for is left out; docs/mirror.md lists it.
package googlemcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol/modelcontextprotocolconnect"
)

// ServiceName is the full name of the service.
const ServiceName = modelcontextprotocolconnect.McpName

// Metadata of the service, in canonical HTTP form.
const (
	// headerVersion names a revision of MCP, in both directions.
	headerVersion = "Mcp-Protocol-Version"
	// headerErrorCode is the trailer with the code of a JSON-RPC error.
	headerErrorCode = "Mcp-Error-Code"
	// What the service's comments ask of clients, so that proxies can route.
	headerTool     = "Mcp_tool"
	headerPrompt   = "Mcp_prompt"
	headerResource = "Mcp_resource"
)

// codecs turn the messages of mcp.v1 into the JSON of MCP and back.
type codecs struct {
	messages map[protoreflect.FullName]*transcode.Codec
	object   *transcode.Codec // google.protobuf.Struct
}

// carried are the messages that are turned into JSON, or made of it.
var carried = []proto.Message{
	(*mcpv1.ListToolsResponse)(nil), (*mcpv1.CallToolRequest)(nil), (*mcpv1.CallToolResponse)(nil),
	(*mcpv1.ListResourcesResponse)(nil), (*mcpv1.ListResourceTemplatesResponse)(nil),
	(*mcpv1.ReadResourceRequest)(nil), (*mcpv1.ReadResourceResponse)(nil),
	(*mcpv1.ListPromptsResponse)(nil), (*mcpv1.GetPromptRequest)(nil), (*mcpv1.GetPromptResponse)(nil),
	(*mcpv1.CompleteRequest)(nil), (*mcpv1.CompleteResponse)(nil), (*mcpv1.DiscoverResponse)(nil),
	(*mcpv1.ContentBlock)(nil), (*mcpv1.ElicitResult)(nil),
}

func newCodecs() (*codecs, error) {
	c := &codecs{messages: make(map[protoreflect.FullName]*transcode.Codec)}
	compiler := transcode.NewCompiler(nil, transcode.Options{Exact: true})
	for _, m := range carried {
		md := m.ProtoReflect().Descriptor()
		codec, err := compiler.Codec(md)
		if err != nil {
			return nil, err
		}
		c.messages[md.FullName()] = codec
	}
	var err error
	c.object, err = transcode.New((*structpb.Struct)(nil).ProtoReflect().Descriptor(), nil, transcode.Options{})
	return c, err
}

// json returns the JSON of a message.
func (c *codecs) json(m proto.Message) (json.RawMessage, error) {
	codec := c.object
	if _, ok := m.(*structpb.Struct); !ok {
		codec = c.messages[m.ProtoReflect().Descriptor().FullName()]
	}
	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	text, warnings, err := codec.AppendJSON(nil, wire)
	if err == nil && len(warnings) > 0 {
		err = errors.New(strings.Join(warnings, "; "))
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// read reads JSON into a message.
func (c *codecs) read(text json.RawMessage, m proto.Message) error {
	name := m.ProtoReflect().Descriptor().FullName()
	wire, err := c.messages[name].AppendWire(nil, text)
	if err == nil {
		err = proto.Unmarshal(wire, m)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// structOf returns a JSON object as a Struct, with all numbers as doubles.
func (c *codecs) structOf(text json.RawMessage) (*structpb.Struct, error) {
	wire, err := c.object.AppendWire(nil, text)
	if err != nil {
		return nil, err
	}
	s := new(structpb.Struct)
	return s, proto.Unmarshal(wire, s)
}
