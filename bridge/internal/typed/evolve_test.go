package typed_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typed"
)

// evolution is a server that changes at random.
type evolution struct {
	*rand.Rand

	tools map[string]*object
}

// object is the schema of an object that changes.
type object struct {
	properties map[string]any
	required   []string
}

func (o *object) MarshalJSON() ([]byte, error) {
	m := map[string]any{"type": "object", "properties": o.properties}
	if len(o.required) > 0 {
		m["required"] = o.required
	}
	return json.Marshal(m)
}

func newEvolution(seed uint64) *evolution {
	return &evolution{rand.New(rand.NewPCG(seed, 1)), make(map[string]*object)}
}

func choose[T any](e *evolution, all ...T) T { return all[e.IntN(len(all))] }

var propertyNames = []string{"a", "b", "fooBar", "foo_bar", "foo-bar", "extra", "variant", "a_entry", "A", "value", "[x]", "items", "item", "has_a", "items_size"}

func (e *evolution) schema(depth int) any {
	kinds := 13
	if depth > 2 {
		kinds = 7
	}
	switch e.IntN(kinds) {
	case 0:
		return map[string]any{"type": "string"}
	case 1:
		return map[string]any{"type": "integer"}
	case 2:
		return map[string]any{"type": "number"}
	case 3:
		return map[string]any{"type": "boolean"}
	case 4:
		return map[string]any{}
	case 5, 6:
		literals := []string{"red", "green", "Red", "dark blue", "darkBlue", "x", "y"}
		e.Shuffle(len(literals), func(i, j int) { literals[i], literals[j] = literals[j], literals[i] })
		return map[string]any{"enum": literals[:2+e.IntN(5)]}
	case 7:
		return map[string]any{"type": "array", "items": e.schema(depth + 1)}
	case 8:
		return map[string]any{"type": "object", "additionalProperties": e.schema(depth + 1)}
	case 9:
		return map[string]any{"type": "object"}
	case 10:
		var all []any
		for _, tag := range []string{"one", "two", "variant"}[:2+e.IntN(2)] {
			o := e.object(depth + 1)
			o.properties["kind"] = map[string]any{"const": tag}
			o.required = []string{"kind"}
			all = append(all, o)
		}
		return map[string]any{"oneOf": all}
	default:
		return e.object(depth + 1)
	}
}

func (e *evolution) object(depth int) *object {
	o := &object{properties: make(map[string]any)}
	for range 1 + e.IntN(4) {
		o.properties[choose(e, propertyNames...)] = e.schema(depth)
	}
	return o
}

// step changes something.
func (e *evolution) step() {
	for range 1 + e.IntN(3) {
		name := choose(e, "search", "stream_search", "get", "Get", "search_request", "x")
		o := e.tools[name]
		switch {
		case o == nil:
			e.tools[name] = e.object(0)
		case e.IntN(6) == 0:
			delete(e.tools, name)
		default:
			e.change(o, 0)
		}
	}
}

func (e *evolution) change(o *object, depth int) {
	names := slices.Sorted(maps.Keys(o.properties))
	if len(names) == 0 || e.IntN(3) == 0 {
		o.properties[choose(e, propertyNames...)] = e.schema(depth)
		return
	}
	name := choose(e, names...)
	inner, nested := o.properties[name].(*object)
	switch n := e.IntN(6); {
	case n == 0:
		delete(o.properties, name)
	case n < 4 && nested:
		e.change(inner, depth+1)
	default:
		o.properties[name] = e.schema(depth)
	}
}

func (e *evolution) server(t *testing.T) typed.Server {
	t.Helper()
	s := typed.Server{Name: "evolution"}
	names := slices.Sorted(maps.Keys(e.tools))
	e.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i, name := range names {
		schema, err := json.Marshal(e.tools[name])
		if err != nil {
			t.Fatal(err)
		}
		tool := typed.Tool{Name: name, Input: schema}
		if i%2 == 0 {
			tool.Output = schema
		}
		s.Tools = append(s.Tools, tool)
	}
	return s
}

// ledger remembers what every number ever meant.
type ledger map[string]string

// enter notes the fields and values of a file, and reports those whose numbers
// meant something else before.
func (l ledger) enter(t *testing.T, fd protoreflect.FileDescriptor) {
	t.Helper()
	note := func(key, meaning string) {
		if was, ok := l[key]; ok && was != meaning {
			t.Errorf("%s was %s, and is now %s", key, was, meaning)
		}
		l[key] = meaning
	}
	enums := func(all protoreflect.EnumDescriptors) {
		for i := range all.Len() {
			for j := range all.Get(i).Values().Len() {
				v := all.Get(i).Values().Get(j)
				note(fmt.Sprintf("enum %s %d", all.Get(i).FullName(), v.Number()), string(v.Name()))
			}
		}
	}
	var messages func(all protoreflect.MessageDescriptors)
	messages = func(all protoreflect.MessageDescriptors) {
		for i := range all.Len() {
			md := all.Get(i)
			if md.IsMapEntry() {
				continue
			}
			for j := range md.Fields().Len() {
				f := md.Fields().Get(j)
				meaning := fmt.Sprintf("%s %s %s", f.Name(), f.Kind(), f.Cardinality())
				if f.Message() != nil && !f.IsMap() {
					meaning += " " + string(f.Message().FullName())
				}
				note(fmt.Sprintf("%s %d", md.FullName(), f.Number()), meaning)
			}
			enums(md.Enums())
			messages(md.Messages())
		}
	}
	for i := range fd.Services().Len() {
		for j := range fd.Services().Get(i).Methods().Len() {
			md := fd.Services().Get(i).Methods().Get(j)
			note(string(md.FullName()), string(md.Input().FullName())+" "+string(md.Output().FullName()))
		}
	}
	messages(fd.Messages())
}

