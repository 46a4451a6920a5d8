package googlemcp

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
)

const (
	// itself, as a counterpart, says that the fields of a message are fields of
	// the message of mcp.v1 around its counterpart.
	itself = "."
	// byRule says that a rule or the code of a method deals with a field.
	byRule = "-"
)

// counterparts are the fields of mcp.v1 that fields of the service stand for,
// where these have another name or stand inside another field.
var counterparts = map[string]string{
	"ListToolsResponse.ttl":             "ttl_ms",
	"ListResourcesResponse.ttl":         "ttl_ms",
	"ListResourceTemplatesResponse.ttl": "ttl_ms",
	"ListPromptsResponse.ttl":           "ttl_ms",
	"ReadResourceResponse.resource":     "contents",
	"EmbeddedResource.contents":         "resource",

	"CallToolRequest.request":                    itself,
	"CallToolResponse.Content.embedded_resource": "resource",

	"PromptMessage.text":              "content.text",
	"PromptMessage.image":             "content.image",
	"PromptMessage.audio":             "content.audio",
	"PromptMessage.embedded_resource": "content.resource",
	"PromptMessage.resource_link":     "content.resource_link",

	"CompletionRequest.resource_reference": "ref.resource",
	"CompletionRequest.prompt_reference":   "ref.prompt",
	"CompletionResponse.values":            "completion.values",
	"CompletionResponse.total_matches":     "completion.total",
	"CompletionResponse.has_more":          "completion.has_more",

	"ElicitRequest.requested_schema":                  "requested_schema.properties",
	"ElicitRequest.required_fields":                   "requested_schema.required",
	"ElicitResult.type":                               "action",
	"ElicitResult.content":                            byRule,
	"PrimitiveSchemaDefinition.string_schema":         byRule,
	"PrimitiveSchemaDefinition.number_schema":         byRule,
	"PrimitiveSchemaDefinition.boolean_schema":        byRule,
	"PrimitiveSchemaDefinition.enum_schema":           byRule,
	"PrimitiveSchemaDefinition.StringSchema.format":   byRule,
	"PrimitiveSchemaDefinition.NumberSchema.minimum":  byRule,
	"PrimitiveSchemaDefinition.NumberSchema.maximum":  byRule,
	"PrimitiveSchemaDefinition.BooleanSchema.default": "default_value.flag",
	"PrimitiveSchemaDefinition.EnumSchema.enum_list":  "enum_values",

	"SamplingMessage.text":                       "content.text",
	"SamplingMessage.image":                      "content.image",
	"SamplingMessage.audio":                      "content.audio",
	"SamplingCreateMessageRequest.stop_sequence": "stop_sequences",
	"SamplingCreateMessageResult.message":        itself,
}

// commonField is the field that all requests and responses of the service have.
const commonField = "common"

// pair are two messages that stand for each other.
type pair struct{ google, mcp protoreflect.FullName }

// plan says how the fields of a message of the service and of one of mcp.v1
// stand for each other. It is immutable.
type plan struct {
	fields []*field
	rule   rule
	// pieces are the fields of which one is to be set: a piece of content.
	pieces []protoreflect.FieldDescriptor
}

// field is a field of the service and its counterpart.
type field struct {
	google protoreflect.FieldDescriptor
	// path leads to the message of mcp.v1 that has the counterpart.
	path []protoreflect.FieldDescriptor
	// mcp is nil where the fields are those of the message itself. Where it is
	// one form of a value, json is the other one: raw JSON.
	mcp, json protoreflect.FieldDescriptor
	// message is for fields that are messages with a plan, lists of them or maps,
	// value for all others.
	message *plan
	value   value
}

// mapping has the plans of all messages.
type mapping map[pair]*plan

