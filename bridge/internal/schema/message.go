package schema

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

// cache is what schemas of one direction share. It is filled as they are
// rendered, and safe for concurrent use: two that make the same entry make
// equal ones, and the first stays.
type cache struct {
	dir        direction
	full       bool
	tool       string // the tool that describes types, or ""
	output     transcode.Output
	comment    func(protoreflect.FieldDescriptor) string
	encode     func(protoreflect.FieldDescriptor) transcode.Encoding
	predefined *predefined
	facts      *factBook
	hints      *hints
	messages   sync.Map // messageKey -> *messageInfo
	enums      sync.Map // enumKey -> *enumValue
}

// messageKey tells the variants of a message apart.
type messageKey struct {
	desc protoreflect.MessageDescriptor
	// lax is set where a rule says to ignore the rules inside.
	lax bool
}

// messageInfo is what all places of a message share.
type messageInfo struct {
	desc  protoreflect.MessageDescriptor
	lax   bool
	doc   string
	facts *messageFacts
	// What follows is set by cache.fields.
	once     sync.Once
	fields   []*fieldInfo
	unlisted []string // fields that no property can stand for
	rules    string   // of protovalidate, in words
	groups   []group
	// def is the name of the message in $defs, ref the reference to it, extras
	// are the keywords of an object; all of the full profile.
	def, ref, extras string
}

// group is a set of properties of which at most one may be set.
type group struct {
	names    []string
	required bool // exactly one
}

// fieldInfo is what all places of a field share.
type fieldInfo struct {
	name     string
	doc      string // the author's words
	lead     string // our words that must be read first
	rule     string // our words that must not be lost
	help     string // our words that help
	required bool   // at every place of the message
	// outermost is set where the property is required in the root only.
	outermost bool
	value     *value
	heads     atomic.Pointer[head]
	// child is the message that value holds, once it was asked for.
	child atomic.Pointer[messageInfo]
}

// value is one node of a schema. Exactly one of list, mapping, message, enum
// and keywords is set; list, mapping and message may have keywords besides.
type value struct {
	list     *value
	mapping  *value
	keys     string // keywords of a map's keys
	message  protoreflect.MessageDescriptor
	lax      bool // the rules inside the message are ignored
	enum     *enumValue
	keywords string // members of a JSON object, "type" first in scalars
	rule     string // our words that must not be lost
	rules    string // those of protovalidate: they give way before structure does
	note     string // our words that explain what the keywords say already
	examples string // a member of a JSON object
	needed   bool   // the rules refuse the zero value
}

// messageOf returns the node that stands for a message at v, if any.
func (v *value) messageOf() *value {
	switch {
	case v.list != nil:
		return v.list.messageOf()
	case v.mapping != nil:
		return v.mapping.messageOf()
	case v.message != nil:
		return v
	}
	return nil
}

// enumOf returns the enum whose values are described at v.
func (v *value) enumOf() *enumValue {
	switch {
	case v.list != nil:
		return v.list.enum
	case v.mapping != nil:
		return v.mapping.enum
	}
	return v.enum
}

func (c *cache) message(md protoreflect.MessageDescriptor, lax bool) *messageInfo {
	// Descriptors are pointers wherever they come from, but for those of
	// absent types; an unusual one may be no key of a map.
	key := messageKey{md, lax}
	usable := reflect.ValueOf(md).Comparable()
	if usable {
		if info, ok := c.messages.Load(key); ok {
			return info.(*messageInfo) //nolint:errcheck // nothing else is stored
		}
	}
	info := &messageInfo{desc: md, lax: lax, facts: c.facts.of(md)}
	info.doc = info.facts.doc
	if usable {
		first, _ := c.messages.LoadOrStore(key, info)
		return first.(*messageInfo) //nolint:errcheck // nothing else is stored
	}
	return info
}

// fields returns the fields of a message that become properties.
func (c *cache) fields(info *messageInfo) []*fieldInfo {
	info.once.Do(func() { c.addFields(info) })
	return info.fields
}

