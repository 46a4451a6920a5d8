package schema

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Limits of one schema.
const (
	// DefaultMaxBytes is the size budget where none is given. Lists of tools
	// go into a model's context whole; 12 KB hold the complete schema of most
	// methods.
	DefaultMaxBytes = 12 << 10
	// MinMaxBytes is the smallest budget that can be kept.
	MinMaxBytes = 1 << 10
	// MaxMaxBytes is the largest budget.
	MaxMaxBytes = 256 << 10
)

// Options say how a schema is rendered. The zero Options are good defaults.
type Options struct {
	// MaxBytes is the size budget of the schema. Zero means
	// [DefaultMaxBytes]; other values are brought into the range from
	// [MinMaxBytes] to [MaxMaxBytes]. A schema is never larger.
	//
	// It bounds one schema: who budgets a whole tool renders the input first
	// and gives the output what that left.
	MaxBytes int
}

func (o Options) maxBytes() int {
	if o.MaxBytes == 0 {
		return DefaultMaxBytes
	}
	return min(max(o.MaxBytes, MinMaxBytes), MaxMaxBytes)
}

// direction says which way the described JSON travels.
type direction int

const (
	input direction = iota
	output
)

// Input returns the schema of JSON that is to become a message of type md.
//
// Fields that only the server sets (field_behavior OUTPUT_ONLY) are left out.
// The error is not nil only where md is nil or unresolved.
func Input(md protoreflect.MessageDescriptor, opts Options) (json.RawMessage, error) {
	return build(md, input, opts)
}

// Output returns the schema of the JSON that a message of type md becomes. It
// accepts every such JSON: nothing is required, because zero values are left
// out, and unknown members are allowed.
//
// Fields that only the client sets (field_behavior INPUT_ONLY) are left out.
// The error is not nil only where md is nil or unresolved.
func Output(md protoreflect.MessageDescriptor, opts Options) (json.RawMessage, error) {
	return build(md, output, opts)
}

// Wrapped reports whether the JSON of md is not an object. As the input or the
// output of a tool, which must be objects, it then stands in the member
// [WrapKey] of one.
func Wrapped(md protoreflect.MessageDescriptor) bool {
	w, ok := wellKnown[md.FullName()]
	return ok && !w.object
}

// WrapKey is the member that holds JSON which is not an object. See [Wrapped].
const WrapKey = "value"

func build(md protoreflect.MessageDescriptor, dir direction, opts Options) (json.RawMessage, error) {
	if md == nil {
		return nil, errors.New("schema: no message descriptor")
	}
	if md.IsPlaceholder() {
		return nil, fmt.Errorf("schema: message %s is not resolved: the file that declares it is missing; add it to the descriptors", clip(string(md.FullName()), maxNameText))
	}
	limit := opts.maxBytes()
	return fit(newBuilder(dir, limit).tree(md), limit), nil
}
