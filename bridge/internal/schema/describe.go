package schema

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// describeEnum describes an enum in at most limit bytes: with the comments of
// its values, else with as many values as there is room for.
func (c *cache) describeEnum(ed protoreflect.EnumDescriptor, limit int) Schema {
	e := c.newEnum(ed, false, nil, limit)
	name := clip(string(ed.FullName()), maxNameText)
	doc := e.doc
	if doc == "" {
		doc = "Enum " + name + "."
	}
	for _, lines := range [][]string{e.lines, nil} {
		if e.list == "" {
			break
		}
		b := []byte("{" + typeString)
		b = appendDescription(b, strings.Join(append([]string{doc}, lines...), "\n"))
		b = append(b, `,"enum":`+e.list+"}"...)
		if len(b) <= limit {
			return Schema{JSON: b}
		}
	}
	values := ed.Values()
	text := fmt.Sprintf("%d names have no room here.", values.Len())
	b := appendDescription([]byte("{"+typeString), join(firstSentence(doc), text))
	b = append(b, `,"examples":[`...)
	var names []string
	for i := range values.Len() {
		one := appendString(nil, string(values.Get(i).Name()))
		if len(b)+len(one)+len(",]}") > limit {
			break
		}
		if len(names) > 0 {
			b = append(b, ',')
		}
		b = append(b, one...)
		names = append(names, string(values.Get(i).Name()))
	}
	return Schema{JSON: slices.Concat(b, []byte("]}")), Pruned: true}
}
