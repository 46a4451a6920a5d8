package typed

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/jsonschema"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
)

const (
	// maxShapes is how many parts the types of one schema may have, and
	// maxNesting how deep they may be nested.
	maxShapes  = 5_000
	maxNesting = 24
	// maxProperties is how many fields a message may have: compilers of some
	// languages give up at a few thousand.
	maxProperties = 1_000
)

// errTooLarge says that a schema makes too much of too little text.
var errTooLarge = fmt.Errorf("its types have more than %d parts", maxShapes)

// inference finds the shapes of one schema.
type inference struct {
	doc *jsonschema.Document
	// objects are those that references led to, and active the pointers of
	// the references that are being followed.
	objects  map[string]*object
	active   map[string]bool
	shapes   int
	warnings []string
	err      error
}

// inferRoot returns what the fields of a request, or of structured content,
// are. The error says why the schema cannot be used; it does not for parts of
// it, which become Values.
func inferRoot(doc *jsonschema.Document) (*object, []string, error) {
	c := &inference{doc: doc, objects: make(map[string]*object), active: make(map[string]bool)}
	o := c.root(doc.Root())
	return o, append(c.warnings, doc.Warnings()...), c.err
}

func (c *inference) warn(s *jsonschema.Schema, format string, args ...any) {
	const limit = 20
	if len(c.warnings) < limit {
		c.warnings = append(c.warnings, "#"+clip.Text(s.Pointer, 120)+": "+fmt.Sprintf(format, args...))
	}
}

// root makes an object of the outermost schema, whatever it is.
func (c *inference) root(s *jsonschema.Schema) *object {
	o := &object{}
	c.objects[""] = o
	flat := c.flatten(s, 0)
	if flat == nil {
		c.warn(s, "the parts of allOf exclude each other or cannot be told apart; any object is taken")
		o.extra = &shape{schema: s}
		return o
	}
	if rest := c.constraintsOut(flat); len(rest.OneOf)+len(rest.AnyOf) > 0 {
		flat = c.mergeAlternatives(rest)
	} else {
		flat = rest
	}
	if types := flat.Types &^ jsonschema.Null; types != 0 && !types.Has(jsonschema.Object) || flat.Enum != nil || flat.Const != nil {
		o.members = []member{{name: "value", shape: c.legal(c.infer(flat, "", 1), "value"), schema: flat, required: true}}
		o.bare = true
		return o
	}
	c.fill(o, flat, 0)
	return o
}

// shape returns the shape of a schema.
func (c *inference) shape(s *jsonschema.Schema, depth int) *shape {
	value := &shape{schema: s}
	if !c.spend(1) {
		return value
	}
	if depth > maxNesting {
		c.warn(s, "it is nested more than %d deep; any JSON is taken", maxNesting)
		return value
	}
	if !s.IsReference() {
		return c.infer(s, "", depth)
	}
	target, err := c.doc.Resolve(s.Ref)
	if err != nil {
		c.unresolved(s, err)
		return value
	}
	if o := c.objects[target.Pointer]; o != nil {
		o.shared = o.shared || target.Pointer != ""
		return &shape{kind: kindMessage, object: o, schema: s}
	}
	if c.active[target.Pointer] {
		c.warn(s, "the reference leads back to itself, and not through an object; any JSON is taken")
		return value
	}
	c.active[target.Pointer] = true
	defer delete(c.active, target.Pointer)
	found := *c.infer(target, target.Pointer, depth)
	if s.Description != "" || s.Default != nil || s.Deprecated {
		annotated := *found.schema
		annotated.Description = pick(s.Description, annotated.Description)
		annotated.Deprecated = annotated.Deprecated || s.Deprecated
		if s.Default != nil {
			annotated.Default = s.Default
		}
		found.schema = &annotated
	}
	return &found
}

// spend takes from the budget of a schema, and reports whether there was enough.
func (c *inference) spend(parts int) bool {
	if c.shapes += parts; c.shapes > maxShapes {
		c.err = errTooLarge
		return false
	}
	return true
}

func (c *inference) unresolved(s *jsonschema.Schema, err error) {
	if _, limit := errors.AsType[*jsonschema.LimitError](err); limit {
		c.err = err
	}
	c.warn(s, "%v; any JSON is taken", err)
}

// infer returns the shape of a schema that is no plain reference. An object
// gets the origin, if there is one.
func (c *inference) infer(s *jsonschema.Schema, origin string, depth int) *shape {
	flat := c.flatten(s, 0)
	if flat == nil || flat.Never {
		return &shape{schema: s}
	}
	flat = c.constraintsOut(flat)
	if len(flat.OneOf)+len(flat.AnyOf) > 0 {
		return c.alternatives(flat, origin, depth)
	}
	out := &shape{schema: flat}
	types := flat.Types
	if types.Has(jsonschema.Null) && types != jsonschema.Null {
		out.nullable = true
		types &^= jsonschema.Null
	}
	if types.Has(jsonschema.Number) {
		types &^= jsonschema.Integer
	}
	if flat.Enum != nil || flat.Const != nil {
		c.values(out, types)
		return out
	}
	switch implied(flat, types) {
	case jsonschema.Null:
		out.kind = kindNull
	case jsonschema.Boolean:
		out.kind = kindBool
	case jsonschema.Integer:
		out.kind = integerKind(flat)
	case jsonschema.Number:
		out.kind = kindDouble
	case jsonschema.String:
		out.kind = kindString
	case jsonschema.Array:
		c.array(out, depth)
	case jsonschema.Object:
		c.object(out, origin, depth)
	}
	if out.kind == kindValue {
		out.nullable = false // null is among the values
	}
	return out
}

