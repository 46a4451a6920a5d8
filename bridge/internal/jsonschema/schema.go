// Package jsonschema reads JSON Schemas into small trees, for those who make
// types of them. It knows the keywords of 2020-12 and of draft-07, as servers
// send them; it validates nothing.
//
// [Parse] reads a document, and [Document.Resolve] follows its references. Only
// references within the document are followed: nothing is ever fetched. What is
// no valid keyword is left out and named by [Document.Warnings].
package jsonschema

import (
	"fmt"
	"slices"
)

const (
	// MaxBytes is how long the text of a schema may be.
	MaxBytes = 4 << 20
	// MaxSchemas is how many schemas a document may hold, those that
	// references lead to included.
	MaxSchemas = 20_000
)

// Types is a set of the types of JSON.
type Types uint8

// The types that the keyword "type" names.
const (
	Null Types = 1 << iota
	Boolean
	Integer
	Number
	String
	Array
	Object
)

// Has reports whether all of the types are in the set.
func (t Types) Has(types Types) bool { return t&types == types }

var typeNames = map[string]Types{
	"null": Null, "boolean": Boolean, "integer": Integer, "number": Number,
	"string": String, "array": Array, "object": Object,
}

// Schema is one schema. It is read only. Texts of JSON are sub-slices of the
// document.
type Schema struct {
	// Pointer is where in the document the schema stands, as a JSON pointer
	// (RFC 6901). The root's is empty.
	Pointer string
	// Never is set for the schema false.
	Never bool

	// Ref is the keyword $ref, or $dynamicRef and $recursiveRef, which mean the
	// same within one document.
	Ref string

	Title, Description string
	Deprecated         bool
	Default            []byte

	// Types are those that the keyword names; none means any.
	Types Types
	// Enum has the values of the keyword, and is not nil if it is there. Const
	// is nil if the keyword is not there.
	Enum  [][]byte
	Const []byte

	// Properties are in the order of the document.
	Properties        []Property
	Required          []string
	PatternProperties []Property
	// AdditionalProperties is nil if the keyword is not there.
	AdditionalProperties *Schema
	PropertyNames        *Schema
	DependentSchemas     []Property

	// Items is about the elements after those of PrefixItems.
	Items       *Schema
	PrefixItems []*Schema

	AllOf, AnyOf, OneOf []*Schema
	Not, If, Then, Else *Schema
	// Bounds are the texts of numbers, or empty.
	Minimum, ExclusiveMinimum string
	Maximum, ExclusiveMaximum string
	MultipleOf                string
	MinLength, MaxLength      *uint64
	MinItems, MaxItems        *uint64
	MinProps, MaxProps        *uint64
	UniqueItems               bool
	Pattern, Format           string
	ContentEncoding           string
	UnevaluatedProperties     *Schema

	// Other names keywords that say something of values but are of none of the
	// fields, such as contains.
	Other []string
}

// Property is a schema with a name.
type Property struct {
	Name   string
	Schema *Schema
}

// Property returns the schema of a property, or nil.
func (s *Schema) Property(name string) *Schema {
	for _, p := range s.Properties {
		if p.Name == name {
			return p.Schema
		}
	}
	return nil
}

// Requires reports whether the schema demands a property.
func (s *Schema) Requires(name string) bool {
	return slices.Contains(s.Required, name)
}

// IsConstraint reports whether the schema says nothing of what a value is, only
// which values of a type there may be: it has neither types, nor values, nor
// parts.
func (s *Schema) IsConstraint() bool {
	return !s.Never && s.Types == 0 && s.Ref == "" && s.Enum == nil && s.Const == nil &&
		len(s.Properties) == 0 && len(s.PatternProperties) == 0 && s.AdditionalProperties == nil &&
		s.Items == nil && len(s.PrefixItems) == 0 &&
		len(s.AllOf) == 0 && len(s.AnyOf) == 0 && len(s.OneOf) == 0
}

// IsReference reports whether the schema is a reference, and says nothing else
// of values.
func (s *Schema) IsReference() bool {
	rest := *s
	rest.Ref = ""
	return s.Ref != "" && rest.IsConstraint() && len(s.Required) == 0 && s.Not == nil && s.If == nil && len(s.DependentSchemas) == 0
}

// LimitError says that a document is larger than what is read.
type LimitError struct{ What string }

// Error returns what is too large, and the limit.
func (e *LimitError) Error() string { return fmt.Sprintf("the schema is too large: %s", e.What) }
