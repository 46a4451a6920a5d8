package schema

import (
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Description returns what a model reads of the method: its comment, or else
// a sentence that names the procedure and says what its service is for. It is never
// empty and at most 2,000 bytes long.
func Description(method protoreflect.MethodDescriptor) string {
	tail := ""
	if method.IsStreamingServer() {
		tail = "The responses are a stream: the result lists those that came until it ended or a limit was reached."
	}
	return describe(method, tail)
}

// ToolDescription is [Description] for a method whose response is the result
// itself.
func ToolDescription(method protoreflect.MethodDescriptor) string { return describe(method, "") }

// About returns the first sentence of the comment of a service, or "".
func About(service protoreflect.ServiceDescriptor) string { return firstSentence(comment(service)) }

func describe(method protoreflect.MethodDescriptor, tail string) string {
	service := method.Parent()
	lead := ""
	doc := comment(method)
	if doc == "" {
		procedure := clip(string(service.FullName()), 2*maxNameText) + "/" + clip(string(method.Name()), maxNameText)
		doc = join("Calls "+procedure+".", firstSentence(comment(service)))
	}
	if (deprecated(method) || deprecated(service)) && !strings.HasPrefix(strings.ToLower(doc), "deprecated") {
		lead = "Deprecated."
	}
	return join(lead, cut(doc, maxText-len(lead)-len(tail)-4), tail)
}

// Annotations returns the annotations of the method's tool as a JSON object:
// its title, and the hints that differ from MCP's defaults (not read-only,
// destructive, not idempotent). They come from the option idempotency_level
// and from google.api.http; where the two contradict each other, a DELETE is
// never read-only.
func Annotations(method protoreflect.MethodDescriptor) json.RawMessage {
	verb := httpVerb(method)
	level := descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN
	if o, ok := method.Options().(*descriptorpb.MethodOptions); ok {
		level = o.GetIdempotencyLevel()
	}
	hints := ""
	switch {
	case verb == "DELETE":
		hints = `,"destructiveHint":true,"idempotentHint":true`
	case level == descriptorpb.MethodOptions_NO_SIDE_EFFECTS, verb == "GET":
		hints = `,"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true`
	case level == descriptorpb.MethodOptions_IDEMPOTENT, verb == "PUT":
		hints = `,"idempotentHint":true`
	}
	b := appendString([]byte(`{"title":`), Title(method))
	b = append(b, hints...)
	return append(b, '}')
}
