package config

import (
	"bytes"
	_ "embed" // for comments
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// described is a descriptor set with the comments that generated code leaves
// out. tools/generate.sh writes it.
//
//go:embed config.binpb
var described []byte

// JSONSchema returns the JSON Schema (2020-12) of a configuration file, for
// editors. Keys are in the order of the reference page.
func JSONSchema() ([]byte, error) {
	comments, err := readComments()
	if err != nil {
		return nil, fmt.Errorf("JSON Schema of the configuration: %w", err)
	}
	s := &schemas{comments: comments, names: make(map[protoreflect.FullName]string)}
	md := (&configv1.Config{}).ProtoReflect().Descriptor()
	root := s.message(md)
	// What an editor writes into JSON so that it finds the schema again.
	for i := range root {
		if properties, ok := root[i].value.(object); ok && root[i].key == "properties" {
			root[i].value = append(properties, entry{"$schema", object{{"type", "string"}, {"description", "The JSON Schema of this file, for editors."}}})
		}
	}
	for i := 0; i < len(s.todo); i++ { // which adds to it
		s.defs = append(s.defs, entry{s.names[s.todo[i].FullName()], s.message(s.todo[i])})
	}
	s.defs = append(s.defs, entry{referenceDef, object{
		{"type", "string"}, {"pattern", `\$\{`}, {"description", "A text with a reference: ${VAR}, ${VAR:-default} or ${file:PATH}."},
	}})
	root = append(object{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Configuration of mcp-bridge"}}, root...)
	root = append(root, entry{"$defs", s.defs})
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("JSON Schema of the configuration: %w", err)
	}
	for _, c := range "&<>" { // the package escapes them for HTML
		out = bytes.ReplaceAll(out, fmt.Appendf(nil, `\u%04x`, c), []byte(string(c)))
	}
	return append(out, '\n'), nil
}

const referenceDef = "reference"

// object is a JSON object whose members stay in order.
type object []entry

type entry struct {
	key   string
	value any
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, e := range o {
		if i > 0 {
			out = append(out, ',')
		}
		value, err := json.Marshal(e.value)
		if err != nil {
			return nil, err
		}
		out = append(jsontok.AppendString(out, e.key), ':')
		out = append(out, value...)
	}
	return append(out, '}'), nil
}

// schemas makes the schemas of messages.
type schemas struct {
	comments map[protoreflect.FullName]string
	names    map[protoreflect.FullName]string
	todo     []protoreflect.MessageDescriptor
	defs     object
}

// message returns the schema of a message.
func (s *schemas) message(md protoreflect.MessageDescriptor) object {
	var properties object
	var required []string
	fields := md.Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		properties = append(properties, entry{fd.JSONName(), s.field(fd)})
		if rulesOf(fd).GetRequired() {
			required = append(required, fd.JSONName())
		}
	}
	out := object{{"type", "object"}}
	if text := s.comments[md.FullName()]; text != "" {
		out = append(out, entry{"description", text})
	}
	out = append(out, entry{"properties", properties}, entry{"additionalProperties", false})
	if required != nil {
		out = append(out, entry{"required", required})
	}
	rules, _ := proto.GetExtension(md.Options(), validate.E_Message).(*validate.MessageRules)
	for _, oneof := range rules.GetOneof() {
		var forms []object
		for _, name := range oneof.GetFields() {
			if fd := fields.ByName(protoreflect.Name(name)); fd != nil {
				forms = append(forms, object{{"required", []string{fd.JSONName()}}})
			}
		}
		out = append(out, entry{"oneOf", forms})
	}
	return out
}

// field returns the schema of a field, with what it means.
func (s *schemas) field(fd protoreflect.FieldDescriptor) object {
	var out object
	rules := rulesOf(fd)
	switch {
	case fd.IsMap():
		out = object{{"type", "object"}}
		if keys := rules.GetMap().GetKeys().GetString(); keys.HasPattern() {
			out = append(out, entry{"propertyNames", object{{"pattern", keys.GetPattern()}}})
		}
		out = append(out, entry{"additionalProperties", s.value(fd.MapValue(), rules.GetMap().GetValues())})
	case fd.IsList():
		out = s.list(fd, rules)
	default:
		out = s.value(fd, rules)
	}
	text := s.comments[fd.FullName()]
	if fd.Enum() != nil {
		text += s.values(fd.Enum())
	}
	out = append(out, entry{"description", text})
	if d := fieldOptions(fd).GetDefault(); d != "" {
		out = append(out, entry{"default", defaultValue(fd, d)})
	}
	return out
}

// list is a list of values, or one of them.
func (s *schemas) list(fd protoreflect.FieldDescriptor, rules *validate.FieldRules) object {
	item := s.value(fd, rules.GetRepeated().GetItems())
	many := object{{"type", "array"}, {"items", item}}
	if rules.GetRepeated().GetUnique() {
		many = append(many, entry{"uniqueItems", true})
	}
	if fd.Message() != nil {
		return many
	}
	return object{{"anyOf", []object{item, many}}}
}

// value returns the schema of a single value.
func (s *schemas) value(fd protoreflect.FieldDescriptor, rules *validate.FieldRules) object {
	switch {
	case fd.Message() != nil:
		return s.messageValue(fd.Message())
	case fd.Enum() != nil:
		var names []string
		for i := range fd.Enum().Values().Len() {
			v := fd.Enum().Values().Get(i)
			name := literalOf(v)
			if own := string(v.Name()); name != "" && strings.HasSuffix(own, name) {
				names = append(names, own)
			}
			if name != "" {
				names = append(names, name)
			}
		}
		return orReference(object{{"enum", names}})
	case fd.Kind() == protoreflect.BoolKind:
		return orReference(object{{"type", "boolean"}})
	case fd.Kind() == protoreflect.StringKind:
		return s.text(rules.GetString())
	default:
		number := object{{"type", "integer"}}
		if rules.GetInt32().HasGte() {
			number = append(number, entry{"minimum", rules.GetInt32().GetGte()})
		}
		if rules.GetInt32().HasLte() {
			number = append(number, entry{"maximum", rules.GetInt32().GetLte()})
		}
		return orReference(number)
	}
}

func (s *schemas) text(rules *validate.StringRules) object {
	switch {
	case rules.HasPattern():
		return orReference(object{{"type", "string"}, {"pattern", rules.GetPattern()}})
	case rules.GetMinLen() > 0:
		return object{{"type", "string"}, {"minLength", rules.GetMinLen()}}
	default:
		// YAML without quotes, such as a port, is a text where one is wanted.
		return object{{"type", []string{"string", "number", "boolean"}}}
	}
}

// durationPattern is how durations are written: 1h30m, 2.5s.
const durationPattern = `^([0-9]+(\.[0-9]+)?(h|m|s|ms|us|µs|ns))+$`

func (s *schemas) messageValue(md protoreflect.MessageDescriptor) object {
	switch {
	case md.FullName() == "google.protobuf.Duration":
		return orReference(object{{"type", "string"}, {"pattern", durationPattern}})
	case isAny(md):
		return object{{"type", "object"}}
	}
	if shape := transcode.ShapeOf(md); shape != nil && len(shape.Value) == 1 {
		return s.list(shape.Value[0], rulesOf(shape.Value[0]))
	}
	name, ok := s.names[md.FullName()]
	if !ok {
		name = string(md.Name())
		if !ours(md) {
			name = string(md.FullName())
		}
		s.names[md.FullName()] = name
		s.todo = append(s.todo, md)
	}
	return object{{"$ref", "#/$defs/" + name}}
}

// orReference allows a text with a reference in place of a value.
func orReference(value object) object {
	return object{{"anyOf", []object{value, {{"$ref", "#/$defs/" + referenceDef}}}}}
}

// values says what the values of an enum mean.
func (s *schemas) values(ed protoreflect.EnumDescriptor) string {
	var b strings.Builder
	for i := range ed.Values().Len() {
		v := ed.Values().Get(i)
		if name := literalOf(v); name != "" {
			separator := "\n"
			if b.Len() == 0 {
				separator = "\n\n"
			}
			fmt.Fprintf(&b, "%s- `%s`: %s", separator, name, strings.ReplaceAll(s.comments[v.FullName()], "\n", " "))
		}
	}
	return b.String()
}

// literalOf returns how a value of an enum is written, or "" for the one that
// stands for none. Enums of options have no literals: their names are written
// without the prefix.
func literalOf(v protoreflect.EnumValueDescriptor) string {
	ed := v.Parent().(protoreflect.EnumDescriptor) //nolint:errcheck,forcetypeassert // it is one
	if literals := transcode.Literals(ed); literals != nil || v.Number() == 0 {
		return literals[v.Number()]
	}
	return strings.TrimPrefix(string(v.Name()), strings.TrimSuffix(string(ed.Values().ByNumber(0).Name()), "UNSPECIFIED"))
}

// defaultValue returns a default as JSON has it.
func defaultValue(fd protoreflect.FieldDescriptor, text string) any {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return text == "true"
	case protoreflect.Int32Kind:
		if n, err := strconv.Atoi(text); err == nil {
			return n
		}
	default:
	}
	return text
}

