package typed

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/customoption"
	jsonv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/json/v1"
	optionsv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/options/v1"
)

// RecoverLock makes a lock of a .proto file that was made of a plan. Of what is
// no longer in it, only the numbers and names of fields and of values of enums
// are known; names of RPCs that were gone are free again. It is an error if the
// file does not have one service, with one RPC for each tool, prompt and
// template.
func RecoverLock(fd protoreflect.FileDescriptor) (*Lock, error) {
	if fd.Services().Len() != 1 {
		return nil, fmt.Errorf("%s has %d services, not the one of an MCP server; its names and numbers cannot be recovered", fd.Path(), fd.Services().Len())
	}
	sd := fd.Services().Get(0)
	l := newLock(string(fd.Package()), string(sd.Name()))
	requests := make(map[string]string)
	for i := range sd.Methods().Len() {
		md := sd.Methods().Get(i)
		o := &optionsv1.MethodOptions{}
		if err := customoption.Read(md, optionsProto, optionsv1.E_Method.TypeDescriptor().Number(), o); err != nil {
			return nil, fmt.Errorf("%s: %w", md.FullName(), err)
		}
		name := string(md.Name())
		switch {
		case o.GetPrompt().GetName() != "":
			l.Prompts[o.GetPrompt().GetName()] = name
		case o.GetResource().GetUriTemplate() != "":
			l.Templates[o.GetResource().GetUriTemplate()] = name
		case o.GetName() != "":
			l.Tools[o.GetName()] = name
		case md.IsStreamingServer():
			continue
		default:
			return nil, fmt.Errorf("%s does not say with (mcp.options.v1.method) what it stands for; its names and numbers cannot be recovered", md.FullName())
		}
		requests[name+"Request"] = name
		requests[name+"Output"] = name
	}
	for i := range fd.Messages().Len() {
		if md := fd.Messages().Get(i); requests[string(md.Name())] != "" {
			l.recoverMessage(md)
		}
	}
	if faults := l.faults(); len(faults) > 0 {
		return nil, fmt.Errorf("%s: %w", fd.Path(), faults[0])
	}
	return l, nil
}

func (l *Lock) recoverMessage(md protoreflect.MessageDescriptor) {
	m := l.message(local(md))
	pkg := string(md.ParentFile().Package())
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		o := &jsonv1.FieldOptions{}
		_ = customoption.Read(fd, jsonProto, jsonv1.E_Field.TypeDescriptor().Number(), o) // without them, it is as in ProtoJSON
		f := LockedField{Number: int32(fd.Number()), Name: string(fd.Name()), Kind: lockedKind(fd, pkg)}
		property := pick(o.GetName(), fd.JSONName())
		switch {
		case o.GetExtra():
			m.Extra = &f
			property = "extra"
		case o.GetLiteral() != "":
			property = o.GetLiteral()
			m.Fields[property] = f
		default:
			m.Fields[property] = f
		}
		l.recoverType(m, md, fd, property)
	}
	for i := range md.ReservedRanges().Len() {
		r := md.ReservedRanges().Get(i)
		for n := r[0]; n < r[1] && len(m.Retired.Numbers) < maxRecovered; n++ {
			m.Retired.Numbers = append(m.Retired.Numbers, int32(n))
		}
	}
	slices.Sort(m.Retired.Numbers)
	for i := range md.ReservedNames().Len() {
		m.Retired.Names = append(m.Retired.Names, string(md.ReservedNames().Get(i)))
	}
	slices.Sort(m.Retired.Names)
	for i := range md.Enums().Len() {
		l.recoverEnum(md.Enums().Get(i))
	}
	for i := range md.Messages().Len() {
		inner := md.Messages().Get(i)
		if inner.IsMapEntry() {
			continue
		}
		l.recoverMessage(inner)
		m.claimable(string(inner.Name()))
	}
	for i := range md.Enums().Len() {
		m.claimable(string(md.Enums().Get(i).Name()))
	}
}

