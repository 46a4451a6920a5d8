package typed

import (
	"regexp"
	"strconv"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/jsonschema"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// setRules adds the constraints of a field as rules of protovalidate.
func (b *builder) setRules(options *descriptorpb.FieldOptions, f *field) {
	if f.oneof {
		return
	}
	rules := valueRules(f.shape)
	switch f.shape.kind {
	case kindRepeated, kindMap:
		// Whoever leaves it out has none, and not too few.
		if !f.required && (rules.GetRepeated().GetMinItems() > 0 || rules.GetMap().GetMinPairs() > 0) {
			rules.Ignore = validate.Ignore_IGNORE_IF_ZERO_VALUE.Enum()
		}
	case kindValue, kindNull:
	default:
		if f.required {
			rules.Required = new(true)
		}
	}
	if proto.Size(rules) == 0 {
		return
	}
	b.imports[validateProto] = true
	proto.SetExtension(options, validate.E_Field, rules)
}

// valueRules returns the rules for values of a shape.
func valueRules(of *shape) *validate.FieldRules {
	s := of.schema
	rules := &validate.FieldRules{}
	switch of.kind {
	case kindString:
		if r := stringRules(of); proto.Size(r) > 0 {
			rules.Type = &validate.FieldRules_String_{String_: r}
		}
	case kindInt64:
		if r := int64Rules(of); proto.Size(r) > 0 {
			rules.Type = &validate.FieldRules_Int64{Int64: r}
		}
	case kindDouble:
		if r := doubleRules(of); proto.Size(r) > 0 {
			rules.Type = &validate.FieldRules_Double{Double: r}
		}
	case kindBool:
		if of.constant != nil {
			rules.Type = &validate.FieldRules_Bool{Bool: &validate.BoolRules{Const: new(string(of.constant) == "true")}}
		}
	case kindRepeated:
		least, most := possible(s.MinItems, s.MaxItems)
		r := &validate.RepeatedRules{MinItems: least, MaxItems: most}
		if s.UniqueItems && of.elem.kind.isScalar() {
			r.Unique = new(true)
		}
		if items := valueRules(of.elem); proto.Size(items) > 0 {
			r.Items = items
		}
		if proto.Size(r) > 0 {
			rules.Type = &validate.FieldRules_Repeated{Repeated: r}
		}
	case kindMap:
		least, most := possible(s.MinProps, s.MaxProps)
		r := &validate.MapRules{MinPairs: least, MaxPairs: most}
		if values := valueRules(of.elem); proto.Size(values) > 0 {
			r.Values = values
		}
		if proto.Size(r) > 0 {
			rules.Type = &validate.FieldRules_Map{Map: r}
		}
	default: // their values are checked by their own types, or by the server
	}
	return rules
}

// possible returns the bounds of a length or a number, or none where nothing is within
// them: buf lint refuses such rules, and the server says what is wrong.
func possible(least, most *uint64) (*uint64, *uint64) {
	if least != nil && most != nil && *least > *most {
		return nil, nil
	}
	return least, most
}

// maxPattern bounds regular expressions: they are compiled by every client.
const maxPattern = 1_000

func stringRules(of *shape) *validate.StringRules {
	s := of.schema
	least, most := possible(s.MinLength, s.MaxLength)
	r := &validate.StringRules{MinLen: least, MaxLen: most}
	if least != nil && most != nil && *least == *most {
		r = &validate.StringRules{Len: least} // buf lint wants it so
	}
	if isRE2(s.Pattern) {
		r.Pattern = new(s.Pattern)
	}
	switch s.Format {
	case "email":
		r.WellKnown = &validate.StringRules_Email{Email: true}
	case "hostname":
		r.WellKnown = &validate.StringRules_Hostname{Hostname: true}
	case "ipv4":
		r.WellKnown = &validate.StringRules_Ipv4{Ipv4: true}
	case "ipv6":
		r.WellKnown = &validate.StringRules_Ipv6{Ipv6: true}
	case "uri":
		r.WellKnown = &validate.StringRules_Uri{Uri: true}
	case "uri-reference":
		r.WellKnown = &validate.StringRules_UriRef{UriRef: true}
	case "uuid":
		r.WellKnown = &validate.StringRules_Uuid{Uuid: true}
	}
	if text, ok := jsontok.String(of.constant); ok && of.constant != nil {
		return &validate.StringRules{Const: new(text)}
	}
	return r
}

// isRE2 reports whether a pattern means the same to RE2 as to JSON Schema, as
// far as that can be told.
func isRE2(pattern string) bool {
	if pattern == "" || len(pattern) > maxPattern || strings.Contains(strings.ReplaceAll(pattern, "(?:", ""), "(?") {
		return false
	}
	// White space of RE2 is ASCII, and [] and [^] begin a class that goes on.
	for _, escape := range []string{`\z`, `\A`, `\Q`, `\E`, `\C`, `\p`, `\P`, `\a`, `\s`, `\S`, `\x{`, "[:", "[]", "[^]"} {
		if strings.Contains(pattern, escape) {
			return false
		}
	}
	_, err := regexp.Compile(pattern)
	return err == nil
}

func int64Rules(of *shape) *validate.Int64Rules {
	s := of.schema
	r := &validate.Int64Rules{}
	if n, ok := integer(string(of.constant)); ok {
		r.Const = new(n)
		return r
	}
	for _, v := range s.Enum {
		if n, ok := integer(string(v)); ok {
			r.In = append(r.In, n)
		}
	}
	if n, ok := integer(s.Minimum); ok {
		r.GreaterThan = &validate.Int64Rules_Gte{Gte: n}
	}
	if n, ok := integer(s.ExclusiveMinimum); ok {
		r.GreaterThan = &validate.Int64Rules_Gt{Gt: n}
	}
	if n, ok := integer(s.Maximum); ok {
		r.LessThan = &validate.Int64Rules_Lte{Lte: n}
	}
	if n, ok := integer(s.ExclusiveMaximum); ok {
		r.LessThan = &validate.Int64Rules_Lt{Lt: n}
	}
	if !inverted(s) {
		return r
	}
	return &validate.Int64Rules{In: r.GetIn()}
}

func doubleRules(of *shape) *validate.DoubleRules {
	s := of.schema
	r := &validate.DoubleRules{}
	if n, ok := double(string(of.constant)); ok {
		r.Const = new(n)
		return r
	}
	for _, v := range s.Enum {
		if n, ok := double(string(v)); ok {
			r.In = append(r.In, n)
		}
	}
	if n, ok := double(s.Minimum); ok {
		r.GreaterThan = &validate.DoubleRules_Gte{Gte: n}
	}
	if n, ok := double(s.ExclusiveMinimum); ok {
		r.GreaterThan = &validate.DoubleRules_Gt{Gt: n}
	}
	if n, ok := double(s.Maximum); ok {
		r.LessThan = &validate.DoubleRules_Lte{Lte: n}
	}
	if n, ok := double(s.ExclusiveMaximum); ok {
		r.LessThan = &validate.DoubleRules_Lt{Lt: n}
	}
	if !inverted(s) {
		return r
	}
	return &validate.DoubleRules{In: r.GetIn()}
}

// inverted reports whether no number is within the bounds. Protovalidate takes
// such bounds for those of what is outside.
func inverted(s *jsonschema.Schema) bool {
	lower, hasLower := double(pick(s.ExclusiveMinimum, s.Minimum))
	upper, hasUpper := double(pick(s.ExclusiveMaximum, s.Maximum))
	return hasLower && hasUpper && lower >= upper
}

func double(text string) (float64, bool) {
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil
}