func newMapping(methods []*method) (mapping, error) {
	m := make(mapping)
	roots := [][2]protoreflect.MessageDescriptor{
		{(*googlepb.ElicitRequest)(nil).ProtoReflect().Descriptor(), (*mcpv1.ElicitRequestFormParams)(nil).ProtoReflect().Descriptor()},
		{(*googlepb.ElicitResult)(nil).ProtoReflect().Descriptor(), (*mcpv1.ElicitResult)(nil).ProtoReflect().Descriptor()},
		{(*googlepb.ListRootsResult)(nil).ProtoReflect().Descriptor(), (*mcpv1.ListRootsResult)(nil).ProtoReflect().Descriptor()},
		{(*googlepb.SamplingCreateMessageRequest)(nil).ProtoReflect().Descriptor(), (*mcpv1.CreateMessageRequestParams)(nil).ProtoReflect().Descriptor()},
		{(*googlepb.SamplingCreateMessageResult)(nil).ProtoReflect().Descriptor(), (*mcpv1.CreateMessageResult)(nil).ProtoReflect().Descriptor()},
	}
	input := (*googlepb.PrimitiveSchemaDefinition)(nil).ProtoReflect().Descriptor()
	for i := range input.Fields().Len() {
		roots = append(roots, [2]protoreflect.MessageDescriptor{input.Fields().Get(i).Message(), (*mcpv1.PrimitiveSchemaDefinition)(nil).ProtoReflect().Descriptor()})
	}
	for _, method := range methods {
		roots = append(roots,
			[2]protoreflect.MessageDescriptor{method.request.Descriptor(), method.params.Descriptor()},
			[2]protoreflect.MessageDescriptor{method.response.Descriptor(), method.result.Descriptor()})
	}
	for _, root := range roots {
		if _, err := m.plan(root[0], root[1]); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// plan returns the plan of a pair. A field of the service without a counterpart
// is an error, so that none is forgotten.
func (m mapping) plan(google, mcp protoreflect.MessageDescriptor) (*plan, error) {
	key := pair{google.FullName(), mcp.FullName()}
	if p := m[key]; p != nil {
		return p, nil
	}
	p := &plan{rule: rules[short(google)]}
	m[key] = p
	for i := range google.Fields().Len() {
		fd := google.Fields().Get(i)
		path := counterparts[short(fd)]
		switch {
		case path == byRule || fd.Name() == commonField:
			continue
		case path == "":
			path = string(fd.Name())
		}
		f := &field{google: fd}
		if err := m.connect(f, mcp, path); err != nil {
			return nil, fmt.Errorf("googlemcp: %s: %w", fd.FullName(), err)
		}
		p.fields = append(p.fields, f)
		if f.mcp != nil && f.mcp.Parent().FullName() == contentBlock {
			p.pieces = append(p.pieces, fd)
		}
	}
	return p, nil
}

var contentBlock = (*mcpv1.ContentBlock)(nil).ProtoReflect().Descriptor().FullName()

// connect finds the counterpart of a field along a path.
func (m mapping) connect(f *field, in protoreflect.MessageDescriptor, path string) (err error) {
	if path == itself {
		f.message, err = m.plan(f.google.Message(), in)
		return err
	}
	names := strings.Split(path, ".")
	for i, name := range names {
		fd := in.Fields().ByName(protoreflect.Name(name))
		if fd == nil {
			return fmt.Errorf("%s has no field %s", in.FullName(), name)
		}
		if i < len(names)-1 {
			f.path, in = append(f.path, fd), fd.Message()
			continue
		}
		f.mcp, f.json = fd, in.Fields().ByName(protoreflect.Name(name+"_json"))
	}
	if f.google.IsMap() != f.mcp.IsMap() || f.google.IsList() != f.mcp.IsList() {
		return fmt.Errorf("%s has another shape", f.mcp.FullName())
	}
	google, mcp := f.google, f.mcp
	if google.IsMap() {
		google, mcp = google.MapValue(), mcp.MapValue()
	}
	if f.value, err = newValue(google, mcp); err != nil || f.value[toMCP] != nil {
		return err
	}
	f.message, err = m.plan(google.Message(), mcp.Message())
	return err
}

// short returns a full name without the package of the service.
func short(d protoreflect.Descriptor) string {
	return strings.TrimPrefix(string(d.FullName()), string(d.ParentFile().Package())+".")
}

// apart returns a message with more than one piece of content as several with one
// each, and none for one without content. Others are returned as they are.
func (p *plan) apart(m protoreflect.Message) []protoreflect.Message {
	if p.pieces == nil {
		return []protoreflect.Message{m}
	}
	set := slices.DeleteFunc(slices.Clone(p.pieces), func(fd protoreflect.FieldDescriptor) bool { return !m.Has(fd) })
	if len(set) == 1 {
		return []protoreflect.Message{m}
	}
	all := make([]protoreflect.Message, len(set))
	for i, piece := range set {
		all[i] = m.New()
		m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			if fd == piece || !slices.Contains(set, fd) {
				all[i].Set(fd, v)
			}
			return true
		})
	}
	return all
}