// implied returns the types of a schema, or those that its keywords are about
// where it names none.
func implied(s *jsonschema.Schema, types jsonschema.Types) jsonschema.Types {
	switch {
	case types != 0:
		return types
	case len(s.Properties) > 0 || s.AdditionalProperties != nil || len(s.PatternProperties) > 0:
		return jsonschema.Object
	case s.Items != nil || len(s.PrefixItems) > 0:
		return jsonschema.Array
	default:
		return 0
	}
}

// array finds the shape of an array.
func (c *inference) array(out *shape, depth int) {
	s := out.schema
	if s.Items == nil || s.Items.Never || len(s.PrefixItems) > 0 {
		out.kind = kindList
		return
	}
	out.elem = c.legal(c.shape(s.Items, depth+1), "item")
	out.kind = kindRepeated
	if out.elem.kind == kindValue {
		out.kind, out.elem = kindList, nil
	}
}

// legal returns a shape that elements of lists and values of maps can have,
// with the same JSON.
func (c *inference) legal(s *shape, name string) *shape {
	switch {
	case s.nullable:
		return &shape{schema: s.schema}
	case s.kind == kindRepeated, s.kind == kindMap:
		return &shape{kind: kindMessage, schema: s.schema, object: &object{
			bare:    true,
			members: []member{{name: name, shape: s, schema: s.schema, required: true}},
		}}
	default:
		return s
	}
}

// object finds the shape of an object.
func (c *inference) object(out *shape, origin string, depth int) {
	s := out.schema
	additional := others(s)
	switch {
	case len(s.Properties) > maxProperties:
		c.warn(s, "it has %d properties, more than the %d that a message may have; any object is taken", len(s.Properties), maxProperties)
		out.kind = kindStruct
	case len(c.properties(s)) > 0, additional != nil && additional.Never && len(s.PatternProperties) == 0:
		o := &object{origin: origin}
		if origin != "" {
			c.objects[origin] = o
			o.shared = true
		}
		c.fill(o, s, depth)
		out.kind, out.object = kindMessage, o
	default:
		elem := c.unnamed(s, depth)
		if elem == nil || elem.kind == kindValue {
			out.kind = kindStruct
			return
		}
		out.kind, out.elem = kindMap, elem
	}
}

// others returns what a schema says of the members that it does not name, or
// nil.
func others(s *jsonschema.Schema) *jsonschema.Schema {
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties
	}
	return s.UnevaluatedProperties
}

// unnamed returns the shape of the members that have no names in the schema,
// or nil if it says nothing of them.
func (c *inference) unnamed(s *jsonschema.Schema, depth int) *shape {
	additional := others(s)
	closed := additional == nil || additional.Never
	switch {
	case len(s.PatternProperties) == 0 && closed:
		return nil
	case len(s.PatternProperties) == 1 && closed:
		return c.legal(c.shape(s.PatternProperties[0].Schema, depth+1), "value")
	case len(s.PatternProperties) > 0:
		return &shape{schema: s}
	default:
		return c.legal(c.shape(additional, depth+1), "value")
	}
}

// fill adds the members of an object schema.
func (c *inference) fill(o *object, s *jsonschema.Schema, depth int) {
	o.doc = s.Description
	properties := c.properties(s)
	if len(properties) > maxProperties {
		c.warn(s, "it has %d properties, more than the %d that a message may have; any object is taken", len(properties), maxProperties)
		o.extra = &shape{schema: s}
		return
	}
	nameless := false
	for _, p := range properties {
		if p.Name == "" {
			c.warn(s, "there is a property without a name; it is among the additional ones")
			nameless = true
			continue
		}
		if p.Schema.Never {
			continue
		}
		o.members = append(o.members, member{
			name: p.Name, schema: p.Schema, shape: c.shape(p.Schema, depth+1),
			required: s.Requires(p.Name),
		})
	}
	o.extra = c.unnamed(s, depth)
	if nameless {
		o.extra = &shape{schema: s}
	}
}

// properties returns the properties of a schema, and those that it has under
// conditions.
func (c *inference) properties(s *jsonschema.Schema) []jsonschema.Property {
	conditional := []*jsonschema.Schema{s.Then, s.Else}
	for _, p := range s.DependentSchemas {
		conditional = append(conditional, p.Schema)
	}
	all := s.Properties
	for _, s := range conditional {
		if s == nil {
			continue
		}
		flat := c.flatten(s, 0)
		if flat == nil {
			continue
		}
		for _, p := range flat.Properties {
			if !slices.ContainsFunc(all, func(q jsonschema.Property) bool { return q.Name == p.Name }) {
				all = append(slices.Clip(all), p)
			}
		}
	}
	return all
}

func pick(s, otherwise string) string {
	if s != "" {
		return s
	}
	return otherwise
}
