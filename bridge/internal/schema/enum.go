package schema

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	nullValue = "google.protobuf.NullValue"
	// An enum of more than manyValues values, or of more than manyBytes, is
	// not listed where space is short.
	manyValues = 60
	manyBytes  = 4 << 10
	// maxEnumText bounds the comments of values and the list of names in a
	// description.
	maxEnumText = 1000
	// sampleValues is how many names stand for an enum that is not listed.
	sampleValues = 8
)

// enumKey tells the variants of an enum apart.
type enumKey struct {
	name     protoreflect.FullName
	hideZero bool
}

// enumValue is an enum as the type of a field.
type enumValue struct {
	doc string
	// names of the values, aliases last; nil where the list can never fit.
	names []string
	// few are the first names, total is how many there are.
	few   []string
	total int
	// long is true where the list gives way early when space is short.
	long bool
	// open is true where the value may be a number as well.
	open bool
	// lines are the comments of values: "NAME: comment".
	lines []string
}

func (b *builder) enum(fd protoreflect.FieldDescriptor) *value {
	ed := fd.Enum()
	if ed.FullName() == nullValue {
		return &value{keywords: typeNull}
	}
	// Where presence is implicit, zero is the same as absent.
	key := enumKey{ed.FullName(), !fd.IsList() && !isMapValue(fd) && !fd.HasPresence()}
	e, ok := b.enums[key]
	if !ok {
		e = b.newEnum(ed, key.hideZero)
		b.enums[key] = e
	}
	return &value{enum: e}
}

func isMapValue(fd protoreflect.FieldDescriptor) bool {
	return fd.ContainingMessage() != nil && fd.ContainingMessage().IsMapEntry()
}

func (b *builder) newEnum(ed protoreflect.EnumDescriptor, hideZero bool) *enumValue {
	e := &enumValue{open: b.dir == output && !ed.IsClosed()}
	if ed.IsPlaceholder() {
		e.open = b.dir == output
		return e
	}
	e.doc = comment(ed)
	values := ed.Values()
	hide := func(v protoreflect.EnumValueDescriptor) bool {
		return hideZero && v.Number() == 0 && values.Len() > 1 &&
			(v.Name() == "UNSPECIFIED" || strings.HasSuffix(string(v.Name()), "_UNSPECIFIED"))
	}
	seen := make(map[protoreflect.EnumNumber]bool, values.Len())
	var names, aliases []string
	bytes, text := 0, 0
	for i := range values.Len() {
		v := values.Get(i)
		if hide(v) {
			seen[v.Number()] = true
			continue
		}
		switch name := string(v.Name()); {
		case !seen[v.Number()]:
			seen[v.Number()] = true
			names = append(names, name)
		case b.dir == input:
			aliases = append(aliases, name)
		default:
			continue // output uses the first name
		}
		bytes += len(v.Name()) + len(`"",`)
		if text > maxEnumText {
			continue
		}
		doc := firstSentence(comment(v))
		if deprecated(v) && !strings.HasPrefix(strings.ToLower(doc), "deprecated") {
			doc = join("Deprecated.", doc)
		}
		if doc == "" {
			continue
		}
		line := clip(string(v.Name()), maxNameText) + ": " + doc
		if text += len(line) + 1; text > maxEnumText {
			continue
		}
		e.lines = append(e.lines, line)
	}
	names = append(names, aliases...)
	e.total = len(names)
	e.few = names[:min(sampleValues, len(names))]
	e.long = e.total > manyValues || bytes > manyBytes
	if bytes <= b.maxBytes {
		e.names = names
	}
	return e
}

// keywords returns the members of the schema and what its description has to
// say on the names.
func (e *enumValue) keywords(mode mode) (keywords, text string) {
	list := e.names != nil && (!e.long || !mode.sampleEnums)
	switch {
	case e.open:
		keywords = `"type":["string","integer"]`
		if list && e.total > 0 {
			text = "One of " + sample(e.names, len(e.names), maxEnumText) + "."
			break
		}
		text = e.sample()
	case list && e.total > 0:
		keywords = string(appendStrings([]byte(typeString+`,"enum":`), e.names))
	default:
		keywords = typeString
		text = e.sample()
	}
	return keywords, text
}

func (e *enumValue) sample() string {
	if e.total == 0 {
		return "The name of an enum value."
	}
	return fmt.Sprintf("One of %d names: %s.", e.total, sample(e.few, sampleValues, maxEnumText))
}
