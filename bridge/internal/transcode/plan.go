package transcode

import (
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	jsonv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/json/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// plan is what the conversion of one message type needs to know of it. It is
// made once and used concurrently.
type plan struct {
	compiler *Compiler
	desc     protoreflect.MessageDescriptor
	wkt      wellKnown
	// fields are in the order of their declaration, which is that of the
	// output.
	fields []field
	// dense and sparse find fields by number: the index plus one.
	dense  []uint32
	sparse map[protowire.Number]int
	// names finds fields by their JSON name, proto name and, for groups, the
	// name of the message.
	names map[string]int32
	// required are the indexes of required fields.
	required []int
	// oneofs is how many oneofs there are.
	oneofs int
	// extensible is set where there may be extensions.
	extensible bool
	// unset are, by level, the indexes of the fields that are written where they
	// are not set, in their order.
	unset [levelCount][]int32
	// shape says what else is not ProtoJSON. It is nil for most types.
	shape *shape
	// extensions are those that were met in wire bytes so far.
	extensions atomic.Pointer[extensionSet]
}

// field is what the conversion of a field, an extension or a part of a map
// entry needs to know.
type field struct {
	compiler *Compiler
	desc     protoreflect.FieldDescriptor
	number   protowire.Number
	kind     protoreflect.Kind
	// wire is the type of single values.
	wire    protowire.Type
	list    bool
	packed  bool
	numeric bool // its values may be packed
	// implicit is set where the zero value is the same as none.
	implicit bool
	// index is the place in the plan; that of an extension is -1.
	index int
	// slot orders what a message holds: for fields it is their index, and for
	// extensions it is above those.
	slot int32
	// incomplete is set for an extension whose type cannot be used.
	incomplete bool
	// oneof is the index of the oneof that it is part of, or -1.
	oneof int
	// name is the JSON name, member the name as a member: quoted, and with a
	// colon.
	name   string
	member []byte
	// key and value are set for maps.
	key, value *field
	enum       *enumPlan
	// null is set where null is a value of the type.
	null bool
	// shown are the levels at which the field is written where it has its
	// default.
	shown levels
	// encoding is that of bytes.
	encoding Encoding
	// What options of mcp.json.v1 say, see [field.heed].
	asNumber, rawJSON bool
	// nullable is set where null stands for no value, elseNull where that is
	// written for it, and omitEmpty where an empty list is none.
	nullable, elseNull, omitEmpty bool
	// forms are the fields that are forms of the same value, this one included,
	// where there are others. See [Compiler.newShape].
	forms *forms
	// literal is the tag for which the field stands in a union, and untagged is
	// set where it is that of objects without a tag.
	literal  string
	untagged bool
	// having is the member that an object must have to be this form of a value,
	// or empty.
	having string
	// message is the type of the value, where it is one. See
	// [compiler.sub].
	message protoreflect.MessageDescriptor
	plan    atomic.Pointer[plan]
}

// enumPlan is what the conversion of an enum needs to know.
type enumPlan struct {
	desc protoreflect.EnumDescriptor
	// null is set for google.protobuf.NullValue.
	null bool
	// quoted has the names of values with small numbers, in quotes.
	quoted [][]byte
	// others has those of other numbers.
	others map[protoreflect.EnumNumber][]byte
	// first is the number of the first value, the default.
	first protoreflect.EnumNumber
	// numbers finds values by their exact name.
	numbers map[string]protoreflect.EnumNumber
	// literals are names that stand in place of those in the descriptor.
	literals map[protoreflect.EnumNumber]string
}

// maxDense bounds the tables of numbers.
const maxDense = 256

// Compiler makes codecs for the types of one resolver. What they need to know
// of types is shared, and found out when it is first needed. It is used
// concurrently.
type Compiler struct {
	resolver Resolver
	opts     Options
	plans    cache[protoreflect.MessageDescriptor, plan]
	enums    cache[protoreflect.EnumDescriptor, enumPlan]
	// extensions has the fields of extensions.
	extensions cache[protoreflect.FieldDescriptor, field]
	// usable remembers, by full name, whether a type that the resolver found
	// is complete.
	usable sync.Map
	// urls are plans by the URL of an Any. The map is replaced, not changed.
	urls atomic.Pointer[map[string]*plan]
	// mu is held to add to urls and to the extensions of a plan.
	mu sync.Mutex
}

// cache keeps what was made for a key. It is used concurrently.
type cache[K, V any] struct{ m sync.Map }

// get returns what there is for the key, or what fill makes: for all callers
// the same.
func (c *cache[K, V]) get(key K, fill func(K) *V) *V {
	if v, ok := c.m.Load(key); ok {
		if v, ok := v.(*V); ok {
			return v
		}
	}
	made := fill(key)
	v, _ := c.m.LoadOrStore(key, made)
	if v, ok := v.(*V); ok {
		return v
	}
	return made
}

// plan returns the plan of md.
func (c *Compiler) plan(md protoreflect.MessageDescriptor) *plan {
	return c.plans.get(md, c.newPlan)
}

// sub returns the plan of the messages that the field holds.
func (f *field) sub() *plan { return f.compiler.sub(f) }

// sub returns the plan of the messages that a field holds.
func (c *Compiler) sub(f *field) *plan {
	if p := f.plan.Load(); p != nil {
		return p
	}
	p := c.plan(f.message)
	f.plan.Store(p)
	return p
}

func (c *Compiler) newPlan(md protoreflect.MessageDescriptor) *plan {
	fields := md.Fields()
	p := &plan{
		compiler:   c,
		desc:       md,
		wkt:        wellKnownOf(md),
		fields:     make([]field, fields.Len()),
		names:      make(map[string]int32, fields.Len()),
		oneofs:     md.Oneofs().Len(),
		extensible: md.ExtensionRanges().Len() > 0,
	}
	top := protowire.Number(0)
	for i := range p.fields {
		if n := fields.Get(i).Number(); n <= maxDense {
			top = max(top, n)
		}
	}
	p.dense = make([]uint32, top+1)
	var options []*jsonv1.FieldOptions
	for i := range p.fields {
		f := &p.fields[i]
		if o := c.fill(f, fields.Get(i)); o != nil {
			if options == nil {
				options = make([]*jsonv1.FieldOptions, len(p.fields))
			}
			options[i] = o
		}
		f.index = i
		f.slot = int32(i)
		if f.number <= top {
			p.dense[f.number] = uint32(i + 1)
		} else {
			if p.sparse == nil {
				p.sparse = make(map[protowire.Number]int)
			}
			p.sparse[f.number] = i
		}
		if f.desc.Cardinality() == protoreflect.Required {
			p.required = append(p.required, i)
		}
	}
	p.setUnset()
	p.shape = c.newShape(p, options)
	// JSON names come first: a field may have the proto name of another.
	for i := range p.fields {
		p.name(p.fields[i].name, i)
	}
	for i := range p.fields {
		if !c.opts.Exact {
			p.name(p.fields[i].desc.TextName(), i)
		}
	}
	return p
}

func (p *plan) name(name string, i int) {
	f := &p.fields[i]
	if !p.isMember(f) {
		return
	}
	if f.forms != nil {
		i = f.forms.fields[0].index
	}
	if _, ok := p.names[name]; !ok {
		p.names[name] = int32(i) //nolint:gosec // files have no more fields than that
	}
}

// byNumber returns the field with the number, or nil.
func (p *plan) byNumber(n protowire.Number) *field {
	if int(n) < len(p.dense) {
		if i := p.dense[n]; i > 0 {
			return &p.fields[i-1]
		}
		return nil
	}
	if i, ok := p.sparse[n]; ok {
		return &p.fields[i]
	}
	return nil
}

// fill sets everything but the index, and returns the options of the field if
// it has any.
func (c *Compiler) fill(f *field, fd protoreflect.FieldDescriptor) *jsonv1.FieldOptions {
	f.compiler = c
	f.desc = fd
	f.number = fd.Number()
	f.kind = fd.Kind()
	f.wire = wireType(f.kind)
	f.list = fd.IsList()
	f.packed = fd.IsPacked()
	f.numeric = f.wire == protowire.VarintType || f.wire == protowire.Fixed32Type || f.wire == protowire.Fixed64Type
	f.implicit = !f.list && !fd.IsMap() && !fd.HasPresence()
	f.index = -1
	f.oneof = -1
	if od := fd.ContainingOneof(); od != nil {
		f.oneof = od.Index()
	}
	f.shown = plainLevels(fd)
	f.name = fd.JSONName()
	f.member = append(jsontok.AppendString(nil, f.name), ':')
	switch {
	case fd.IsMap():
		f.key, f.value = &field{}, &field{}
		c.fill(f.key, fd.MapKey())
		c.fill(f.value, fd.MapValue())
		f.value.encoding = c.encoding(fd, f.value.kind)
	case fd.Message() != nil:
		f.message = fd.Message()
		f.null = messageKinds(f.message, nil).has(jsontok.KindNull)
	case f.kind == protoreflect.BytesKind:
		f.encoding = c.encoding(fd, f.kind)
	case fd.Enum() != nil:
		f.enum = c.enums.get(fd.Enum(), newEnumPlan)
		f.null = f.enum.null
	}
	return f.heed(fd)
}

// encoding returns the encoding of the bytes in a field, whose values are of the
// kind.
func (c *Compiler) encoding(fd protoreflect.FieldDescriptor, kind protoreflect.Kind) Encoding {
	if kind != protoreflect.BytesKind || c.opts.Encoding == nil {
		return Base64
	}
	return c.opts.Encoding(fd)
}

func newEnumPlan(ed protoreflect.EnumDescriptor) *enumPlan {
	e := &enumPlan{desc: ed, null: isNullEnum(ed)}
	values := ed.Values()
	if values.Len() > 0 {
		e.first = values.Get(0).Number()
	}
	top := protoreflect.EnumNumber(-1)
	for i := range values.Len() {
		if n := values.Get(i).Number(); n < maxDense {
			top = max(top, n)
		}
	}
	e.literals = literals(ed)
	e.quoted = make([][]byte, top+1)
	e.numbers = make(map[string]protoreflect.EnumNumber, values.Len())
	for i := range values.Len() {
		v := values.Get(i)
		e.numbers[string(v.Name())] = v.Number()
		name, ok := e.literals[v.Number()]
		if !ok {
			name = string(v.Name())
		}
		// Of aliases, the first one counts.
		switch n := v.Number(); {
		case e.name(n) != nil:
		case 0 <= n && n <= top:
			e.quoted[n] = jsontok.AppendString(nil, name)
		default:
			if e.others == nil {
				e.others = make(map[protoreflect.EnumNumber][]byte)
			}
			e.others[n] = jsontok.AppendString(nil, name)
		}
	}
	for n, name := range e.literals {
		e.numbers[name] = n
	}
	return e
}

// extension returns the field of an extension.
func (c *Compiler) extension(fd protoreflect.FieldDescriptor) *field {
	return c.extensions.get(fd, func(fd protoreflect.FieldDescriptor) *field {
		f := &field{}
		c.fill(f, fd)
		return f
	})
}

func wireType(kind protoreflect.Kind) protowire.Type {
	switch kind {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.GroupKind:
		return protowire.StartGroupType
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return protowire.Fixed32Type
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.Fixed64Type
	default:
		return protowire.VarintType
	}
}

// name returns the name of a number as a JSON string, or nil.
func (e *enumPlan) name(n protoreflect.EnumNumber) []byte {
	if 0 <= n && int(n) < len(e.quoted) {
		return e.quoted[n]
	}
	return e.others[n]
}
