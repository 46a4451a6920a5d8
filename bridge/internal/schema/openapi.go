package schema

import (
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/customoption"
)

// What the options of grpc-gateway's protoc-gen-openapiv2 say stands in for
// comments, which reflection and generated code leave out.

// openapiNumber is that of openapiv2_operation, openapiv2_schema, openapiv2_field,
// openapiv2_enum and openapiv2_tag. The options of protoc-gen-swagger, which were
// before them, have the same, also of the fields that are read here.
const openapiNumber = 1042

// Numbers of the fields with texts, by the kind of the declaration.
const (
	operationSummary     = 2
	operationDescription = 3
	schemaJSON           = 1 // openapiv2_schema holds a JSONSchema
	jsonTitle            = 5
	jsonDescription      = 6
	jsonExample          = 9
	enumDescription      = 1
	enumTitle            = 3
	tagDescription       = 2
)

// maxExample bounds an example, in bytes.
const maxExample = 200

// openapi returns what the options of protoc-gen-openapiv2 say of d, as [comment]
// does: a summary or title, and the description.
func openapi(d protoreflect.Descriptor) string {
	raw := openapiOption(d)
	if raw == nil {
		return ""
	}
	var head, text []byte
	switch d.(type) {
	case protoreflect.MethodDescriptor:
		head, text = optionText(raw, operationSummary), optionText(raw, operationDescription)
	case protoreflect.MessageDescriptor:
		raw = optionText(raw, schemaJSON)
		head, text = optionText(raw, jsonTitle), optionText(raw, jsonDescription)
	case protoreflect.FieldDescriptor:
		head, text = optionText(raw, jsonTitle), optionText(raw, jsonDescription)
	case protoreflect.EnumDescriptor:
		head, text = optionText(raw, enumTitle), optionText(raw, enumDescription)
	case protoreflect.ServiceDescriptor:
		text = optionText(raw, tagDescription)
	}
	first, rest := cleanComment(string(head)), cleanComment(string(text))
	if strings.HasPrefix(rest, strings.TrimSuffix(first, ".")) {
		first = ""
	}
	return cut(join(first, rest), maxText)
}

// openapiOption returns the encoded option, or nil.
func openapiOption(d protoreflect.Descriptor) []byte {
	const current, former = "protoc-gen-openapiv2/options/annotations.proto", "protoc-gen-swagger/options/annotations.proto"
	if file := d.ParentFile(); !customoption.Imports(file, current) && !customoption.Imports(file, former) {
		return nil
	}
	return extensionBytes(d, openapiNumber)
}

// optionText returns a field of an encoded message.
func optionText(message []byte, number protowire.Number) []byte {
	var b []byte
	for f := range customoption.Fields(message) {
		if f.Number == number && f.Type == protowire.BytesType {
			b = f.Bytes
		}
	}
	return b
}

// openapiExample returns the example of a field as JSON, or "" if it has none, or
// one of another type: an example must be a value that is accepted.
func openapiExample(fd protoreflect.FieldDescriptor) string {
	if fd.IsMap() || fd.IsList() {
		return ""
	}
	text := strings.TrimSpace(string(optionText(openapiOption(fd), jsonExample)))
	if text == "" || len(text) > maxExample || !json.Valid([]byte(text)) {
		return ""
	}
	quoted := text[0] == '"'
	switch fd.Kind() {
	case protoreflect.StringKind:
		var s string
		if !quoted || json.Unmarshal([]byte(text), &s) != nil || s == "" {
			return ""
		}
		return quote(strings.Map(visible, s))
	case protoreflect.BoolKind:
		if text == "true" || text == "false" {
			return text
		}
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind, protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		var n int64
		if json.Unmarshal([]byte(text), &n) == nil {
			return text
		}
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		var n float64
		if json.Unmarshal([]byte(text), &n) == nil {
			return text
		}
	default: // bytes, messages, enums, and integers that are strings in JSON
	}
	return ""
}
