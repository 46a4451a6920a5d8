package transcode

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

const (
	// DefaultMaxDepth is how deep JSON may be nested, the outermost object
	// included. It is what protobuf's own parsers allow, and less than what
	// MCP clients and package jsontok do.
	DefaultMaxDepth = 100

	// DefaultMaxMessages is how many messages the arguments may hold. A
	// message of two bytes of JSON takes some hundred bytes of memory.
	DefaultMaxMessages = 1 << 18

	// MaxViolations is how many faults an [ArgumentError] lists, unless
	// [Options] say otherwise.
	MaxViolations = 10
)

// Resolver finds the types that google.protobuf.Any and extensions name. It
// is used concurrently.
type Resolver interface {
	protoregistry.MessageTypeResolver
	protoregistry.ExtensionTypeResolver
}

// Options are the choices that a [Codec] leaves. The zero value has the
// defaults.
type Options struct {
	// MaxDepth is how deep JSON may be nested in either direction. Zero or
	// less means DefaultMaxDepth; more than 10000 means 10000.
	MaxDepth int
	// MaxMessages is how many messages one input may hold. Zero or less
	// means DefaultMaxMessages.
	MaxMessages int
	// MaxViolations is how many faults of one input are listed. Zero or less
	// means [MaxViolations].
	MaxViolations int
	// Output says which fields without presence are written. See also
	// [Codec.Writing].
	Output Output
	// Exact makes the reader take only what is written again as it was: the
	// kinds, names and spellings of the output, and no value that its field
	// would change. What does not fit is an error, or goes into the field of
	// bytes of the innermost message that keeps extra members (mcp.json.v1).
	//
	// JSON is then the same after it has been wire bytes, but for the order of
	// members, the spelling of strings, of numbers in fields that are numbers,
	// and of base64, which becomes that with padding, and for fields that are
	// always written. Members that occur twice in the object of a message are
	// errors wherever that is, and so are names with half a surrogate pair in a
	// message that nothing around it keeps.
	Exact bool
	// PreferRaw makes the reader put a value that has several forms
	// (mcp.json.v1) into that of raw JSON rather than into a Struct, a Value or
	// a ListValue, and extra members into bytes rather than into a map.
	PreferRaw bool
	// Encoding returns the encoding of the bytes in a field; for those in a map,
	// the field is the map. It is called concurrently, and nil means [Base64].
	// The contents of an Any of an unknown type are always in base64.
	Encoding func(protoreflect.FieldDescriptor) Encoding
}

// Codec converts values of one message type. It is immutable and used
// concurrently. It does not bound the size of what it is given, that is up to
// the caller; the memory it takes is in proportion to that size.
type Codec struct {
	*Compiler

	root *plan
	// wrapped is set where the JSON of the type is no object.
	wrapped bool
	output  Output
	limit   int // of the JSON, in bytes, or zero
	masks   []Mask
}

// maxMaxDepth bounds the stack, whatever the options allow.
const maxMaxDepth = 10_000

// NewCompiler returns a Compiler of codecs whose Any and extensions are of the
// types that resolver finds. A nil resolver knows no types.
func NewCompiler(resolver Resolver, opts Options) *Compiler {
	if resolver == nil {
		resolver = new(protoregistry.Types)
	}
	if opts.MaxDepth <= 0 {
		opts.MaxDepth = DefaultMaxDepth
	}
	opts.MaxDepth = min(opts.MaxDepth, maxMaxDepth)
	if opts.MaxMessages <= 0 {
		opts.MaxMessages = DefaultMaxMessages
	}
	if opts.MaxViolations <= 0 {
		opts.MaxViolations = MaxViolations
	}
	return &Compiler{resolver: resolver, opts: opts}
}

// Codec returns the codec of the message type md. It is an error if md, or a
// type that it refers to, is declared in a file that is missing, is a message
// set, or has the name of a well-known type without being it; all such types
// are named.
func (c *Compiler) Codec(md protoreflect.MessageDescriptor) (*Codec, error) {
	if md == nil {
		return nil, errors.New("transcode: no message descriptor")
	}
	if faults := faults(md); len(faults) > 0 {
		return nil, fmt.Errorf("transcode: %s cannot be used: %s", md.FullName(), strings.Join(faults, "; "))
	}
	return &Codec{Compiler: c, root: c.plan(md), wrapped: Wrapped(md), output: c.opts.Output}, nil
}

// New returns the codec of one message type. Where there are several types, a
// [Compiler] shares what they have in common.
func New(md protoreflect.MessageDescriptor, resolver Resolver, opts Options) (*Codec, error) {
	return NewCompiler(resolver, opts).Codec(md)
}