// evolutions is how many servers change: raise it to look for rare faults.
const evolutions = 5

// TestEvolution tests that names and numbers never change, whatever a server
// does, that what comes of it compiles, and that lost locks are recovered.
func TestEvolution(t *testing.T) {
	t.Parallel()
	for seed := range uint64(evolutions) {
		e := newEvolution(seed)
		numbers := make(ledger)
		var lock *typed.Lock
		for range 10 {
			e.step()
			server := e.server(t)
			plan, fd := newPlan(t, server, typed.Options{Lock: lock})
			numbers.enter(t, fd)
			text := typed.Render(fd)
			compiled := compile(t, map[string]string{fd.Path(): string(text)}, fd.Path())[0]
			locked, err := plan.Lock.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			if lock, err = typed.ParseLock(locked); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if _, err := typed.RecoverLock(compiled); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if _, again := newPlan(t, server, typed.Options{Lock: lock}); string(typed.Render(again)) != string(text) {
				t.Errorf("seed %d: the second plan of the same server is another", seed)
			}
			checkHashed(t, server)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// checkHashed tests that without a lock all depends on the tool alone, but for
// names that collide.
func checkHashed(t *testing.T, server typed.Server) {
	t.Helper()
	_, all := newPlan(t, server, typed.Options{Hashed: true})
	slices.Reverse(server.Tools)
	_, reversed := newPlan(t, server, typed.Options{Hashed: true})
	for _, c := range append(typed.Compare(all, reversed), typed.Compare(reversed, all)...) {
		t.Errorf("in another order: %s", c.Text)
	}
}

// TestBreaking tests that what counts as breaking here does so for buf, and that
// nothing ever breaks the wire.
func TestBreaking(t *testing.T) {
	t.Parallel()
	before, after := newWorkspace(t), newWorkspace(t)
	breaks := make(map[string]bool)
	for seed := range uint64(40) {
		e := newEvolution(1000 + seed)
		for range 1 + e.IntN(6) {
			e.step()
		}
		pkg := fmt.Sprintf("evolution%d.v1", seed)
		first, old := newPlan(t, e.server(t), typed.Options{Package: pkg})
		if seed%3 == 0 {
			for name, o := range e.tools {
				o.properties["new"] = map[string]any{"type": "string"}
				e.tools[name] = o
			}
		} else {
			e.step()
		}
		_, now := newPlan(t, e.server(t), typed.Options{Lock: first.Lock})
		path := "proto/" + now.Path()
		before.write(t, path, string(typed.Render(old)))
		after.write(t, path, string(typed.Render(now)))
		breaks[path] = slices.ContainsFunc(typed.Compare(old, now), func(c typed.Change) bool { return c.Breaking })
	}
	for _, use := range []string{"FILE", "WIRE_JSON"} {
		config := `{"version":"v2","modules":[{"path":"proto"},{"path":"imports"}],"breaking":{"use":["` + use + `"]}}`
		out, _ := after.run(t, "breaking", "--config", config, "--against", before.dir, "--error-format", "json")
		found := make(map[string]string)
		for line := range strings.Lines(out) {
			var problem struct{ Path, Message string }
			if err := json.Unmarshal([]byte(line), &problem); err != nil {
				t.Fatalf("buf breaking: %s", out)
			}
			found[problem.Path] += problem.Message + "\n"
		}
		for path, breaking := range breaks {
			switch {
			case use == "WIRE_JSON" && found[path] != "":
				t.Errorf("%s breaks the wire:\n%s", path, found[path])
			case use == "FILE" && breaking != (found[path] != ""):
				t.Errorf("%s breaks: we say %t, but buf says:\n%s", path, breaking, found[path])
			}
		}
		if use == "FILE" && (len(found) == 0 || len(found) == len(breaks)) {
			t.Errorf("%d of %d changes break; the test needs some of each", len(found), len(breaks))
		}
	}
}

// TestRequiredIsReported: whether a list is in the JSON when it is empty is worth a
// word, and breaks nobody.
func TestRequiredIsReported(t *testing.T) {
	t.Parallel()
	result := func(required string) protoreflect.FileDescriptor {
		schema := `{"type":"object","properties":{"names":{"type":"array","items":{"type":"string"}}},"required":[` + required + `]}`
		_, fd := newPlan(t, typed.Server{Name: "s", Tools: []typed.Tool{{Name: "list", Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(schema)}}}, typed.Options{})
		return fd
	}
	loose, strict := result(""), result(`"names"`)
	for _, tt := range []struct {
		old, now protoreflect.FileDescriptor
		want     string
	}{
		{loose, strict, "is now always in the JSON"},
		{strict, loose, "is no longer in the JSON when it is empty"},
	} {
		changes := typed.Compare(tt.old, tt.now)
		if len(changes) != 1 || changes[0].Breaking || !strings.Contains(changes[0].Text, tt.want) {
			t.Errorf("%+v, want one with %q that does not break", changes, tt.want)
		}
	}
}
