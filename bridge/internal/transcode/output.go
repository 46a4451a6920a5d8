package transcode

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/customoption"
)

// Output says which fields without presence are written although they have
// their default value. Fields with presence are written if they are set, and
// never otherwise.
type Output int

const (
	// Canonical leaves them out, as canonical ProtoJSON does.
	Canonical Output = iota
	// Answers writes booleans, numbers and enums that are zero, at any depth, so
	// that an answer "no" can be told from no answer. An enum's zero is left out
	// where its name ends in UNSPECIFIED. Lists and maps that are empty are
	// written in the outermost message. Empty strings and bytes are left out.
	Answers
	// All writes every field without presence, at any depth.
	All
)

// Writes reports whether a field is always written: in the outermost message,
// or in one inside of it.
func (o Output) Writes(fd protoreflect.FieldDescriptor, outermost bool) bool {
	if !customoption.Imports(fd.ParentFile(), jsonOptions) {
		return plainLevels(fd).has(o.level(outermost))
	}
	f := &field{}
	NewCompiler(nil, Options{}).fill(f, fd)
	return f.elseNull || f.shown.has(o.level(outermost))
}

// A level is an [Output] with the place of the message: it decides which fields
// are written where they have their default.
type level uint8

const (
	levelCanonical level = iota
	levelAnswers
	levelOutermost // of Answers
	levelAll
	levelCount
)

func (o Output) level(outermost bool) level {
	switch {
	case o == All:
		return levelAll
	case o == Answers && outermost:
		return levelOutermost
	case o == Answers:
		return levelAnswers
	default:
		return levelCanonical
	}
}

// levels is a set of them.
type levels uint8

const everyLevel levels = 1<<levelCount - 1

func (l levels) has(at level) bool { return l&(1<<at) != 0 }

// plainLevels returns where a field without options of mcp.json.v1 is written
// although it has its default.
func plainLevels(fd protoreflect.FieldDescriptor) levels {
	const all, outermost = levels(1 << levelAll), levels(1<<levelAll | 1<<levelOutermost)
	switch {
	case fd.IsList() || fd.IsMap():
		return outermost
	case fd.HasPresence():
		return 0
	case fd.Kind() == protoreflect.StringKind || fd.Kind() == protoreflect.BytesKind:
		return all
	case fd.Enum() != nil && !answers(fd.Enum()):
		return all
	default:
		return outermost | 1<<levelAnswers
	}
}

// answers reports whether the zero of an enum says anything.
func answers(ed protoreflect.EnumDescriptor) bool {
	zero := ed.Values().ByNumber(0)
	return !isNullEnum(ed) && (zero == nil || !strings.HasSuffix(string(zero.Name()), "UNSPECIFIED"))
}

// showsUnset reports whether a field is written where it is not set.
func (f *field) showsUnset(at level) bool { return f.elseNull || f.shown.has(at) }

// setUnset notes which fields are written where they are not set.
func (p *plan) setUnset() {
	for at := range p.unset {
		for i := range p.fields {
			if p.fields[i].showsUnset(level(at)) {
				p.unset[at] = append(p.unset[at], int32(i))
			}
		}
	}
}

// SizeError says that JSON would be longer than a codec may write.
type SizeError struct {
	// Limit is how long it may be, in bytes.
	Limit int
}

// Error says so.
func (e *SizeError) Error() string { return fmt.Sprintf("the JSON is longer than %d bytes", e.Limit) }

// Writing returns a codec of the same type that writes fields as output says,
// and at most limit bytes of JSON: more is a [*SizeError]. A limit of zero or less
// is none.
func (c *Codec) Writing(output Output, limit int) *Codec {
	w := *c
	w.output, w.limit = output, limit
	return &w
}