// AppendWire appends the wire form of arguments, a JSON object. Empty text
// and null are the empty object, unless [Options.Exact] is set. Fields and map entries are in the order of the
// text. Implicit fields that have their default value are left out, and numeric
// lists are packed where the type says so.
//
// Arguments that do not fit are an [*ArgumentError], which lists up to
// [Options.MaxViolations] faults; dst is then returned as it was.
func (c *Codec) AppendWire(dst, arguments []byte) ([]byte, error) {
	r := c.newReader(dst)
	defer r.release()
	if err := r.read(c, arguments); err != nil {
		return dst, err
	}
	return r.out, nil
}

// AppendJSON appends the JSON form of wire, an object. The warnings, at most
// [MaxViolations], say where the message holds what ProtoJSON cannot express:
// it is then shown as well as possible instead of failing the call.
//
//   - Bytes in a string that are not UTF-8 become U+FFFD.
//   - A Value that is not a number or holds nothing, and a Timestamp or
//     Duration out of range, become null.
//   - A FieldMask that cannot be read back keeps the paths as they are.
//   - An Any of an unknown type, or with unreadable contents, becomes
//     {"@type": ..., "value": base64}.
//   - Raw JSON that is none, and a message of one value that holds none, become
//     null.
//   - Extra members are left out that have the name of another one.
//
// Fields that the message type does not know are left out. It is an error if
// wire is no message of the type or is nested too deep; dst is then returned
// as it was. What counts as a message is what protobuf's parsers take, in any
// of the encodings that they take, also where a part of it is replaced by a
// later one and not shown: such parts may be nested 10000 deep.
//
// The time it takes is in proportion to the length of wire and of its result,
// times the depth for groups in groups. The memory that it takes beside the
// result is in proportion to the length of wire: 16 bytes for each field that
// is being written, or that a message around it has, and 40 for each entry of
// such a map. The result can be longer than wire by as much as the names of
// fields and enum values are longer than two bytes, and unless the output is
// [Canonical] by the fields of a message for each that is empty; [Codec.Writing]
// bounds it.
func (c *Codec) AppendJSON(dst, wire []byte) (json []byte, warnings []string, err error) {
	json, _, warnings, err = c.appendJSON(dst, wire, false)
	return json, warnings, err
}

// appendJSON is [Codec.AppendJSON], or [Codec.AppendReadable].
func (c *Codec) appendJSON(dst, wire []byte, readable bool) (json []byte, texts, warnings []string, err error) {
	if uint64(len(wire)) > math.MaxUint32 {
		return dst, nil, nil, fmt.Errorf("transcode: the message of type %s is larger than 4 GiB", c.root.desc.FullName())
	}
	w := newWriter(c, dst, wire)
	defer w.release()
	w.readable = readable
	if err := w.outermost(c.root, c.wrapped); tooLarge(err) {
		return dst, nil, nil, err
	} else if tooDeep(err) {
		return dst, nil, nil, fmt.Errorf("transcode: write %s as JSON: %w", c.root.desc.FullName(), err)
	} else if err != nil {
		return dst, nil, nil, fmt.Errorf("transcode: the message is no valid %s: %w", c.root.desc.FullName(), err)
	}
	return w.dst, w.texts, w.warnings, nil
}

// Wrapped reports whether the JSON of md is not an object, so that a [Codec]
// puts it in the member "value" of one.
func Wrapped(md protoreflect.MessageDescriptor) bool {
	switch wellKnownOf(md) {
	case wktTimestamp, wktDuration, wktFieldMask, wktValue, wktListValue, wktWrapper:
		return true
	default:
		return false
	}
}

// findMessage resolves the URL of an Any. Types that are not complete count
// as unknown.
func (c *Compiler) findMessage(url string) (protoreflect.MessageType, error) {
	typ, err := c.resolver.FindMessageByURL(url)
	if err != nil {
		return nil, err
	}
	if !c.complete(typ.Descriptor()) {
		return nil, protoregistry.NotFound
	}
	return typ, nil
}

// complete reports whether a type that the resolver found can be used.
func (c *Compiler) complete(md protoreflect.MessageDescriptor) bool {
	usable, ok := c.usable.Load(md.FullName())
	if !ok {
		usable, _ = c.usable.LoadOrStore(md.FullName(), len(faults(md)) == 0)
	}
	return usable == true
}

// depthLeft returns the limits for text that stands inside of depth arrays
// and objects, and false if nothing can stand there.
func (c *Compiler) depthLeft(depth int) (jsontok.Limits, bool) {
	left := c.opts.MaxDepth - depth
	return jsontok.Limits{MaxDepth: left}, left > 0
}
