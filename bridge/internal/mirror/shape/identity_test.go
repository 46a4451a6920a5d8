package shape_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/samejson"
)

// compilers are those for which values must stay what they are: with Struct and
// Value where they will do, and with JSON text wherever that is possible.
var compilers = sync.OnceValue(func() []*transcode.Compiler {
	return []*transcode.Compiler{
		transcode.NewCompiler(protoregistry.GlobalTypes, transcode.Options{Exact: true}),
		transcode.NewCompiler(protoregistry.GlobalTypes, transcode.Options{Exact: true, PreferRaw: true}),
	}
})

// checkIdentity checks that JSON is the same after it was a message of Go, in
// either form. Where it is broken, required members that are missing may be
// there, empty, after it.
func checkIdentity(md protoreflect.MessageDescriptor, text []byte, broken bool) error {
	for _, compiler := range compilers() {
		codec, err := compiler.Codec(md)
		if err != nil {
			return err
		}
		wire, err := codec.AppendWire(nil, text)
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		if err := checkWritten(codec, wire, text, broken); err != nil {
			return err
		}
		m, err := unmarshal(md, wire)
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		if wire, err = proto.Marshal(m); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		if err := checkWritten(codec, wire, text, broken); err != nil {
			return err
		}
	}
	return nil
}

func checkWritten(codec *transcode.Codec, wire, want []byte, broken bool) error {
	got, warnings, err := codec.AppendJSON(nil, wire)
	if err != nil || len(warnings) > 0 {
		return fmt.Errorf("%s: %q, %w", want, warnings, err)
	}
	if !samejson.Equal(want, got) && (!broken || !kept(parse(want), parse(got))) {
		return fmt.Errorf("%s\nbecame %s", want, got)
	}
	return nil
}

// parse reads JSON. Of members with the same name it keeps the last.
func parse(text []byte) any {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// kept reports whether a value that fits no schema is in another, in which
// required members that were missing are empty.
func kept(before, after any) bool {
	switch before := before.(type) {
	case object:
		after, ok := after.(object)
		if !ok {
			return false
		}
		for name, v := range after {
			old, ok := before[name]
			if !ok && !isEmpty(v) || ok && !kept(old, v) {
				return false
			}
		}
		for name := range before {
			if _, ok := after[name]; !ok {
				return false
			}
		}
		return true
	case []any:
		after, ok := after.([]any)
		return ok && slices.EqualFunc(before, after, kept)
	default:
		a, errA := json.Marshal(before)
		b, errB := json.Marshal(after)
		return errA == nil && errB == nil && samejson.Equal(a, b)
	}
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case object:
		return len(v) == 0
	case []any:
		return len(v) == 0
	default:
		return v == "" || v == json.Number("0")
	}
}

// checkTyped checks that all of a value is in the fields that are meant for it,
// and nothing in what keeps the rest.
func checkTyped(m proto.Message) error {
	return protorange.Range(m.ProtoReflect(), func(values protopath.Values) error {
		fd := values.Path.Index(-1).FieldDescriptor()
		if fd == nil || fd.Kind() != protoreflect.BytesKind {
			return nil
		}
		if o := fieldOptions(fd); o.GetRaw() || o.GetExtra() {
			return fmt.Errorf("%s has %s", values.Path, values.Index(-1).Value.Bytes())
		}
		return nil
	})
}

// read reads JSON into a message of Go.
func read(md protoreflect.MessageDescriptor, text []byte) (proto.Message, error) {
	codec, err := compilers()[0].Codec(md)
	if err != nil {
		return nil, err
	}
	wire, err := codec.AppendWire(nil, text)
	if err != nil {
		return nil, err
	}
	return unmarshal(md, wire)
}

// unmarshal makes a message of generated Go.
func unmarshal(md protoreflect.MessageDescriptor, wire []byte) (proto.Message, error) {
	typ, err := protoregistry.GlobalTypes.FindMessageByName(md.FullName())
	if err != nil {
		return nil, err
	}
	m := typ.New().Interface()
	if err := proto.Unmarshal(wire, m); err != nil {
		return nil, err
	}
	if len(m.ProtoReflect().GetUnknown()) > 0 {
		return nil, errors.New("the message has unknown fields")
	}
	return m, nil
}

// in puts the JSON of a definition into that of the message of its place.
func (p place) in(text []byte) []byte {
	if p.member == "" {
		return text
	}
	return fmt.Appendf(nil, "{%q:%s}", p.member, text)
}

// TestOfficialExamples takes the examples that the specification has. They follow
// the rules, too.
func TestOfficialExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(schemaDir(t), "2026-07-28-examples", "*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	const all = 129
	if len(files) != all {
		t.Errorf("there are %d examples, want %d", len(files), all)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(filepath.Dir(file))
		p := places[name]
		md := message(p.message)
		if md == nil {
			t.Errorf("%s: no such place", name)
			continue
		}
		if err := checkIdentity(md, p.in(text), false); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		m, err := read(md, p.in(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(checkTyped(m), protovalidate.Validate(m)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestValuesOfAllSchemas makes values of every definition of every revision.
func TestValuesOfAllSchemas(t *testing.T) {
	t.Parallel()
	dir := schemaDir(t)
	for _, revision := range revisions {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			defs := ofRevision(t, dir, revision)
			for _, name := range sortedKeys(defs) {
				p := places[name]
				if md := message(p.message); md != nil && !p.part {
					generated(t, defs, name, func(text []byte, broken bool) error { return checkIdentity(md, p.in(text), broken) })
				}
			}
		})
	}
}

// generated calls check with values of a definition: without and with all
// optional members, with some, and with one member that is something else.
func generated(t *testing.T, defs object, name string, check func(text []byte, broken bool) error) {
	t.Helper()
	for seed := range uint64(16) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), defs: defs, share: 5}
		depth := 4
		switch {
		case seed < 2:
			g.share, depth = 0, 3
		case seed < 10:
			g.share = 10
		}
		value := g.value(object{"$ref": "#/$defs/" + name}, depth)
		o, broken := value.(object)
		if broken = broken && seed%4 == 3; broken {
			value = g.broken(o)
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := check(text, broken); err != nil {
			t.Errorf("%s, seed %d: %v", name, seed, err)
			return
		}
	}
}

// TestRules says what the specification does not allow, although JSON has a
// place for it.
func TestRules(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ message, text, want string }{
		"priority":   {"Annotations", `{"priority":1.5}`, "priority"},
		"preference": {"ModelPreferences", `{"costPriority":-0.5}`, "cost_priority"},
		"ttl":        {"ListToolsResponse", `{"tools":[],"ttlMs":-1}`, "ttl_ms"},
		"completion": {"Completion", `{"values":["` + strings.Repeat(`a","`, 100) + `"]}`, "values"},
	} {
		m, err := read(message(tt.message), []byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		if err := protovalidate.Validate(m); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want a fault of %s", name, err, tt.want)
		}
	}
}
