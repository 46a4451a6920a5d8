// Package hidden is internal.
package hidden

// Type is a type that other modules cannot name.
type Type struct{}

// Method mentions it.
func (Type) Method(Type) {}