// maxRecovered bounds the numbers of one range.
const maxRecovered = 100_000

// claimable keeps the name of a type of which nothing else says what it is made
// of. The first type of a schema that would like the name gets it.
func (m *LockedMessage) claimable(name string) {
	for _, given := range m.Types {
		if given == name {
			return
		}
	}
	m.Types[unknownOrigin+name] = name
}

// recoverType notes what the type of a field is made of, if that is of the same
// message.
func (l *Lock) recoverType(m *LockedMessage, md protoreflect.MessageDescriptor, fd protoreflect.FieldDescriptor, property string) {
	value, element := fd, fd.IsList()
	if fd.IsMap() {
		value, element = fd.MapValue(), true
	}
	var typ protoreflect.Descriptor
	if value.Message() != nil {
		typ = value.Message()
	} else if value.Enum() != nil {
		typ = value.Enum()
	}
	if typ == nil || typ.Parent() != md {
		return
	}
	origin, name := originOf(property, element)
	// Types of the name that was wanted are found by it, whether they are of
	// the property or were reached by a reference.
	if want := pascal(name); string(typ.Name()) != want && strings.HasPrefix(string(typ.Name()), want) {
		m.Types[origin] = string(typ.Name())
	}
}

func (l *Lock) recoverEnum(ed protoreflect.EnumDescriptor) {
	e := l.enum(local(ed))
	for i := range ed.Values().Len() {
		v := ed.Values().Get(i)
		if v.Number() == 0 {
			continue
		}
		o := &jsonv1.EnumValueOptions{}
		_ = customoption.Read(v, jsonProto, jsonv1.E_Value.TypeDescriptor().Number(), o) // without them, it is as in ProtoJSON
		e.Values[pick(o.GetLiteral(), string(v.Name()))] = LockedValue{int32(v.Number()), string(v.Name())}
	}
	for i := range ed.ReservedRanges().Len() {
		r := ed.ReservedRanges().Get(i)
		for n := r[0]; n <= r[1] && len(e.Retired.Numbers) < maxRecovered; n++ {
			e.Retired.Numbers = append(e.Retired.Numbers, int32(n))
		}
	}
	slices.Sort(e.Retired.Numbers)
	for i := range ed.ReservedNames().Len() {
		e.Retired.Names = append(e.Retired.Names, string(ed.ReservedNames().Get(i)))
	}
	slices.Sort(e.Retired.Names)
}

// unknownOrigin and a name stand for what the type of the name is made of.
const unknownOrigin = "type "

// takeUnknown returns the name of a type of which nothing says what it is made
// of: the one that is wanted, or that with the lowest number behind it.
func (m *LockedMessage) takeUnknown(want string) (string, bool) {
	lowest := -1
	for origin, name := range m.Types {
		tail, ok := strings.CutPrefix(name, want)
		if !ok || origin != unknownOrigin+name {
			continue
		}
		number, err := strconv.Atoi(tail)
		if tail == "" {
			number, err = 0, nil
		}
		if err == nil && (lowest < 0 || number < lowest) {
			lowest = number
		}
	}
	if lowest < 0 {
		return "", false
	}
	name := want
	if lowest > 0 {
		name += strconv.Itoa(lowest)
	}
	delete(m.Types, unknownOrigin+name)
	return name, true
}

// lockedKind returns the kind of a field as locks have it.
func lockedKind(fd protoreflect.FieldDescriptor, pkg string) string {
	value := fd
	if fd.IsMap() {
		value = fd.MapValue()
	}
	t := fieldType{typ: descriptorpb.FieldDescriptorProto_Type(value.Kind()), list: fd.IsList(), isMap: fd.IsMap()}
	if value.Message() != nil {
		t.name = "." + string(value.Message().FullName())
	} else if value.Enum() != nil {
		t.name = "." + string(value.Enum().FullName())
	}
	kind := t.text(pkg)
	if oneofOf(fd) != "" {
		kind = "oneof " + kind
	}
	return kind
}
