package transcode

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// expected says what the JSON of a field is.
func expected(fd protoreflect.FieldDescriptor) string {
	switch {
	case fd.IsMap():
		return "an object"
	case fd.IsList():
		return "an array"
	default:
		return expectedElement(fd)
	}
}

// expectedElement says what the JSON of a field, or of an element of it, is.
func expectedElement(fd protoreflect.FieldDescriptor) string {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return "true or false"
	case protoreflect.StringKind:
		return "a string"
	case protoreflect.BytesKind:
		return wantBase64
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return "a number"
	case protoreflect.EnumKind:
		return oneOf(valueNames(fd.Enum().Values()), fd.Enum().Values().Len())
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return expectedMessage(fd.Message())
	default:
		return integerRange(fd.Kind())
	}
}

func expectedMessage(md protoreflect.MessageDescriptor) string {
	switch wellKnownOf(md) {
	case wktTimestamp:
		return wantTimestamp
	case wktDuration:
		return wantDuration
	case wktFieldMask:
		return wantFieldMask
	case wktAny:
		return wantAny
	case wktValue:
		return "any JSON value"
	case wktListValue:
		return "an array"
	case wktWrapper:
		return expectedElement(md.Fields().ByNumber(1))
	default:
		return fmt.Sprintf("an object (%s)", md.FullName())
	}
}

// describe says what a value is, in few words.
func describe(raw []byte) string {
	switch kind := jsontok.KindOf(raw); kind {
	case jsontok.KindObject, jsontok.KindArray:
		return "an " + kind.String()
	case jsontok.KindNull:
		return "null"
	default:
		return "the " + kind.String() + " " + clip(string(raw), maxSeenText)
	}
}

// expected says what the JSON of a value with several forms is.
func (g *forms) expected() string { return expectedForms(slices.Values(g.fields)) }

func expectedForms(fields iter.Seq[*field]) string {
	var all []string
	for f := range fields {
		want := expected(f.desc)
		if f.rawJSON {
			want = "any JSON value"
		}
		if !slices.Contains(all, want) {
			all = append(all, want)
		}
	}
	return strings.Join(all, " or ")
}
