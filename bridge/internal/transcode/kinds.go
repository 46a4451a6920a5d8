package transcode

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// kinds is a set of kinds of JSON values.
type kinds uint8

func kindSet(list ...jsontok.Kind) kinds {
	var k kinds
	for _, kind := range list {
		k |= 1 << kind
	}
	return k
}

func (k kinds) has(kind jsontok.Kind) bool { return k&(1<<kind) != 0 }

const anyKind = ^kinds(0)

// fieldKinds are the kinds of JSON that are canonical for a field. Known has
// those of the messages that were met, if it is not nil.
func fieldKinds(fd protoreflect.FieldDescriptor, known map[protoreflect.FullName]kinds) kinds {
	o := fieldOptions(fd)
	switch {
	case fd.IsMap():
		return kindSet(jsontok.KindObject)
	case fd.IsList():
		return kindSet(jsontok.KindArray)
	}
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return kindSet(jsontok.KindBool)
	case protoreflect.BytesKind:
		if o.GetRaw() {
			return anyKind
		}
		return kindSet(jsontok.KindString)
	case protoreflect.StringKind:
		return kindSet(jsontok.KindString)
	case protoreflect.EnumKind:
		if isNullEnum(fd.Enum()) {
			return kindSet(jsontok.KindNull)
		}
		return kindSet(jsontok.KindString, jsontok.KindNumber)
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return messageKinds(fd.Message(), known)
	default:
		if is64Bit(fd.Kind()) && !o.GetNumber() {
			return kindSet(jsontok.KindString)
		}
		return kindSet(jsontok.KindNumber)
	}
}

// messageKinds are the kinds of JSON that are canonical for a message.
func messageKinds(md protoreflect.MessageDescriptor, known map[protoreflect.FullName]kinds) kinds {
	switch wellKnownOf(md) {
	case wktTimestamp, wktDuration, wktFieldMask:
		return kindSet(jsontok.KindString)
	case wktValue:
		return anyKind
	case wktListValue:
		return kindSet(jsontok.KindArray)
	case wktWrapper:
		if fd := md.Fields().ByNumber(1); fd != nil {
			return fieldKinds(fd, known)
		}
	default: // those that are objects
	}
	fields := valueFields(md)
	if fields == nil {
		return kindSet(jsontok.KindObject)
	}
	if k, ok := known[md.FullName()]; ok {
		return k
	}
	if known == nil {
		known = make(map[protoreflect.FullName]kinds)
	}
	var k kinds
	for _, fd := range fields {
		k |= fieldKinds(fd, known)
	}
	known[md.FullName()] = k
	return k
}

func is64Bit(kind protoreflect.Kind) bool {
	switch kind {
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind,
		protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return true
	default:
		return false
	}
}

func isNullEnum(ed protoreflect.EnumDescriptor) bool {
	return ed.FullName() == "google.protobuf.NullValue"
}
