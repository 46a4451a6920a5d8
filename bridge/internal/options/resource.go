package options

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/customoption"
)

// Number of google.api.resource and of its fields.
const (
	resourceNumber   = 1053
	resourceType     = 1
	resourcePatterns = 2
)

// ResourceType is what the option google.api.resource says of a message
// (https://google.aip.dev/123).
type ResourceType struct {
	// Type is such as library.googleapis.com/Book.
	Type string
	// Patterns are such as shelves/{shelf}/books/{book}.
	Patterns []string
}

// ResourceOf returns the option of a message, and false if it has none.
func ResourceOf(md protoreflect.MessageDescriptor) (t ResourceType, ok bool) {
	opts := md.Options()
	if opts == nil || !opts.ProtoReflect().IsValid() {
		return t, false
	}
	encoded, err := proto.MarshalOptions{AllowPartial: true}.Marshal(opts)
	if err != nil {
		return t, false
	}
	for num, value := range customoption.Fields(encoded) {
		if num != resourceNumber {
			continue
		}
		ok = true
		for num, value := range customoption.Fields(value) {
			switch num {
			case resourceType:
				t.Type = string(value)
			case resourcePatterns:
				t.Patterns = append(t.Patterns, string(value))
			}
		}
	}
	return t, ok
}