func (c *cache) addFields(info *messageInfo) {
	md := info.desc
	if c.full {
		info.def = defName(md, info.lax)
		info.ref = "#/$defs/" + info.def
	}
	var rules messageRules
	if c.dir != output && !info.lax {
		rules = c.messageRules(md)
	}
	info.rules = rules.text
	fields := md.Fields()
	facts := info.facts.read()
	shape := info.facts.shape()
	if shape != nil && shape.Arms != nil && shape.Content == "" {
		c.addUnion(info, shape)
		return
	}
	seen := make(map[string]bool, fields.Len())
	oneofs := make(map[protoreflect.FullName]string)
	info.fields = make([]*fieldInfo, 0, fields.Len())
	for i := range fields.Len() {
		fd := fields.Get(i)
		o := facts[i].fieldOptions
		if !o.travels(c.dir) {
			continue
		}
		name := fd.JSONName()
		if shape != nil {
			if name = shape.Fields[i].Name; name == "" || shape.Fields[i].Forms && seen[name] {
				continue
			}
		}
		if !validKey(name) || seen[name] {
			info.unlisted = append(info.unlisted, strings.Map(visible, clip(name, 64)))
			continue
		}
		seen[name] = true
		f := &fieldInfo{name: name, doc: facts[i].doc}
		if c.comment != nil {
			f.doc = cmp.Or(strings.TrimSpace(c.comment(fd)), f.doc)
		}
		if c.sends(o) {
			f.help = c.hints.of(fd, f.doc)
		}
		info.fields = append(info.fields, f)
		if facts[i].deprecated && !strings.HasPrefix(strings.ToLower(f.doc), "deprecated") {
			f.lead = "Deprecated."
		}
		if c.dir == reference && o.outputOnly {
			f.lead = join(f.lead, "Only in results.")
		}
		says := fieldRules{lax: info.lax}
		if c.dir != output && !info.lax {
			says = c.fieldRules(fd, o.rules, rules.members[fd.Name()])
		}
		group := fd.ContainingOneof()
		if group != nil && (group.IsSynthetic() || shape != nil && shape.Fields[i].Forms) {
			group = nil
		}
		if group != nil {
			// The first member says what holds for all of them.
			if again, ok := oneofs[group.FullName()]; ok {
				f.rule = again
			} else {
				f.rule = c.oneof(info, group)
				oneofs[group.FullName()] = "Oneof " + clip(string(group.Name()), maxNameText) + "."
			}
		}
		f.required = c.sends(o) &&
			(says.required() || group == nil && (o.required || fd.Cardinality() == protoreflect.Required))
		if c.dir == output {
			f.required, f.outermost = c.output.Writes(fd, false), c.output.Writes(fd, true)
		}
		if shape != nil {
			f.value = c.shaped(fd, shape.Fields[i], says)
		} else {
			f.value = c.field(fd, says)
		}
		if example := facts[i].example; c.dir != output && example != "" && f.value.examples == "" && f.value.keywords != "" && shape == nil {
			f.value = f.value.exemplified(example)
		}
		// Left out, such a field is zero.
		f.required = f.required || c.sends(o) && !fd.HasPresence() && f.value.needed
		if c.full {
			if d := defaultValue(fd, c.encoding(fd)); d != "" {
				f.value = f.value.with(`,"default":` + d)
			}
		}
	}
	if c.full {
		info.extras = unions(append(info.groups, rules.groups(seen)...))
		// Extensions are no properties, but may be sent.
		if c.dir != output && len(info.unlisted) == 0 && md.ExtensionRanges().Len() == 0 && (shape == nil || !shape.Open) {
			info.extras += `,"additionalProperties":false`
		}
	}
}

// sends reports whether arguments have a field.
func (c *cache) sends(o fieldOptions) bool {
	return c.dir == input || c.dir == reference && !o.outputOnly
}

