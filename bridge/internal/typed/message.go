package typed

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	jsonv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/json/v1"
)

// scope is a message that is being made.
type scope struct {
	path   string
	proto  *descriptorpb.DescriptorProto
	locked *LockedMessage
	root   *scope
	// fields and types are the names in the message; oneofs are among the
	// former. values are the names of the values of its enums.
	fields, types *names
	values        map[string]bool
	members       accessors
}

// scope begins a message. Types in it may not have the names of those around
// it, which some languages do not allow.
func (b *builder) scope(path string, around *scope) *scope {
	s := &scope{
		path:    path,
		locked:  b.lock.message(path),
		proto:   &descriptorpb.DescriptorProto{Name: new(path[strings.LastIndexByte(path, '.')+1:])},
		fields:  newNames(b.hashed),
		types:   newNames(b.hashed, strings.Split(path, ".")...),
		values:  make(map[string]bool),
		members: newAccessors(),
	}
	s.types.takeAll(reservedTypes)
	s.fields.takeAll(reservedFields)
	s.root = s
	if around != nil {
		s.root = around.root
	}
	for _, f := range s.locked.Fields {
		s.fields.take(f.Name)
		s.members.add(f)
		if strings.HasPrefix(f.Kind, "map ") {
			s.types.take(entryName(f.Name))
		}
	}
	if s.locked.Extra != nil {
		s.fields.take(s.locked.Extra.Name)
		s.members.add(*s.locked.Extra)
		s.types.take(entryName(s.locked.Extra.Name))
	}
	for _, name := range s.locked.Retired.Names {
		s.fields.take(name)
	}
	for _, name := range s.locked.Types {
		s.types.take(name)
	}
	return s
}

// field is a field that is being made.
type field struct {
	// key is the property, or the literal of a variant; that of the field for
	// other properties is not used.
	key   string
	extra bool
	want  string
	typ   fieldType
	// oneof is set for the variants of a union.
	oneof    bool
	required bool
	shape    *shape
	options  *jsonv1.FieldOptions
	comment  string
	locked   LockedField
	isNew    bool
}

// fieldType is the type of a field as .proto files have it.
type fieldType struct {
	kind kind // of single values
	typ  descriptorpb.FieldDescriptorProto_Type
	name string
	list bool
	// isMap is set for maps from strings to what the rest says.
	isMap bool
}

// text identifies the type in the lock.
func (t fieldType) text(pkg string) string {
	s := strings.ToLower(strings.TrimPrefix(t.typ.String(), "TYPE_"))
	if t.name != "" {
		s += " " + strings.TrimPrefix(strings.TrimPrefix(t.name, "."), pkg+".")
	}
	switch {
	case t.list:
		return "repeated " + s
	case t.isMap:
		return "map " + s
	default:
		return s
	}
}

// message fills a message with the fields of an object.
func (b *builder) message(s *scope, o *object) {
	oneof := ""
	if len(o.variants) > 0 {
		oneof = b.oneofName(s)
	}
	var fields []*field
	for _, m := range o.members {
		fields = append(fields, b.member(s, m, o))
	}
	for _, v := range o.variants {
		fields = append(fields, &field{
			key: v.literal, want: snake(v.literal), oneof: true, shape: v.shape,
			typ:     b.typ(s, v.shape, v.literal, false),
			options: &jsonv1.FieldOptions{Literal: v.literal},
			comment: cleanComment(v.shape.schema.Description),
		})
	}
	if o.extra != nil {
		fields = append(fields, &field{
			extra: true, want: "extra", shape: &shape{kind: kindMap, elem: o.extra, schema: o.extra.schema},
			typ:     b.typ(s, &shape{kind: kindMap, elem: o.extra, schema: o.extra.schema}, "extra", false),
			options: &jsonv1.FieldOptions{Extra: true, Number: o.extra.kind == kindInt64 || o.extra.kind == kindUint64},
			comment: "Properties that the schema does not name.",
		})
	}
	b.assign(s, fields)
	b.setJSONNames(fields)
	if !b.hashed {
		slices.SortStableFunc(fields, func(x, y *field) int { return cmp.Compare(x.locked.Number, y.locked.Number) })
	}
	b.addFields(s, fields, oneof)
	b.messageOptions(s, o)
	b.reserve(s)
}

