package typed

import "github.com/mcp-bridge/mcp-bridge/bridge/internal/jsonschema"

// kind is what a value of a schema becomes in protobuf.
type kind int

const (
	kindValue  kind = iota // google.protobuf.Value: any JSON
	kindStruct             // google.protobuf.Struct: any object
	kindList               // google.protobuf.ListValue: any array
	kindNull
	kindString
	kindInt64
	kindUint64
	kindDouble
	kindBool
	kindEnum
	kindMessage
	kindRepeated
	kindMap
)

// shape is what a schema says of its values, as far as protobuf can say it.
type shape struct {
	kind kind
	// elem is set for kindRepeated and kindMap.
	elem *shape
	// object is set for kindMessage, literals for kindEnum.
	object   *object
	literals []literal
	nullable bool
	// constant is the only value there is, as JSON, or nil.
	constant []byte
	// schema is where the shape is from, for comments and rules.
	schema *jsonschema.Schema
}

// literal is a string of an enum.
type literal struct{ text, doc string }

// object is what a message is made of.
type object struct {
	// origin is the pointer of the schema, where references led to it. Such a
	// message is shared by all of the tool.
	origin string
	shared bool
	doc    string
	// members are those with names, extra is the shape of others, and of
	// Value's where it is nil and open is set.
	members []member
	extra   *shape
	// tag is the member by which one of the variants is chosen.
	tag      string
	variants []variant
	// bare is set for a message that stands for the value of its only member.
	bare bool
}

type member struct {
	name     string
	shape    *shape
	schema   *jsonschema.Schema
	required bool
}

type variant struct {
	literal string
	shape   *shape
}

// isScalar reports whether fields of the kind need "optional" to tell whether
// they are set.
func (k kind) isScalar() bool {
	switch k {
	case kindNull, kindString, kindInt64, kindUint64, kindDouble, kindBool, kindEnum:
		return true
	default:
		return false
	}
}
