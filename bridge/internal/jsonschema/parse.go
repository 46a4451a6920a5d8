package jsonschema

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// Document is a schema with everything that it refers to. It is not for
// concurrent use.
type Document struct {
	root    *Schema
	data    []byte
	id      string
	schemas int
	// found are the schemas that references have led to, by pointer, and
	// anchors the pointers of anchors.
	found    map[string]*Schema
	anchors  map[string]string
	warnings []string
	limited  bool
}

// maxWarnings bounds how many warnings a schema can make, and maxShown how much
// each repeats of it.
const (
	maxWarnings = 20
	maxShown    = 200
)

// Parse reads a schema. It is an error if the text is no JSON object or
// boolean, and a [*LimitError] if it is longer than [MaxBytes] or holds more
// than [MaxSchemas].
func Parse(data []byte) (*Document, error) {
	if len(data) > MaxBytes {
		return nil, &LimitError{fmt.Sprintf("it has %d bytes; the limit is %d", len(data), MaxBytes)}
	}
	data = bytes.Trim(data, " \t\r\n")
	if err := jsontok.Valid(data, jsontok.Limits{}); err != nil {
		return nil, fmt.Errorf("the schema is no JSON: %w", err)
	}
	if kind := jsontok.KindOf(data); kind != jsontok.KindObject && kind != jsontok.KindBool {
		return nil, fmt.Errorf("a schema is an object, not a JSON %s", kind)
	}
	d := &Document{data: data, found: make(map[string]*Schema), anchors: make(map[string]string)}
	if id, ok := jsontok.Lookup(data, "$id"); ok {
		d.id, _ = jsontok.String(id)
	}
	d.root = d.schema(data, "")
	d.found[""] = d.root
	if d.limited {
		return nil, &LimitError{fmt.Sprintf("it holds more than %d schemas", MaxSchemas)}
	}
	return d, nil
}

// Root returns the outermost schema.
func (d *Document) Root() *Schema { return d.root }

// Warnings say what was left out of the document so far.
func (d *Document) Warnings() []string { return d.warnings }

func (d *Document) warn(pointer, format string, args ...any) {
	if len(d.warnings) < maxWarnings {
		d.warnings = append(d.warnings, fmt.Sprintf("#%s: %s", clip.Text(pointer, maxShown), fmt.Sprintf(format, args...)))
	}
}

// schema reads a schema. What is none is taken for one that says nothing.
func (d *Document) schema(data []byte, pointer string) *Schema {
	s := &Schema{Pointer: pointer}
	if d.schemas++; d.schemas > MaxSchemas {
		d.limited = true
		return s
	}
	switch jsontok.KindOf(data) {
	case jsontok.KindBool:
		s.Never = data[0] == 'f'
	case jsontok.KindObject:
		err := jsontok.Object(data, func(key, value []byte) error {
			if !d.keyword(s, string(key), value) {
				d.warn(pointer, "the value of %q is none for this keyword, which is ignored", clip.Text(string(key), maxShown))
			}
			return nil
		})
		if err != nil {
			d.warn(pointer, "%v", err)
		}
		settle(&s.Minimum, &s.ExclusiveMinimum)
		settle(&s.Maximum, &s.ExclusiveMaximum)
	default:
		d.warn(pointer, "a schema is an object or a boolean, not a JSON %s", jsontok.KindOf(data))
	}
	return s
}

// keyword reads one keyword, and reports whether its value is valid.
func (d *Document) keyword(s *Schema, key string, value []byte) bool {
	at := s.Pointer + "/" + escape(key)
	switch key {
	case "$ref", "$dynamicRef", "$recursiveRef":
		return text(value, &s.Ref)
	case "$anchor", "$dynamicAnchor":
		var name string
		ok := text(value, &name)
		d.anchors[name] = s.Pointer
		return ok
	case "title":
		return text(value, &s.Title)
	case "description":
		return text(value, &s.Description)
	case "deprecated":
		return flag(value, &s.Deprecated)
	case "default":
		s.Default = value
	case "type":
		return types(value, &s.Types)
	case "enum":
		return list(value, func(_ int, v []byte) { s.Enum = append(s.Enum, v) }) && s.Enum != nil
	case "const":
		s.Const = value
	case "format":
		return text(value, &s.Format)
	case "contentEncoding":
		return text(value, &s.ContentEncoding)
	case "pattern":
		return text(value, &s.Pattern)
	case "uniqueItems":
		return flag(value, &s.UniqueItems)
	case "items":
		// Before 2020-12, a list had the place of prefixItems.
		if jsontok.KindOf(value) == jsontok.KindArray {
			return d.schemaList(value, at, &s.PrefixItems)
		}
		return d.child(value, at, &s.Items)
	case "prefixItems":
		return d.schemaList(value, at, &s.PrefixItems)
	case "allOf":
		return d.schemaList(value, at, &s.AllOf)
	case "anyOf":
		return d.schemaList(value, at, &s.AnyOf)
	case "oneOf":
		return d.schemaList(value, at, &s.OneOf)
	case "$defs", "definitions":
		// They are read when something refers to them, but for anchors.
		return d.definitions(value, at)
	default:
		return d.objectKeyword(s, key, at, value) && numbers(s, key, value)
	}
	return true
}

