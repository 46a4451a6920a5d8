package typed

import (
	"math"
	"strconv"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/jsonschema"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

const (
	// maxLiterals is how many values an enum may have, and maxLiteral how long
	// one of them may be. Beyond, they are strings.
	maxLiterals = 200
	maxLiteral  = 128
)

// values finds the shape of a schema that names all values there are.
func (c *inference) values(out *shape, types jsonschema.Types) {
	s := out.schema
	values := s.Enum
	if s.Const != nil {
		values = [][]byte{s.Const}
	}
	var found jsonschema.Types
	var literals []literal
	for _, v := range values {
		typ := typeOf(v)
		if types != 0 && !accepts(types, typ) && typ != jsonschema.Null {
			continue
		}
		if typ == jsonschema.Null {
			out.nullable = out.nullable || types == 0
			continue
		}
		found |= typ
		if text, ok := jsontok.String(v); ok {
			literals = append(literals, literal{text: text})
		}
	}
	switch found {
	case 0:
		if out.nullable {
			out.kind, out.nullable = kindNull, false
		}
	case jsonschema.String:
		c.enum(out, literals)
	case jsonschema.Boolean:
		out.kind = kindBool
	case jsonschema.Integer:
		out.kind = integerKind(s)
		for _, v := range values {
			if _, ok := integer(string(v)); !ok && typeOf(v) == jsonschema.Integer {
				out.kind = kindDouble
			}
		}
		if types.Has(jsonschema.Number) {
			out.kind = kindDouble
		}
	case jsonschema.Number, jsonschema.Number | jsonschema.Integer:
		out.kind = kindDouble
	default: // of several types, or made of parts
	}
	if len(values) == 1 && (out.kind.isScalar() && out.kind != kindEnum || out.kind == kindValue && found != 0) {
		out.constant = values[0]
	}
	if out.kind == kindValue {
		out.nullable = false
	}
}

// enum makes an enum of strings, or a string where there are too many, or one.
func (c *inference) enum(out *shape, literals []literal) {
	out.kind = kindEnum
	if len(literals) == 1 {
		out.kind = kindString
	}
	if len(literals) > maxLiterals {
		c.warn(out.schema, "it has more values than the %d that an enum may have; any string is taken", maxLiterals)
		out.kind = kindString
	}
	seen := make(map[string]bool)
	for _, l := range literals {
		switch {
		case l.text == "":
			out.kind = kindString
		case len(l.text) > maxLiteral:
			c.warn(out.schema, "one of its values is longer than %d bytes; any string is taken", maxLiteral)
			out.kind = kindString
		}
		if !seen[l.text] && out.kind == kindEnum {
			out.literals = append(out.literals, l)
		}
		seen[l.text] = true
	}
	if out.kind != kindEnum {
		out.literals = nil
	}
}

// typeOf returns the type of a JSON value.
func typeOf(v []byte) jsonschema.Types {
	switch jsontok.KindOf(v) {
	case jsontok.KindNull:
		return jsonschema.Null
	case jsontok.KindBool:
		return jsonschema.Boolean
	case jsontok.KindString:
		return jsonschema.String
	case jsontok.KindArray:
		return jsonschema.Array
	case jsontok.KindObject:
		return jsonschema.Object
	default:
		if strings.ContainsAny(string(v), ".eE") {
			return jsonschema.Number
		}
		return jsonschema.Integer
	}
}

func accepts(types, one jsonschema.Types) bool {
	return types.Has(one) || one == jsonschema.Integer && types.Has(jsonschema.Number)
}

// integerKind returns the kind of integers within the bounds of a schema.
func integerKind(s *jsonschema.Schema) kind {
	signed, unsigned := true, true
	for _, lower := range []string{s.Minimum, s.ExclusiveMinimum} {
		if f, err := strconv.ParseFloat(lower, 64); err == nil && f < -(1<<63) {
			signed, unsigned = false, false
		}
	}
	negative := true
	for _, lower := range []string{s.Minimum, s.ExclusiveMinimum} {
		if f, err := strconv.ParseFloat(lower, 64); err == nil && f >= 0 {
			negative = false
		}
	}
	for _, upper := range []string{s.Maximum, s.ExclusiveMaximum} {
		if upper == "" {
			continue
		}
		// Many programs read numbers as floats: the largest integer of 64 bits is
		// a power of two to them.
		switch f, err := strconv.ParseFloat(upper, 64); {
		case err != nil || f > 1<<64:
			signed, unsigned = false, false
		case f > 1<<63:
			signed = false
		}
	}
	switch {
	case signed:
		return kindInt64
	case unsigned && !negative:
		return kindUint64
	default:
		return kindValue
	}
}

// integer returns the number that a text stands for, if it is an integer of 64
// bits with a sign.
func integer(text string) (int64, bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}
