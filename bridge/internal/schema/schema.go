package schema

import (
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
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
	// TypeMaxBytes is the size budget of [Type]. Who asks for one type wants
	// to know all about it, and pays for it once.
	TypeMaxBytes = 48 << 10
)

// Profile says how much of JSON Schema is used.
type Profile int

const (
	// Portable is the small part that every host accepts: no references, no
	// unions, nothing but an object at the root.
	Portable Profile = iota
	// Full says everything that JSON Schema 2020-12 can say: $defs and $ref
	// for messages that occur more than once, oneOf for oneofs, propertyNames
	// for the keys of maps, additionalProperties: false for messages in
	// arguments, and default for the defaults of proto2 and editions.
	Full
)

// Options say how a schema is rendered. The zero Options are good defaults.
type Options struct {
	// MaxBytes is the size budget of the schema. Zero means
	// [DefaultMaxBytes]; other values are brought into the range from
	// [MinMaxBytes] to [MaxMaxBytes]. A schema is never larger.
	//
	// It bounds one schema: who budgets a whole tool renders the input first
	// and gives the output what that left, see [Renderer.Within].
	MaxBytes int
	// Profile is how much of JSON Schema is used.
	Profile Profile
	// Output says what results have although it is zero or empty: properties that
	// are always there are required.
	Output transcode.Output
	// DescribeTool is the name of a tool that tells of a type on its own, see
	// [Renderer.Type]. Where a schema leaves out a part of a type, it names
	// the type and this tool. Empty means that there is no such tool.
	DescribeTool string
	// Methods are those of the API. What their declarations say of fields, besides
	// comments, is told then.
	Methods []protoreflect.MethodDescriptor
	// Comment returns what is said of a field in place of its comment, or "".
	// It is called concurrently, and may be nil.
	Comment func(protoreflect.FieldDescriptor) string
	// Encoding returns the encoding of the bytes in a field, as in
	// [transcode.Options]. It is called concurrently, and may be nil.
	Encoding func(protoreflect.FieldDescriptor) transcode.Encoding
}

func (o Options) maxBytes() int {
	if o.MaxBytes == 0 {
		return DefaultMaxBytes
	}
	return min(max(o.MaxBytes, MinMaxBytes), MaxMaxBytes)
}

// Schema is a rendered schema.
type Schema struct {
	JSON json.RawMessage
	// Pruned is true where the schema leaves out members of messages or
	// values of enums, because of the budget or of the depth. Where there is
	// a tool that describes types, it is of use then.
	Pruned bool
}

// Input returns the schema of JSON that is to become a message of type md, by
// a [Renderer] of its own.
func Input(md protoreflect.MessageDescriptor, opts Options) (Schema, error) {
	return New(opts).Input(md)
}

// Output returns the schema of the JSON that a message of type md becomes, by
// a [Renderer] of its own.
func Output(md protoreflect.MessageDescriptor, opts Options) (Schema, error) {
	return New(opts).Output(md)
}

// Type describes a message or an enum, by a [Renderer] of its own.
func Type(d protoreflect.Descriptor, opts Options) (Schema, error) {
	return New(opts).Type(d)
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

// direction says which way the described JSON travels.
type direction int

const (
	input direction = iota
	output
	// reference is read by a model, not checked: an input that shows what
	// only results have, too.
	reference
	directions
)

// Renderer renders schemas. It keeps what messages share, such as cleaned
// comments, rules and rendered fields, so that many schemas are rendered in a
// fraction of the time that each takes on its own. It keeps that as long as
// it lives: use one for all methods of a snapshot of an API, and drop it then.
//
// All methods may be called concurrently. The result depends on the arguments
// and the options only, not on what was rendered before.
type Renderer struct {
	opts  Options
	kinds *[directions]cache
}

// New returns a Renderer.
func New(opts Options) *Renderer {
	r := &Renderer{opts: opts, kinds: new([directions]cache)}
	extensions, facts := new(predefined), new(factBook)
	derived := &hints{methods: opts.Methods}
	for dir := range directions {
		c := &r.kinds[dir]
		c.dir = dir
		c.full = opts.Profile == Full
		c.tool = clip(opts.DescribeTool, maxToolText)
		c.output = opts.Output
		c.comment, c.encode = opts.Comment, opts.Encoding
		c.predefined, c.facts, c.hints = extensions, facts, derived
	}
	return r
}

// Within returns a Renderer with another budget, as of [Options], that shares
// what this one keeps.
func (r *Renderer) Within(maxBytes int) *Renderer {
	opts := r.opts
	opts.MaxBytes = maxBytes
	return &Renderer{opts: opts, kinds: r.kinds}
}

// Input returns the schema of JSON that is to become a message of type md.
//
// Fields that only the server sets (field_behavior OUTPUT_ONLY) are left out.
// Rules of protovalidate become keywords, or words where no keyword says the
// same. The error is not nil only where md is nil or unresolved.
func (r *Renderer) Input(md protoreflect.MessageDescriptor) (Schema, error) {
	return r.message(md, input, r.opts.maxBytes())
}

// Output returns the schema of the JSON that a message of type md becomes. It
// accepts every such JSON: what is required is only what [Options.Output] always
// has, unknown members are allowed, and rules are not repeated, because backends
// may break them.
//
// Fields that only the client sets (field_behavior INPUT_ONLY) are left out.
// The error is not nil only where md is nil or unresolved.
func (r *Renderer) Output(md protoreflect.MessageDescriptor) (Schema, error) {
	return r.message(md, output, r.opts.maxBytes())
}

// Type describes a message or an enum on its own, in at most [TypeMaxBytes],
// for a reader who met its name in a schema that leaves it out. A message is
// described as an input, with the fields that only results have besides, which
// say so; an enum as a string with the comments of its values. The error is
// not nil only where d is neither, is nil or is unresolved.
func (r *Renderer) Type(d protoreflect.Descriptor) (Schema, error) {
	switch d := d.(type) {
	case protoreflect.MessageDescriptor:
		return r.message(d, reference, TypeMaxBytes)
	case protoreflect.EnumDescriptor:
		if d.IsPlaceholder() {
			return Schema{}, unresolved("enum", d)
		}
		return r.kinds[reference].describeEnum(d, TypeMaxBytes), nil
	case nil:
		return Schema{}, errors.New("schema: no descriptor")
	default:
		return Schema{}, fmt.Errorf("schema: %s is neither a message nor an enum", clip(string(d.FullName()), maxNameText))
	}
}

func (r *Renderer) message(md protoreflect.MessageDescriptor, dir direction, limit int) (Schema, error) {
	if md == nil {
		return Schema{}, errors.New("schema: no message descriptor")
	}
	if md.IsPlaceholder() {
		return Schema{}, unresolved("message", md)
	}
	c := &r.kinds[dir]
	return c.fit(newBuilder(c, limit).tree(md), limit), nil
}

func unresolved(kind string, d protoreflect.Descriptor) error {
	return fmt.Errorf("schema: %s %s is not resolved: the file that declares it is missing; add it to the descriptors",
		kind, clip(string(d.FullName()), maxNameText))
}
