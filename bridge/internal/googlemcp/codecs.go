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
)

// codecs turn the messages of mcp.v1 into the JSON of MCP and back.
type codecs struct {
	messages map[protoreflect.FullName]*transcode.Codec
	object   *transcode.Codec // google.protobuf.Struct
}

func newCodecs(methods []*method) (*codecs, error) {
	all := []protoreflect.MessageDescriptor{
		(*mcpv1.ContentBlock)(nil).ProtoReflect().Descriptor(),
		(*mcpv1.ElicitResult)(nil).ProtoReflect().Descriptor(),
		(*mcpv1.InputRequiredResult)(nil).ProtoReflect().Descriptor(),
		(*mcpv1.InputResponse)(nil).ProtoReflect().Descriptor(),
		(*mcpv1.DiscoverResponse)(nil).ProtoReflect().Descriptor(),
	}
	for _, m := range methods {
		all = append(all, m.params.Descriptor(), m.result.Descriptor())
	}
	c := &codecs{messages: make(map[protoreflect.FullName]*transcode.Codec)}
	compiler := transcode.NewCompiler(nil, transcode.Options{Exact: true})
	for _, md := range all {
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
