package options

import (
	"google.golang.org/protobuf/encoding/protowire"
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
	customoption.Each(md, func(f customoption.Field) {
		if f.Number != resourceNumber || f.Type != protowire.BytesType {
			return
		}
		ok = true
		for part := range customoption.Fields(f.Bytes) {
			switch {
			case part.Type != protowire.BytesType:
			case part.Number == resourceType:
				t.Type = string(part.Bytes)
			case part.Number == resourcePatterns:
				t.Patterns = append(t.Patterns, string(part.Bytes))
			}
		}
	})
	return t, ok
}