// oneofName returns the name of the oneof of a union. Its fields may not have
// it, nor those that code makes of it.
func (b *builder) oneofName(s *scope) string {
	const name = "variant"
	for i := 1; ; i++ {
		candidate := name
		if i > 1 {
			candidate += "_" + strconv.Itoa(i)
		}
		// Fields of earlier exports have their names already.
		if !s.fields.has(candidate) {
			s.fields.take(candidate)
			s.members.addOneof(candidate)
			s.types.take(candidate + "_case")
			return candidate
		}
	}
}

// member makes the field of a property.
func (b *builder) member(s *scope, m member, of *object) *field {
	f := &field{
		key: m.name, want: snake(m.name), shape: m.shape, required: m.required && !m.shape.nullable,
		typ:     b.typ(s, m.shape, m.name, false),
		options: &jsonv1.FieldOptions{},
	}
	elem := m.shape
	if elem.elem != nil {
		f.options.Always = m.required && !m.shape.nullable && !of.bare
		elem = elem.elem
	}
	if b.output && !of.bare {
		f.options.Nullable = m.shape.nullable
		f.options.Always = f.options.GetAlways() || m.required && m.shape.nullable
		f.options.OmitEmpty = m.shape.elem != nil && !m.required
	}
	f.options.Number = elem.kind == kindInt64 || elem.kind == kindUint64
	switch {
	case !m.required || of.bare:
	case m.shape.constant != nil:
		b.fill(s, m.name, m.shape.constant)
	case m.shape.nullable:
		b.fill(s, m.name, []byte("null"))
	case m.shape.kind == kindNull:
		b.fill(s, m.name, []byte("null"))
	}
	f.comment = b.fieldComment(m)
	return f
}

func (b *builder) fill(s *scope, name string, value []byte) {
	if b.fills != nil {
		full := protoreflect.FullName(b.pkg + "." + s.path)
		b.fills[full] = append(b.fills[full], Fill{name, value})
	}
}

// assign gives fields their names and numbers: those of the lock where it has
// the same property with the same type. What is no longer there is retired.
func (b *builder) assign(s *scope, fields []*field) {
	locked := s.locked
	now := make(map[string]string)
	extra := ""
	for _, f := range fields {
		kind := f.typ.text(b.pkg)
		if f.oneof {
			kind = "oneof " + kind
		}
		f.locked.Kind = kind
		if f.extra {
			extra = kind
		} else {
			now[f.key] = kind
		}
	}
	for k, f := range locked.Fields {
		if now[k] != f.Kind {
			locked.Retired.add(f.Number, f.Name)
			delete(locked.Fields, k)
		}
	}
	if locked.Extra != nil && locked.Extra.Kind != extra {
		locked.Retired.add(locked.Extra.Number, locked.Extra.Name)
		locked.Extra = nil
	}
	var added []*field
	for _, f := range fields {
		old, ok := locked.Fields[f.key]
		if f.extra {
			ok = locked.Extra != nil
			if ok {
				old = *locked.Extra
			}
		}
		if ok {
			f.locked = old
		} else {
			added = append(added, f)
		}
	}
	b.nameFields(s, added)
	b.numberFields(s, added)
	for _, f := range added {
		if f.extra {
			extra := f.locked
			locked.Extra = &extra
		} else {
			locked.Fields[f.key] = f.locked
		}
	}
}

