package typed

import (
	"slices"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/jsonschema"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// constraintsOut returns the schema without those of oneOf and anyOf that only
// constrain values, such as lists of what is required.
func (c *inference) constraintsOut(s *jsonschema.Schema) *jsonschema.Schema {
	isConstraint := func(s *jsonschema.Schema) bool { return s.IsConstraint() }
	oneOf, anyOf := slices.ContainsFunc(s.OneOf, isConstraint), slices.ContainsFunc(s.AnyOf, isConstraint)
	if !oneOf && !anyOf {
		return s
	}
	out := *s
	// One alternative that says nothing lets everything through.
	if oneOf {
		out.OneOf = nil
	}
	if anyOf {
		out.AnyOf = nil
	}
	return &out
}

// split returns what a schema says beside its alternatives, and these. There
// are none if there are two lists of them.
func split(s *jsonschema.Schema) (base *jsonschema.Schema, branches []*jsonschema.Schema) {
	out := *s
	out.OneOf, out.AnyOf = nil, nil
	if len(s.OneOf) > 0 && len(s.AnyOf) > 0 {
		return &out, nil
	}
	return &out, slices.Concat(s.OneOf, s.AnyOf)
}

// maxBranches is how many alternatives are told apart.
const maxBranches = 200

// isEmpty reports whether a schema, but for its comments, lets everything
// through.
func isEmpty(s *jsonschema.Schema) bool {
	return s.IsConstraint() && len(s.Required) == 0 && s.Not == nil && s.If == nil && len(s.DependentSchemas) == 0
}

// branch is one of several alternatives.
type branch struct {
	// schema is the alternative as it stands, flat what it says together with
	// the schema around it.
	schema, flat *jsonschema.Schema
}

// branches returns the alternatives of a schema but null, and whether that is
// one. It returns false if they cannot be told.
func (c *inference) branches(s *jsonschema.Schema) (all []branch, nullable, ok bool) {
	base, schemas := split(s)
	nullable = base.Types.Has(jsonschema.Null)
	if len(schemas) > maxBranches {
		c.warn(s, "there are more than %d alternatives; any JSON is taken", maxBranches)
		return nil, false, false
	}
	for _, one := range schemas {
		flat := c.flatten(one, 0)
		if flat == nil || !c.spend(1+cost(flat)) {
			return nil, false, false
		}
		if flat.Never {
			continue
		}
		if flat.Types == jsonschema.Null || string(flat.Const) == "null" {
			nullable = nullable || base.Types == 0
			continue
		}
		if isEmpty(base) && base.Types == 0 {
			all = append(all, branch{one, flat})
			continue
		}
		if flat = merge(flat, base); flat == nil {
			return nil, false, false
		}
		all = append(all, branch{flat, flat})
	}
	return all, nullable && len(schemas) > 0, len(all) > 0
}

// alternatives returns the shape of a schema with oneOf or anyOf.
func (c *inference) alternatives(s *jsonschema.Schema, origin string, depth int) *shape {
	out := &shape{schema: s}
	all, nullable, ok := c.branches(s)
	if !ok {
		return out
	}
	if len(all) == 1 {
		found := *c.shape(all[0].schema, depth)
		found.nullable = (found.nullable || nullable) && found.kind != kindValue
		annotated := *found.schema
		annotated.Description = pick(s.Description, annotated.Description)
		annotated.Deprecated = annotated.Deprecated || s.Deprecated
		if s.Default != nil {
			annotated.Default = s.Default
		}
		found.schema = &annotated
		return &found
	}
	out.nullable = nullable
	switch {
	case c.literals(out, all):
	case c.union(out, all, origin, depth):
	case c.sameScalar(out, all):
	default:
		out.nullable = false
	}
	return out
}

// literals makes an enum of alternatives that are all strings with known
// values.
func (c *inference) literals(out *shape, all []branch) bool {
	var found []literal
	seen := make(map[string]bool)
	for _, b := range all {
		values := b.flat.Enum
		if b.flat.Const != nil {
			values = [][]byte{b.flat.Const}
		}
		if len(values) == 0 {
			return false
		}
		for _, v := range values {
			text, ok := jsontok.String(v)
			if !ok {
				return false
			}
			doc := ""
			if len(values) == 1 {
				doc = pick(b.flat.Description, b.flat.Title)
			}
			if !seen[text] {
				found = append(found, literal{text, doc})
			}
			seen[text] = true
		}
	}
	c.enum(out, found)
	return true
}

// sameScalar makes one scalar of alternatives that are all of one type. What
// else they say is left to the server.
func (c *inference) sameScalar(out *shape, all []branch) bool {
	var types jsonschema.Types
	for _, b := range all {
		if b.flat.Types == 0 || len(b.flat.AnyOf)+len(b.flat.OneOf) > 0 {
			return false
		}
		types |= b.flat.Types
		if b.flat.Types == jsonschema.Integer && integerKind(b.flat) != kindInt64 {
			return false
		}
	}
	switch types &^ jsonschema.Null {
	case jsonschema.String:
		out.kind = kindString
	case jsonschema.Integer:
		out.kind = kindInt64
	case jsonschema.Number, jsonschema.Number | jsonschema.Integer:
		out.kind = kindDouble
	case jsonschema.Boolean:
		out.kind = kindBool
	default:
		return false
	}
	out.nullable = out.nullable || types.Has(jsonschema.Null)
	return true
}

// union makes a message of alternatives that are all objects, and that a
// member with a different string in each tells apart.
func (c *inference) union(out *shape, all []branch, origin string, depth int) bool {
	tag := discriminator(all)
	if tag == "" {
		return false
	}
	o := &object{origin: origin, tag: tag, doc: out.schema.Description}
	if origin != "" {
		c.objects[origin] = o
		o.shared = true
	}
	out.kind, out.object = kindMessage, o
	for _, b := range all {
		text := constantString(b.flat.Property(tag))
		var found *shape
		if b.schema.IsReference() {
			found = c.shape(b.schema, depth+1)
		}
		if found == nil || found.kind != kindMessage || found.nullable {
			// The tag is that of the union, and needs no field.
			flat := *b.flat
			flat.Properties = slices.DeleteFunc(slices.Clone(flat.Properties), func(p jsonschema.Property) bool { return p.Name == tag })
			inner := &object{}
			c.fill(inner, &flat, depth+1)
			found = &shape{kind: kindMessage, object: inner, schema: &flat}
		}
		o.variants = append(o.variants, variant{literal: text, shape: found})
	}
	return true
}

// discriminator returns the name of the first property that all of the
// alternatives require, and that has a different string in each.
func discriminator(all []branch) string {
	for _, p := range all[0].flat.Properties {
		seen := make(map[string]bool)
		for _, b := range all {
			isObject := b.flat.Types == jsonschema.Object || b.flat.Types == 0
			if !isObject || len(b.flat.OneOf)+len(b.flat.AnyOf) > 0 || !b.flat.Requires(p.Name) {
				break
			}
			text := constantString(b.flat.Property(p.Name))
			if text == "" || len(text) > maxLiteral || seen[text] {
				break
			}
			seen[text] = true
		}
		if len(seen) == len(all) && p.Name != "" {
			return p.Name
		}
	}
	return ""
}

// constantString returns the only string that a schema allows, or an empty one.
func constantString(s *jsonschema.Schema) string {
	if s == nil {
		return ""
	}
	value := s.Const
	if value == nil && len(s.Enum) == 1 {
		value = s.Enum[0]
	}
	text, _ := jsontok.String(value)
	return text
}

// mergeAlternatives returns an object schema with the properties of all
// alternatives, none of which is required by itself: the server says which go
// together.
func (c *inference) mergeAlternatives(s *jsonschema.Schema) *jsonschema.Schema {
	base, _ := split(s)
	out := *base
	out.Required = slices.Clone(base.Required)
	out.Properties = slices.Clone(base.Properties)
	open := false
	for _, one := range slices.Concat(s.OneOf, s.AnyOf) {
		flat := c.flatten(one, 0)
		if flat == nil || !c.spend(1+cost(flat)) {
			open = true
			continue
		}
		if flat = c.constraintsOut(flat); len(flat.OneOf)+len(flat.AnyOf) > 0 {
			flat = c.mergeAlternatives(flat)
		}
		if out.Types == 0 || flat.Types != 0 {
			out.Types |= flat.Types
		}
		if a := others(flat); a != nil && !a.Never {
			open = true
		}
		out.Properties = mergeProperties(out.Properties, flat.Properties, either)
	}
	if open {
		out.AdditionalProperties = &jsonschema.Schema{Pointer: s.Pointer}
	}
	return &out
}

// either returns the schema of values that fit one or the other.
func either(a, b *jsonschema.Schema) *jsonschema.Schema {
	if a == b {
		return a
	}
	return &jsonschema.Schema{Pointer: b.Pointer, AnyOf: []*jsonschema.Schema{a, b}, Description: pick(a.Description, b.Description)}
}
