package typed_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typed"
)

// outputs makes random schemas with values that fit them: nulls and empty lists
// among these.
type outputs struct{ *rand.Rand }

// output is a schema, and makes values of it: what a server says, and what that
// is after it has been a message.
type output struct {
	schema map[string]any
	value  func() (in, out any)
	// sparse is set for what is as if absent when it is empty.
	sparse bool
}

func (o outputs) scalar(typ string, values ...any) output {
	return output{schema: map[string]any{"type": typ}, value: func() (in, out any) {
		v := values[o.IntN(len(values))]
		return v, v
	}}
}

func (o outputs) schema(depth int) output {
	kinds := 10
	if depth > 3 {
		kinds = 5
	}
	switch o.IntN(kinds) {
	case 0:
		return o.scalar("string", "", "x", "null", "\u0000é")
	case 1:
		return o.scalar("integer", 0, -1, 1<<53+1)
	case 2:
		return o.scalar("number", 0, 1.5, -1e300)
	case 3:
		return o.scalar("boolean", true, false)
	case 4:
		all := o.scalar("string", "a", "b c")
		all.schema = map[string]any{"enum": []string{"a", "b c"}}
		return all
	case 5, 6:
		return o.list(depth)
	case 7:
		return o.mapping(depth)
	default:
		return o.object(depth)
	}
}

func (o outputs) list(depth int) output {
	elem := o.schema(depth + 1)
	return output{schema: map[string]any{"type": "array", "items": elem.schema}, sparse: true, value: func() (in, out any) {
		ins, outs := []any{}, []any{}
		for range o.IntN(3) {
			a, b := elem.value()
			ins, outs = append(ins, a), append(outs, b)
		}
		return ins, outs
	}}
}

func (o outputs) mapping(depth int) output {
	elem := o.schema(depth + 1)
	return output{schema: map[string]any{"type": "object", "additionalProperties": elem.schema}, sparse: true, value: func() (in, out any) {
		ins, outs := map[string]any{}, map[string]any{}
		for i := range o.IntN(3) {
			name := fmt.Sprint("k", i)
			ins[name], outs[name] = elem.value()
		}
		return ins, outs
	}}
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	default:
		return false
	}
}

func (o outputs) object(depth int) output {
	type property struct {
		output

		required, nullable bool
	}
	properties, required := map[string]any{}, []string{}
	members := map[string]property{}
	for i := range 1 + o.IntN(4) {
		name := fmt.Sprint("p", i)
		p := property{o.schema(depth + 1), o.IntN(2) == 0, o.IntN(2) == 0}
		members[name], properties[name] = p, p.schema
		if p.required {
			required = append(required, name)
		}
		if p.nullable {
			properties[name] = map[string]any{"anyOf": []any{p.schema, map[string]any{"type": "null"}}}
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "required": required}
	return output{schema: schema, value: func() (in, out any) {
		ins, outs := map[string]any{}, map[string]any{}
		for name, p := range members {
			switch a, b := p.value(); {
			case !p.required && o.IntN(3) == 0:
			case p.nullable && (o.IntN(3) == 0 || p.required && p.sparse && isEmpty(a)):
				// An empty list could not be told from the null.
				if ins[name] = nil; p.required {
					outs[name] = nil
				}
			case !p.required && p.sparse && isEmpty(a):
				ins[name] = a
			default:
				ins[name], outs[name] = a, b
			}
		}
		return ins, outs
	}}
}

// TestOutputs tests that structured content which fits its schema is typed, and
// the same again but for what stands for nothing.
func TestOutputs(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		o := outputs{rand.New(rand.NewPCG(4000+seed, 1))}
		of := o.object(0)
		schema, err := json.Marshal(of.schema)
		if err != nil {
			t.Fatal(err)
		}
		_, fd := newPlan(t, typed.Server{Name: "s", Tools: []typed.Tool{{Name: "t", Output: schema}}}, typed.Options{Hashed: seed%2 == 0})
		md := fd.Messages().ByName("TResponse")
		codec, err := transcode.New(md, nil, transcode.Options{Exact: true})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			a, b := of.value()
			in, inErr := json.Marshal(map[string]any{"structuredContent": a, "content": []any{}})
			want, err := json.Marshal(map[string]any{"structuredContent": b, "content": []any{}})
			if inErr != nil || err != nil {
				t.Fatal(inErr, err)
			}
			wire, err := codec.AppendWire(nil, in)
			if err != nil {
				t.Fatalf("%s\n%s: %v", schema, in, err)
			}
			if !unmarshal(t, md, wire).Has(md.Fields().ByName("structured")) {
				t.Fatalf("%s\n%s is not typed", schema, in)
			}
			out, warnings, err := codec.AppendJSON(nil, wire)
			if err != nil || len(warnings) > 0 || canonical(t, out) != canonical(t, want) {
				t.Fatalf("%s\n%s became\n%s, not\n%s: %q, %v", schema, in, out, want, warnings, err)
			}
		}
	}
}
