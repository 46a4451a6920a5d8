package options

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
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
	for num, value := range fields(encoded) {
		if num != resourceNumber {
			continue
		}
		ok = true
		for num, value := range fields(value) {
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

// fields iterates over the length-delimited fields of a message, up to the
// first malformed one.
func fields(b []byte) func(yield func(protowire.Number, []byte) bool) {
	return func(yield func(protowire.Number, []byte) bool) {
		for len(b) > 0 {
			num, typ, n := protowire.ConsumeTag(b)
			if n < 0 {
				return
			}
			b = b[n:]
			size := protowire.ConsumeFieldValue(num, typ, b)
			if size < 0 {
				return
			}
			if typ == protowire.BytesType {
				if value, n := protowire.ConsumeBytes(b); n < 0 || !yield(num, value) {
					return
				}
			}
			b = b[size:]
		}
	}
}
