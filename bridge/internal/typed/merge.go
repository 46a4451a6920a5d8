package typed

import (
	"bytes"
	"slices"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/jsonschema"
)

// maxMerged is how deep references and allOf may be nested in each other.
const maxMerged = 50

// flatten returns the schema without references and allOf: merged with what
// these say. It returns nil where that cannot be said in one schema.
func (c *inference) flatten(s *jsonschema.Schema, depth int) *jsonschema.Schema {
	if s.Ref == "" && len(s.AllOf) == 0 {
		return s
	}
	if depth > maxMerged {
		c.warn(s, "references lead back to themselves")
		return nil
	}
	out := *s
	out.Ref, out.AllOf = "", nil
	parts := s.AllOf
	if s.Ref != "" {
		target, err := c.doc.Resolve(s.Ref)
		if err != nil {
			c.unresolved(s, err)
			return nil
		}
		parts = append([]*jsonschema.Schema{target}, parts...)
	}
	merged := &out
	for _, part := range parts {
		if !c.spend(1) {
			return nil
		}
		flat := c.flatten(part, depth+1)
		if flat == nil || !c.spend(cost(flat)) {
			return nil
		}
		if merged = merge(merged, flat); merged == nil {
			return nil
		}
	}
	return merged
}

// cost is how much of the budget it takes to merge a schema with others.
func cost(s *jsonschema.Schema) int { return (len(s.Properties) + len(s.Enum) + len(s.Required)) / 10 }

// merge returns a schema of the values that fit both, or nil if that cannot be
// said. Constraints may be wider than both together.
func merge(a, b *jsonschema.Schema) *jsonschema.Schema {
	out := *a
	out.Never = a.Never || b.Never
	out.Title = pick(a.Title, b.Title)
	out.Description = pick(a.Description, b.Description)
	out.Deprecated = a.Deprecated || b.Deprecated
	if out.Default == nil {
		out.Default = b.Default
	}
	if out.Types = intersect(a.Types, b.Types); out.Types == 0 && a.Types != 0 && b.Types != 0 {
		return nil
	}
	if !mergeValues(&out, b) || !mergeChoices(&out, b) {
		return nil
	}
	out.Properties = mergeProperties(a.Properties, b.Properties, both)
	out.Required = slices.Concat(a.Required, b.Required)
	out.PatternProperties = slices.Concat(a.PatternProperties, b.PatternProperties)
	out.DependentSchemas = slices.Concat(a.DependentSchemas, b.DependentSchemas)
	out.AdditionalProperties = both(a.AdditionalProperties, b.AdditionalProperties)
	out.UnevaluatedProperties = both(a.UnevaluatedProperties, b.UnevaluatedProperties)
	out.Items = both(a.Items, b.Items)
	if len(a.PrefixItems) > 0 && len(b.PrefixItems) > 0 {
		return nil
	}
	out.PrefixItems = slices.Concat(a.PrefixItems, b.PrefixItems)
	if b.If != nil && a.If == nil {
		out.If, out.Then, out.Else = b.If, b.Then, b.Else
	}
	mergeConstraints(&out, b)
	out.Other = slices.Concat(a.Other, b.Other)
	return &out
}

// mergeProperties returns the properties of both. Those of one name are joined.
func mergeProperties(a, b []jsonschema.Property, join func(a, b *jsonschema.Schema) *jsonschema.Schema) []jsonschema.Property {
	out := slices.Clone(a)
	index := make(map[string]int, len(a)+len(b))
	for i, p := range out {
		index[p.Name] = i
	}
	for _, p := range b {
		if i, ok := index[p.Name]; ok {
			out[i].Schema = join(out[i].Schema, p.Schema)
			continue
		}
		index[p.Name] = len(out)
		out = append(out, p)
	}
	return out
}

// both returns the schema of values that fit both, either of which may be nil.
func both(a, b *jsonschema.Schema) *jsonschema.Schema {
	switch {
	case a == nil || b != nil && b.Never:
		return b
	case b == nil || a.Never || a == b:
		return a
	default:
		return &jsonschema.Schema{Pointer: a.Pointer, AllOf: []*jsonschema.Schema{a, b}}
	}
}

func intersect(a, b jsonschema.Types) jsonschema.Types {
	if a == 0 || b == 0 {
		return a | b
	}
	if a.Has(jsonschema.Number) {
		a |= jsonschema.Integer
	}
	if b.Has(jsonschema.Number) {
		b |= jsonschema.Integer
	}
	return a & b
}

// mergeValues merges enum and const.
func mergeValues(out, b *jsonschema.Schema) bool {
	switch {
	case out.Const == nil:
		out.Const = b.Const
	case b.Const != nil && !bytes.Equal(out.Const, b.Const):
		return false
	}
	switch {
	case out.Enum == nil:
		out.Enum = b.Enum
	case b.Enum != nil:
		var common [][]byte
		values := make(map[string]bool, len(b.Enum))
		for _, v := range b.Enum {
			values[string(v)] = true
		}
		for _, v := range out.Enum {
			if values[string(v)] {
				common = append(common, v)
			}
		}
		out.Enum = common
		return common != nil
	}
	return true
}

// mergeChoices merges oneOf and anyOf, of which there can be one each.
func mergeChoices(out, b *jsonschema.Schema) bool {
	if len(out.OneOf) > 0 && len(b.OneOf) > 0 || len(out.AnyOf) > 0 && len(b.AnyOf) > 0 {
		return false
	}
	out.OneOf = slices.Concat(out.OneOf, b.OneOf)
	out.AnyOf = slices.Concat(out.AnyOf, b.AnyOf)
	return true
}

// mergeConstraints takes over the constraints that are not there yet.
func mergeConstraints(out, b *jsonschema.Schema) {
	for _, p := range []struct{ to, from *string }{
		{&out.Minimum, &b.Minimum},
		{&out.Maximum, &b.Maximum},
		{&out.ExclusiveMinimum, &b.ExclusiveMinimum},
		{&out.ExclusiveMaximum, &b.ExclusiveMaximum},
		{&out.MultipleOf, &b.MultipleOf},
		{&out.Pattern, &b.Pattern},
		{&out.Format, &b.Format},
		{&out.ContentEncoding, &b.ContentEncoding},
	} {
		*p.to = pick(*p.to, *p.from)
	}
	for _, p := range []struct{ to, from **uint64 }{
		{&out.MinLength, &b.MinLength},
		{&out.MaxLength, &b.MaxLength},
		{&out.MinItems, &b.MinItems},
		{&out.MaxItems, &b.MaxItems},
		{&out.MinProps, &b.MinProps},
		{&out.MaxProps, &b.MaxProps},
	} {
		if *p.to == nil {
			*p.to = *p.from
		}
	}
	out.UniqueItems = out.UniqueItems || b.UniqueItems
	if out.Not == nil {
		out.Not = b.Not
	}
	if out.PropertyNames == nil {
		out.PropertyNames = b.PropertyNames
	}
}
