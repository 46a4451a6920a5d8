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
func (f *field) expected() string {
	switch {
	case f.key != nil:
		return "an object"
	case f.list:
		return "an array"
	default:
		return f.expectedElement()
	}
}

// expectedElement says what the JSON of a field, or of an element of it, is.
func (f *field) expectedElement() string {
	switch f.kind {
	case protoreflect.BoolKind:
		return "true or false"
	case protoreflect.StringKind:
		return "a string"
	case protoreflect.BytesKind:
		return f.encoding.want()
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return "a number"
	case protoreflect.EnumKind:
		return oneOf(valueNames(f.enum.desc.Values()), f.enum.desc.Values().Len())
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return f.sub().expected()
	default:
		return integerRange(f.kind)
	}
}

// expected says what the JSON of a message is.
func (p *plan) expected() string {
	switch p.wkt {
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
		return p.fields[0].expectedElement()
	default:
		return fmt.Sprintf("an object (%s)", p.desc.FullName())
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
		want := f.expected()
		if f.rawJSON {
			want = "any JSON value"
		}
		if !slices.Contains(all, want) {
			all = append(all, want)
		}
	}
	return strings.Join(all, " or ")
}

// maxListedNames is how many names an error lists.
const maxListedNames = 12

// oneOf lists names, all if they are few.
func oneOf(names iter.Seq[string], count int) string {
	var b strings.Builder
	n := 0
	for name := range names {
		if n == maxListedNames {
			b.WriteString(", ...")
			break
		}
		if n > 0 {
			b.WriteString(", ")
		}
		b.WriteString(clip(name, maxNameText))
		n++
	}
	if count == 1 {
		return b.String()
	}
	return "one of " + b.String()
}
