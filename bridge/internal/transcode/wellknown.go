package transcode

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// wellKnown are the message types whose JSON is not that of their fields.
type wellKnown int

const (
	wktNone wellKnown = iota
	wktAny
	wktTimestamp
	wktDuration
	wktFieldMask
	wktStruct
	wktValue
	wktListValue
	wktWrapper
)

// wellKnownOf tells which well-known type md is.
func wellKnownOf(md protoreflect.MessageDescriptor) wellKnown {
	name, ok := strings.CutPrefix(string(md.FullName()), "google.protobuf.")
	if !ok {
		return wktNone
	}
	switch name {
	case "Any":
		return wktAny
	case "Timestamp":
		return wktTimestamp
	case "Duration":
		return wktDuration
	case "FieldMask":
		return wktFieldMask
	case "Struct":
		return wktStruct
	case "Value":
		return wktValue
	case "ListValue":
		return wktListValue
	case "BoolValue", "Int32Value", "Int64Value", "UInt32Value", "UInt64Value",
		"FloatValue", "DoubleValue", "StringValue", "BytesValue":
		return wktWrapper
	default:
		return wktNone
	}
}

// inAnyValue reports whether an Any holds the JSON of a message in the member
// "value", rather than beside "@type". Parsers expect that of Empty too,
// which is written without.
func (p *plan) inAnyValue() bool { return p.wkt != wktNone || p.isValue() || p.isUnion() }

// Bounds of the specification of Timestamp and Duration.
const (
	minTimestampSeconds = -62135596800
	maxTimestampSeconds = 253402300799
	maxDurationSeconds  = 315576000000
	nanosPerSecond      = 1_000_000_000
)

// camelCase and snakeCase convert a path of a FieldMask as ProtoJSON does.
func camelCase(s string) string {
	b := make([]byte, 0, len(s))
	upper := false
	for i := range len(s) {
		c := s[i]
		if c == '_' {
			upper = true
			continue
		}
		if upper && 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		upper = false
		b = append(b, c)
	}
	return string(b)
}

func snakeCase(s string) string {
	b := make([]byte, 0, len(s)+4)
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			b = append(b, '_')
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return string(b)
}
