package shape_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
)

// generator makes values of a schema.
type generator struct {
	*rand.Rand
	defs object
	// share is how many of the optional members there are, of ten.
	share int
}

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

// value makes a value of a schema. Deep down there are no optional members.
func (g *generator) value(schema object, depth int) any {
	choices := alternatives(g.defs, schema)
	schema = choices[g.IntN(len(choices))]
	if c, ok := schema["const"]; ok {
		return c
	}
	if enum, ok := schema["enum"].([]any); ok {
		return pick(g, enum...)
	}
	switch kind, _ := schema["type"].(string); kind {
	case "object":
		return g.object(schema, depth)
	case "array":
		items, _ := schema["items"].(object)
		out := []any{}
		for range min(g.IntN(4), max(depth, 0)) {
			out = append(out, g.value(items, depth-1))
		}
		return out
	case "string":
		if schema["format"] == "byte" {
			return pick(g, "", "AA==", "AQI=", "AQID", "/+8=")
		}
		return pick(g, "", "a", "complete", "task", "input_required", "text", "object", "2026-07-28", "file:///a/b", "caf\u00e9\n\"\\", "\U0001f600", "null", "1")
	case "integer":
		return json.Number(pick(g, "0", "1", "-1", "7", "2147483648", "9007199254740991", "9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "123456789012345678901234567890"))
	case "number":
		return json.Number(pick(g, "0", "1", "0.5", "-0.25", "0.1", "1e3", "95.5", "9007199254740993", "1e-7", "0.1000000000000000000000001"))
	case "boolean":
		return g.IntN(2) == 0
	case "null":
		return nil
	default:
		return g.anything(depth)
	}
}

func (g *generator) object(schema object, depth int) object {
	properties, _ := schema["properties"].(object)
	required := make(map[string]bool)
	list, _ := schema["required"].([]any)
	for _, name := range list {
		required[name.(string)] = true
	}
	out := object{}
	for _, name := range sortedKeys(properties) {
		if required[name] || depth > 0 && g.IntN(10) < g.share {
			out[name] = g.value(properties[name].(object), depth-1)
		}
	}
	others, typed := schema["additionalProperties"].(object)
	if typed && len(others) > 0 {
		for range min(g.IntN(3), max(depth, 0)) {
			out[pick(g, "", "a", "com.example/b", "type", "method")] = g.value(others, depth-1)
		}
		return out
	}
	// Every other object may have members that nobody knows.
	for range g.IntN(3) {
		name := pick(g, "", "x", "com.example/key", "x_json", "extra", "metaJson", "resultType2", "content2", "\u00e9")
		if g.IntN(2) == 0 {
			out[name] = g.anything(depth - 1)
		}
	}
	return out
}

// anything makes any JSON.
func (g *generator) anything(depth int) any {
	switch n := g.IntN(8); {
	case n < 2 && depth > 0:
		out := object{}
		for range g.IntN(4) {
			out[pick(g, "a", "b", "$schema", "type", "properties", "text", "action", "model", "content")] = g.anything(depth - 1)
		}
		return out
	case n < 3 && depth > 0:
		out := []any{}
		for range g.IntN(3) {
			out = append(out, g.anything(depth-1))
		}
		return out
	case n < 4:
		return nil
	case n < 5:
		return g.IntN(2) == 0
	case n < 6:
		return json.Number(pick(g, "0", "-1", "1.5", "9007199254740993", "1e400", "18446744073709551615"))
	default:
		return pick(g, "", "a", "object", "\u2028")
	}
}

// broken changes one member of an object to something else, as a peer may that
// heeds no schema.
func (g *generator) broken(value object) object {
	names := sortedKeys(value)
	if len(names) == 0 {
		return value
	}
	out := maps.Clone(value)
	name := pick(g, names...)
	if inner, ok := out[name].(object); ok && g.IntN(3) > 0 {
		out[name] = g.broken(inner)
	} else {
		out[name] = g.anything(2)
	}
	return out
}