// with returns a copy of v with more keywords.
func (v *value) with(keywords string) *value {
	w := *v
	if w.enum != nil {
		e := *w.enum
		e.tail += keywords
		w.enum = &e
	} else {
		w.keywords += keywords
	}
	return &w
}

// exemplified returns a copy of v with an example.
func (v *value) exemplified(example string) *value {
	w := *v
	w.examples = examples([]string{example})
	return &w
}

func (c *cache) field(fd protoreflect.FieldDescriptor, says fieldRules) *value {
	switch {
	case fd.IsMap():
		of := says.mapValues()
		of.encoding = c.encoding(fd)
		v := &value{mapping: c.single(fd.MapValue(), of)}
		says.mapping(c, fd, v)
		return v
	case fd.IsList():
		of := says.items()
		of.encoding = c.encoding(fd)
		v := &value{list: c.single(fd, of)}
		says.list(v)
		return v
	default:
		says.encoding = c.encoding(fd)
		return c.single(fd, says)
	}
}

// encoding returns the encoding of the bytes in a field.
func (c *cache) encoding(fd protoreflect.FieldDescriptor) transcode.Encoding {
	if c.encode == nil || fd.Kind() != protoreflect.BytesKind && (!fd.IsMap() || fd.MapValue().Kind() != protoreflect.BytesKind) {
		return transcode.Base64
	}
	return c.encode(fd)
}

// single returns the schema of one value of a field, disregarding that the
// field may be repeated.
func (c *cache) single(fd protoreflect.FieldDescriptor, says fieldRules) *value {
	var v *value
	switch fd.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		md := fd.Message()
		if w, ok := wellKnown[md.FullName()]; ok {
			v = w.value(c.dir)
			if md.FullName() == bytesValue {
				says.encoding = c.encoding(md.Fields().ByNumber(1))
				v = wrapper(bytesSchema(says.encoding, c.dir), c.dir)
			}
			if c.full {
				v = fullWellKnown(md.FullName(), v, c.dir)
			}
		} else if v = c.bare(md, 0); v == nil {
			v = &value{message: md, lax: says.lax}
		}
	case protoreflect.EnumKind:
		v = c.enum(fd, says)
	default:
		v = scalar(fd.Kind(), c.dir)
		if fd.Kind() == protoreflect.BytesKind {
			v = bytesSchema(says.encoding, c.dir)
		}
	}
	if !says.any() {
		return v
	}
	w := *v
	says.apply(c, fd, &w)
	return &w
}

func (c *cache) oneof(info *messageInfo, od protoreflect.OneofDescriptor) string {
	const most = 8
	required := c.dir != output && !info.lax && oneofRequired(od)
	facts := info.facts.read()
	var names []string
	for i := range od.Fields().Len() {
		fd := od.Fields().Get(i)
		name := fd.JSONName()
		if shape := info.facts.shape(); shape != nil {
			name = shape.Fields[fd.Index()].Name
		}
		if name != "" && facts[fd.Index()].travels(c.dir) {
			names = append(names, strings.Map(visible, name))
		}
	}
	name := clip(string(od.Name()), maxNameText)
	if len(names) == 1 {
		return fmt.Sprintf("The only member of oneof %s%s.", name, when(required, ", which must be set"))
	}
	if c.full && len(names) <= maxGroup {
		whole := true
		for _, n := range names {
			whole = whole && validKey(n)
		}
		if whole {
			info.groups = append(info.groups, group{names: names, required: required})
		}
	}
	count := "at most one of"
	if required {
		count = "exactly one of"
	}
	return fmt.Sprintf("Oneof %s: %s %s.", name, count, sample(names, most, 4*maxNameText))
}

// validKey reports whether hosts accept a property of the name
// (^[a-zA-Z0-9_.-]{1,64}$).
func validKey(name string) bool {
	if name == "" || len(name) > 64 {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !isAlphanumeric(c) && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