// rulesOf returns the rules of a field.
func rulesOf(fd protoreflect.FieldDescriptor) *validate.FieldRules {
	rules, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules)
	return rules
}

// readComments reads the comments of messages, fields and enum values.
var readComments = sync.OnceValues(func() (map[protoreflect.FullName]string, error) {
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(described, set); err != nil {
		return nil, err
	}
	comments := make(map[protoreflect.FullName]string)
	for _, file := range set.GetFile() {
		for _, location := range file.GetSourceCodeInfo().GetLocation() {
			if name := nameAt(file, location.GetPath()); name != "" && location.GetLeadingComments() != "" {
				comments[name] = unwrap(location.GetLeadingComments())
			}
		}
	}
	return comments, nil
})

// Field numbers of descriptors, by which paths lead to what they describe.
const (
	fileMessages  = 4
	fileEnums     = 5
	messageFields = 2
	enumValues    = 2
)

// nameAt returns the full name of the message, field or enum value at a path, or
// "". Messages are not nested.
func nameAt(file *descriptorpb.FileDescriptorProto, path []int32) protoreflect.FullName {
	pkg := protoreflect.FullName(file.GetPackage())
	switch {
	case len(path) == 2 && path[0] == fileMessages:
		return pkg.Append(protoreflect.Name(file.GetMessageType()[path[1]].GetName()))
	case len(path) == 4 && path[0] == fileMessages && path[2] == messageFields:
		md := file.GetMessageType()[path[1]]
		return pkg.Append(protoreflect.Name(md.GetName())).Append(protoreflect.Name(md.GetField()[path[3]].GetName()))
	case len(path) == 4 && path[0] == fileEnums && path[2] == enumValues:
		// Values are siblings of their enum.
		return pkg.Append(protoreflect.Name(file.GetEnumType()[path[1]].GetValue()[path[3]].GetName()))
	default:
		return ""
	}
}

// unwrap joins the lines of paragraphs.
func unwrap(comment string) string {
	var b strings.Builder
	table := false
	for line := range strings.SplitSeq(strings.TrimSpace(comment), "\n") {
		line = strings.TrimSpace(line)
		isTable := strings.HasPrefix(line, "|") || strings.HasPrefix(line, "- ")
		switch {
		case b.Len() == 0:
		case line == "":
			b.WriteString("\n\n")
		case strings.HasSuffix(b.String(), "\n"):
		case table || isTable:
			b.WriteByte('\n')
		default:
			b.WriteByte(' ')
		}
		b.WriteString(line)
		table = isTable
	}
	return b.String()
}