// nameFields gives names to new fields: first to those whose property is a
// name as it is, and is not like those of accessors.
func (b *builder) nameFields(s *scope, added []*field) {
	order := slices.Clone(added)
	slices.SortStableFunc(order, func(x, y *field) int { return cmp.Compare(nameRank(x), nameRank(y)) })
	if b.hashed {
		slices.SortStableFunc(order, func(x, y *field) int {
			return cmp.Or(cmp.Compare(nameRank(x), nameRank(y)), cmp.Compare(x.key, y.key))
		})
	}
	for _, f := range order {
		for {
			f.locked.Name = s.fields.claim(f.want, f.key, "_")
			if (!f.typ.isMap || !s.types.has(entryName(f.locked.Name))) && s.members.admit(f.locked) {
				break
			}
		}
		s.members.add(f.locked)
		if f.typ.isMap {
			s.types.take(entryName(f.locked.Name))
		}
	}
}

func nameRank(f *field) int {
	switch {
	case f.extra:
		return 3
	case f.want != f.key:
		return 2
	case isDerived(f.want):
		return 1
	default:
		return 0
	}
}

// numberFields gives numbers to new fields.
func (b *builder) numberFields(s *scope, added []*field) {
	if b.hashed {
		order := slices.Clone(added)
		slices.SortFunc(order, func(x, y *field) int { return cmp.Compare(hashKey(x), hashKey(y)) })
		used := make(map[int32]bool)
		for _, f := range order {
			f.locked.Number = hashNumber(hashKey(f)+" "+f.locked.Kind, used)
		}
		return
	}
	next := int32(1)
	for _, f := range s.locked.Fields {
		next = max(next, f.Number+1)
	}
	if s.locked.Extra != nil {
		next = max(next, s.locked.Extra.Number+1)
	}
	for _, n := range s.locked.Retired.Numbers {
		next = max(next, n+1)
	}
	for _, f := range added {
		if next >= firstReserved && next <= lastReserved {
			next = lastReserved + 1
		}
		f.locked.Number = next
		next++
	}
}

func hashKey(f *field) string {
	if f.extra {
		return "*"
	}
	return "." + f.key
}

// hashNumber returns a number that depends on the key alone, unless it is used
// already. It takes at most three bytes on the wire.
func hashNumber(key string, used map[int32]bool) int32 {
	for i := 0; ; i++ {
		sum := sha256.Sum256([]byte(strconv.Itoa(i) + key))
		n := int32(binary.BigEndian.Uint32(sum[:4])&(1<<18-1)) + 1
		if protoNumber(n) && !used[n] {
			used[n] = true
			return n
		}
	}
}

// entryName returns the name of the type of a map's entries.
func entryName(field string) string {
	var b strings.Builder
	up := true
	for _, c := range []byte(field) {
		switch {
		case c == '_':
			up = true
		case up:
			b.WriteString(strings.ToUpper(string(c)))
			up = false
		default:
			b.WriteByte(c)
		}
	}
	return b.String() + "Entry"
}

// jsonName returns the JSON name that a field has by default.
func jsonName(field string) string {
	var b strings.Builder
	up := false
	for _, c := range []byte(field) {
		switch {
		case c == '_':
			up = true
		case up && 'a' <= c && c <= 'z':
			b.WriteByte(c - 'a' + 'A')
			up = false
		default:
			b.WriteByte(c)
			up = false
		}
	}
	return b.String()
}

// setJSONNames gives fields the names of their properties in JSON: by json_name,
// or by an option where compilers do not take that, or where another field has
// it by default.
func (b *builder) setJSONNames(fields []*field) {
	byOption := make(map[*field]bool)
	defaults := make(map[string]bool)
	for again := true; again; {
		again = false
		for _, f := range fields {
			own := f.extra || f.oneof
			odd := strings.HasPrefix(f.key, "[") && strings.HasSuffix(f.key, "]") || strings.ContainsRune(f.key, 0)
			def := jsonName(f.locked.Name)
			if byOption[f] || !own && !odd && (def == f.key || !defaults[f.key]) {
				continue
			}
			byOption[f], again = true, true
			defaults[def] = true
			if !own {
				f.options.Name = f.key
			}
		}
	}
}
