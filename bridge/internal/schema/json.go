package schema

import (
	"cmp"
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

// maxBare is how many messages that stand for the value of a field may be inside
// each other.
const maxBare = 8

// anything is a value that may be any JSON.
func anything() *value { return &value{keywords: anyJSON, rule: "Any JSON value."} }

// bare returns the schema of a message that is, in JSON, the value of one of its
// fields. It returns nil for other messages.
func (c *cache) bare(md protoreflect.MessageDescriptor, depth int) *value {
	shape := c.facts.of(md).shape()
	switch {
	case shape == nil || shape.Value == nil:
		return nil
	case len(shape.Value) > 1 || depth == maxBare:
		return anything()
	}
	fd := shape.Value[0]
	inner := fd.Message()
	if fd.IsMap() {
		inner = fd.MapValue().Message()
	}
	var of *value
	if inner != nil {
		of = c.bare(inner, depth+1)
	}
	if of == nil {
		return c.shaped(fd, shape.Fields[fd.Index()], fieldRules{})
	}
	switch {
	case fd.IsMap():
		return &value{mapping: of}
	case fd.IsList():
		return &value{list: of}
	default:
		return of
	}
}

// shaped returns the schema of a field whose JSON is not that of ProtoJSON.
func (c *cache) shaped(fd protoreflect.FieldDescriptor, shape transcode.FieldShape, says fieldRules) *value {
	single := fd
	if fd.IsMap() {
		single = fd.MapValue()
	}
	var v *value
	switch {
	case shape.Forms, shape.Null && c.dir == output:
		return anything()
	case shape.Raw:
		v = anything()
	case shape.Number:
		v = &value{keywords: typeInteger + when(isUnsigned(single.Kind()), `,"minimum":0`)}
	default:
		return c.field(fd, says)
	}
	switch {
	case fd.IsMap():
		v = &value{mapping: v}
		says.mapping(c, fd, v)
	case fd.IsList():
		v = &value{list: v}
		says.list(v)
	case says.any():
		says.apply(c, fd, v)
	}
	return v
}

func isUnsigned(k protoreflect.Kind) bool {
	return k == protoreflect.Uint64Kind || k == protoreflect.Fixed64Kind
}

// addUnion adds the properties of a union by a tag: the tag, and the members of
// all arms, of which those of one are there.
func (c *cache) addUnion(info *messageInfo, shape *transcode.Shape) {
	tag := &fieldInfo{name: shape.Tag, required: c.dir != output, value: &value{keywords: typeString}}
	info.fields = append(info.fields, tag)
	members := map[string]*fieldInfo{shape.Tag: tag}
	var literals, lines []string
	for _, arm := range shape.Arms {
		md := arm.Field.Message()
		if arm.Literal != "" {
			literals = append(literals, quote(arm.Literal))
		}
		tag.required = tag.required && !arm.Untagged
		of := c.message(md, info.lax)
		if of == info { // it is an arm of itself
			continue
		}
		var names []string
		for _, f := range c.fields(of) {
			names = append(names, f.name)
			switch first := members[f.name]; {
			case first == nil:
				members[f.name] = &fieldInfo{name: f.name, doc: f.doc, lead: f.lead, rule: f.rule, value: f.value}
				info.fields = append(info.fields, members[f.name])
			case first != tag:
				first.value = anything()
			}
		}
		const most = 8
		lines = append(lines, fmt.Sprintf("%s: %s", cmp.Or(clip(arm.Literal, maxNameText), "none"), sample(names, most, 2*maxNameText)))
	}
	if !validKey(shape.Tag) {
		info.fields = info.fields[1:]
		info.unlisted = append(info.unlisted, strings.Map(visible, clip(shape.Tag, 64)))
		return
	}
	tag.rule = clip("It says which members there are. "+strings.Join(lines, "; ")+".", maxRule)
	if !shape.Open && len(literals) > 0 {
		e := newLiterals(literals)
		e.head = typeString
		tag.value = &value{enum: e}
	}
}
