package schema

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
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
	desc     protoreflect.EnumDescriptor
	hideZero bool
}

// enumValue is an enum as the type of a field, or a list of the values that a
// rule allows.
type enumValue struct {
	name protoreflect.FullName // empty for values of a rule
	doc  string
	// head and tail are the keywords around the list, head with the type.
	head, tail string
	// list is a JSON array; empty where it can never fit.
	list string
	// few are the first values, listed as many as a text can hold, total is
	// how many there are, bytes how long the list is.
	few          []string
	listed       string
	total, bytes int
	// long is true where the list gives way early when space is short.
	long bool
	// open is true where the value may be a number as well.
	open bool
	// full is true where an open list is given as a union.
	full bool
	// lines are the comments of values: "NAME: comment".
	lines []string
}

// enum returns the schema of an enum field. Rules leave out values, where that
// leaves any.
func (c *cache) enum(fd protoreflect.FieldDescriptor, says fieldRules) *value {
	ed := fd.Enum()
	if ed.FullName() == nullValue {
		return &value{keywords: typeNull}
	}
	// Where presence is implicit, zero is the same as absent.
	key := enumKey{ed, !fd.IsList() && !isMapValue(fd) && !fd.HasPresence() && (c.dir != output || c.output != transcode.All)}
	if keep := says.enumFilter(ed); keep != nil {
		if e := c.newEnum(ed, key.hideZero, keep, maxEnumText); e.total > 0 {
			return &value{enum: e}
		}
	}
	if !reflect.ValueOf(ed).Comparable() {
		return &value{enum: c.newEnum(ed, key.hideZero, nil, maxEnumText)}
	}
	e, ok := c.enums.Load(key)
	if !ok {
		e, _ = c.enums.LoadOrStore(key, c.newEnum(ed, key.hideZero, nil, maxEnumText))
	}
	return &value{enum: e.(*enumValue)} //nolint:errcheck // nothing else is stored
}

func isMapValue(fd protoreflect.FieldDescriptor) bool {
	return fd.ContainingMessage() != nil && fd.ContainingMessage().IsMapEntry()
}

// newEnum reads an enum. keep says which values are listed, nil means all. The
// comments of values take at most room bytes.
func (c *cache) newEnum(ed protoreflect.EnumDescriptor, hideZero bool, keep func(protoreflect.EnumNumber) bool, room int) *enumValue {
	e := &enumValue{name: ed.FullName(), head: typeString, open: c.dir == output, full: c.full}
	if ed.IsPlaceholder() {
		return e
	}
	e.open = e.open && !ed.IsClosed()
	e.doc = comment(ed)
	values := ed.Values()
	literals := transcode.Literals(ed)
	hide := func(v protoreflect.EnumValueDescriptor) bool {
		// A zero without a literal, among values that have one, stands for none.
		unset := hideZero || c.dir != output && literals != nil && literals[0] == ""
		return unset && v.Number() == 0 && values.Len() > 1 &&
			(v.Name() == "UNSPECIFIED" || strings.HasSuffix(string(v.Name()), "_UNSPECIFIED"))
	}
	seen := make(map[protoreflect.EnumNumber]bool, values.Len())
	var names, aliases []string
	text := 0
	for i := range values.Len() {
		v := values.Get(i)
		if hide(v) || keep != nil && !keep(v.Number()) {
			seen[v.Number()] = true
			continue
		}
		switch name := cmp.Or(literals[v.Number()], string(v.Name())); {
		case !seen[v.Number()]:
			seen[v.Number()] = true
			names = append(names, name)
		case c.dir != output:
			aliases = append(aliases, name)
		default:
			continue // output uses the first name
		}
		if text > room {
			continue
		}
		doc := firstSentence(comment(v))
		if deprecated(v) && !strings.HasPrefix(strings.ToLower(doc), "deprecated") {
			doc = join("Deprecated.", doc)
		}
		if doc == "" {
			continue
		}
		line := clip(cmp.Or(literals[v.Number()], string(v.Name())), maxNameText) + ": " + doc
		if text += len(line) + 1; text > room {
			continue
		}
		e.lines = append(e.lines, line)
	}
	names = append(names, aliases...)
	e.add(names, names, func(b []byte, s string) []byte { return appendString(b, s) })
	return e
}

// newLiterals returns the enumeration of values that are JSON. Its head is set
// by who knows the type.
func newLiterals(values []string) *enumValue {
	e := new(enumValue)
	e.add(values, values, func(b []byte, s string) []byte { return append(b, s...) })
	return e
}

// add sets what is said of the values.
func (e *enumValue) add(values, shown []string, appendValue func([]byte, string) []byte) {
	for _, v := range values {
		e.bytes += len(v) + len(`"",`)
	}
	e.total = len(values)
	e.few = slices.Clone(shown[:min(sampleValues, len(shown))])
	e.listed = sample(shown, len(shown), maxEnumText)
	e.long = e.total > manyValues || e.bytes > manyBytes
	if e.total == 0 || e.bytes > MaxMaxBytes {
		return
	}
	list := append(make([]byte, 0, e.bytes+2), '[')
	for i, v := range values {
		if i > 0 {
			list = append(list, ',')
		}
		list = appendValue(list, v)
	}
	e.list = string(append(list, ']'))
}

// keywords returns the members of the schema and what its description has to
// say on the values. Where they are sampled, tool is the one that tells all.
func (e *enumValue) keywords(sampled bool, tool string) (keywords, text string) {
	list := e.list != "" && !sampled
	switch {
	case e.open && list && e.full:
		keywords = `"type":["string","integer"],"anyOf":[{"enum":` + e.list + `},{"type":"integer"}]`
	case e.open:
		keywords = `"type":["string","integer"]`
		text = e.sample(tool)
		if list {
			text = "One of " + e.listed + "."
		}
	case list:
		keywords = e.head + `,"enum":` + e.list
	default:
		keywords = e.head
		text = e.sample(tool)
	}
	return keywords + e.tail, text
}

// sampled reports whether the values are not all given.
func (e *enumValue) sampled(m mode, maxBytes int) bool {
	return e.bytes > maxBytes || m.sampleEnums && e.long
}

func (e *enumValue) sample(tool string) string {
	switch {
	case e.total == 0:
		return "The name of an enum value."
	case e.name == "":
		return fmt.Sprintf("One of %d values: %s.", e.total, sample(e.few, sampleValues, maxEnumText))
	case tool == "" || e.total <= len(e.few):
		return fmt.Sprintf("One of %d names: %s.", e.total, sample(e.few, sampleValues, maxEnumText))
	default:
		return fmt.Sprintf("One of %d names: %s; call %s for all of %s.", e.total,
			sample(e.few, sampleValues, maxEnumText), tool, clip(string(e.name), maxNameText))
	}
}