// objectKeyword reads keywords about objects and those that apply schemas.
func (d *Document) objectKeyword(s *Schema, key, at string, value []byte) bool {
	switch key {
	case "properties":
		return d.properties(value, at, &s.Properties)
	case "patternProperties":
		return d.properties(value, at, &s.PatternProperties)
	case "dependentSchemas":
		return d.properties(value, at, &s.DependentSchemas)
	case "dependencies":
		// Before 2019-09: schemas, or lists of what is required.
		return members(value, func(name string, v []byte) {
			if jsontok.KindOf(v) != jsontok.KindArray {
				s.DependentSchemas = append(s.DependentSchemas, Property{name, d.schema(v, at+"/"+escape(name))})
			}
		})
	case "required":
		if jsontok.KindOf(value) == jsontok.KindBool { // draft-03
			return true
		}
		return list(value, func(_ int, v []byte) {
			var name string
			if text(v, &name) {
				s.Required = append(s.Required, name)
			}
		})
	case "additionalProperties":
		return d.child(value, at, &s.AdditionalProperties)
	case "unevaluatedProperties":
		return d.child(value, at, &s.UnevaluatedProperties)
	case "propertyNames":
		return d.child(value, at, &s.PropertyNames)
	case "not":
		return d.child(value, at, &s.Not)
	case "if":
		return d.child(value, at, &s.If)
	case "then":
		return d.child(value, at, &s.Then)
	case "else":
		return d.child(value, at, &s.Else)
	case "contains", "minContains", "maxContains", "unevaluatedItems", "additionalItems", "dependentRequired",
		"contentMediaType", "contentSchema":
		s.Other = append(s.Other, key)
	}
	return true
}

// numbers reads keywords whose values are numbers.
func numbers(s *Schema, key string, value []byte) bool {
	switch key {
	case "minimum":
		return number(value, &s.Minimum)
	case "maximum":
		return number(value, &s.Maximum)
	case "exclusiveMinimum":
		return exclusive(value, &s.ExclusiveMinimum)
	case "exclusiveMaximum":
		return exclusive(value, &s.ExclusiveMaximum)
	case "multipleOf":
		return number(value, &s.MultipleOf)
	case "minLength":
		return count(value, &s.MinLength)
	case "maxLength":
		return count(value, &s.MaxLength)
	case "minItems":
		return count(value, &s.MinItems)
	case "maxItems":
		return count(value, &s.MaxItems)
	case "minProperties":
		return count(value, &s.MinProps)
	case "maxProperties":
		return count(value, &s.MaxProps)
	}
	return true
}

func (d *Document) child(value []byte, at string, to **Schema) bool {
	*to = d.schema(value, at)
	return true
}

func (d *Document) schemaList(value []byte, at string, to *[]*Schema) bool {
	return list(value, func(i int, v []byte) { *to = append(*to, d.schema(v, at+"/"+strconv.Itoa(i))) })
}

func (d *Document) properties(value []byte, at string, to *[]Property) bool {
	return members(value, func(name string, v []byte) {
		*to = append(*to, Property{name, d.schema(v, at+"/"+escape(name))})
	})
}

// definitions notes the anchors of definitions.
func (d *Document) definitions(value []byte, at string) bool {
	return members(value, func(name string, v []byte) {
		for _, key := range []string{"$anchor", "$dynamicAnchor"} {
			if raw, ok := jsontok.Lookup(v, key); ok {
				if anchor, ok := jsontok.String(raw); ok {
					d.anchors[anchor] = at + "/" + escape(name)
				}
			}
		}
	})
}

// errStop ends a walk early.
var errStop = errors.New("stop")

// list visits the elements of an array, up to more than any schema may have. It
// reports whether the value is one.
func list(value []byte, visit func(i int, v []byte)) bool {
	if jsontok.KindOf(value) != jsontok.KindArray {
		return false
	}
	err := jsontok.Array(value, func(i int, v []byte) error {
		if i > MaxSchemas {
			return errStop
		}
		visit(i, v)
		return nil
	})
	return err == nil || errors.Is(err, errStop)
}

func members(value []byte, visit func(name string, v []byte)) bool {
	return jsontok.KindOf(value) == jsontok.KindObject && jsontok.Object(value, func(key, v []byte) error {
		visit(string(key), v)
		return nil
	}) == nil
}

func text(value []byte, to *string) bool {
	s, ok := jsontok.String(value)
	if ok {
		*to = s
	}
	return ok
}

func flag(value []byte, to *bool) bool {
	*to = string(value) == "true"
	return jsontok.KindOf(value) == jsontok.KindBool
}

func types(value []byte, to *Types) bool {
	one := func(v []byte) bool {
		name, ok := jsontok.String(v)
		*to |= typeNames[name]
		return ok && typeNames[name] != 0
	}
	if jsontok.KindOf(value) != jsontok.KindArray {
		return one(value)
	}
	valid := true
	return list(value, func(_ int, v []byte) { valid = one(v) && valid }) && valid
}

func number(value []byte, to *string) bool {
	*to = string(value)
	return jsontok.KindOf(value) == jsontok.KindNumber
}

// exclusive reads an exclusive bound. In draft-04, which some servers still
// send, it is a boolean beside the bound.
func exclusive(value []byte, to *string) bool {
	*to = string(value)
	kind := jsontok.KindOf(value)
	return kind == jsontok.KindNumber || kind == jsontok.KindBool
}

// settle turns exclusive bounds that are booleans into numbers.
func settle(bound, exclusive *string) {
	switch *exclusive {
	case "true":
		*bound, *exclusive = "", *bound
	case "false":
		*exclusive = ""
	}
}

func count(value []byte, to **uint64) bool {
	n, err := strconv.ParseUint(string(value), 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(string(value), 64)
		if ferr != nil || f < 0 || f >= 1<<63 || f != float64(uint64(f)) {
			return false
		}
		n = uint64(f)
	}
	*to = &n
	return true
}
