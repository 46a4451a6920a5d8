package transcode_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/samejson"
)

// exactly checks that text is the same after it was wire bytes. It reports
// false of text that must be refused.
func exactly(t *testing.T, codec *transcode.Codec, text []byte) bool {
	t.Helper()
	wire, err := codec.AppendWire(nil, text)
	if err != nil {
		for _, allowed := range []string{"not valid JSON", "occurs twice", "more than", "surrogate", "wrong type; want an object"} {
			if strings.Contains(err.Error(), allowed) {
				return false
			}
		}
		t.Fatalf("%v\nof %s", err, text)
	}
	out, warnings, err := codec.AppendJSON(nil, wire)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, %q\nof %s", err, warnings, text)
	}
	if err := jsontok.Valid(out, jsontok.Limits{MaxDepth: transcode.DefaultMaxDepth}); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !samejson.Equal(text, out) {
		t.Fatalf("%s\nbecame %s", text, out)
	}
	return true
}

// jsonGen makes JSON that may be that of a message of some type, and may be
// not.
type jsonGen struct {
	*rand.Rand
	all   protoreflect.MessageDescriptors
	names []string
}

func newJSONGen(seed uint64, all protoreflect.MessageDescriptors) *jsonGen {
	g := &jsonGen{Rand: rand.New(rand.NewPCG(seed, 11)), all: all, names: []string{"id", "inputSchema", "ttl", "params", "method", "type", "mode", "x", "short_ratio", "a\u00e9\n"}}
	for i := range all.Len() {
		for j := range all.Get(i).Fields().Len() {
			g.names = append(g.names, all.Get(i).Fields().Get(j).JSONName())
		}
	}
	return g
}

func pick[T any](g *rand.Rand, list ...T) T { return list[g.IntN(len(list))] }

func (g *jsonGen) value(depth int) any {
	switch n := g.IntN(12); {
	case n < 3 && depth > 0:
		out := map[string]any{}
		for range g.IntN(6) {
			out[pick(g.Rand, g.names...)] = g.value(depth - 1)
		}
		return out
	case n < 5 && depth > 0:
		out := []any{}
		for range g.IntN(4) {
			out = append(out, g.value(depth-1))
		}
		return out
	case n < 7:
		return json.Number(pick(g.Rand, "0", "-0", "1", "1.0", "-1", "1e2", "1.5", "0.1", "2147483648", "9007199254740993", "18446744073709551615", "1e400", "16777217", "3.4e38", "0e9999999999", "1e-400", "9.007199254740993e15"))
	case n < 8:
		return nil
	case n < 9:
		return g.IntN(2) == 0
	default:
		return pick(g.Rand, "", "a", "text", "image", "open", "reply", "form", "url", "user", "ROLE_USER", "AQ==", "AR==", "-_8", "1", "01", "NaN", "2026-01-31T09:30:00Z", "null", "[]", "{}")
	}
}

// message makes the JSON of a message, in which every part may be something
// else.
func (g *jsonGen) message(md protoreflect.MessageDescriptor, depth int) any {
	if depth == 0 || g.IntN(8) == 0 {
		return g.value(depth)
	}
	switch md.Name() {
	case "Content", "OneOrMany", "ContentList":
		if md.Name() != "Content" && g.IntN(2) == 0 {
			return []any{g.message(g.all.ByName("Content"), depth-1), g.message(g.all.ByName("Content"), depth-1)}
		}
		tag := pick(g.Rand, "text", "image", "video")
		out, _ := g.message(g.all.ByName(map[string]protoreflect.Name{"text": "Text", "image": "Image", "video": "Link"}[tag]), depth).(map[string]any)
		if out == nil {
			out = map[string]any{}
		}
		out["type"] = tag
		return out
	case "Answer", "StringList", "Struct", "Value":
		return g.value(depth)
	}
	out := map[string]any{}
	for range g.IntN(6) {
		fd := md.Fields().Get(g.IntN(md.Fields().Len()))
		name := strings.TrimSuffix(fd.JSONName(), "Json")
		switch {
		case fd.IsMap():
			entries := map[string]any{}
			for range g.IntN(3) {
				entries[pick(g.Rand, "a", "b", "1", "-1", "01")] = g.field(fd.MapValue(), depth-1)
			}
			out[name] = entries
		case fd.IsList():
			list := []any{}
			for range g.IntN(3) {
				list = append(list, g.field(fd, depth-1))
			}
			out[name] = list
		default:
			out[name] = g.field(fd, depth-1)
		}
	}
	if g.IntN(4) == 0 {
		out[pick(g.Rand, g.names...)] = g.value(depth - 1)
	}
	return out
}

func (g *jsonGen) field(fd protoreflect.FieldDescriptor, depth int) any {
	switch {
	case g.IntN(6) == 0:
		return g.value(depth)
	case fd.Message() != nil:
		return g.message(fd.Message(), max(depth, 0))
	case fd.Kind() == protoreflect.StringKind:
		return pick(g.Rand, "a", "", "open", "reply")
	case fd.Kind() == protoreflect.BoolKind:
		return true
	case fd.Kind() == protoreflect.BytesKind:
		return pick[any](g.Rand, "AQI=", "AQI", []any{}, map[string]any{"a": nil})
	case fd.Kind() == protoreflect.EnumKind:
		return pick[any](g.Rand, "user", "assistant", 7)
	case fd.Kind() == protoreflect.Int64Kind:
		return pick[any](g.Rand, "123", 123)
	default:
		return g.IntN(3)
	}
}

// Any JSON is the same after it was wire bytes, where the outermost message
// keeps what does not fit. What is not kept by anything is refused.
func TestExactOfRandomJSON(t *testing.T) {
	t.Parallel()
	all := shapes(t)
	seeds := uint64(20_000)
	if raceEnabled {
		seeds = 2000
	}
	for _, opts := range []transcode.Options{{Exact: true}, {Exact: true, PreferRaw: true}} {
		codec := newCodec(t, all.ByName("All"), opts)
		for seed := range seeds {
			object, ok := newJSONGen(seed, all).message(all.ByName("All"), 6).(map[string]any)
			if !ok {
				continue
			}
			text, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			if !exactly(t, codec, text) {
				t.Fatalf("seed %d: refused: %s", seed, text)
			}
		}
	}
}

// The same holds for types that refuse what they cannot keep.
func TestExactOrRefused(t *testing.T) {
	t.Parallel()
	all := shapes(t)
	for i := range all.Len() {
		md := all.Get(i)
		codec := newCodec(t, md, transcode.Options{Exact: true})
		taken := 0
		for seed := range uint64(500) {
			text, err := json.Marshal(newJSONGen(seed, all).message(md, 4))
			if err != nil {
				t.Fatal(err)
			}
			wire, err := codec.AppendWire(nil, text)
			if err != nil {
				continue
			}
			taken++
			out, _, err := codec.AppendJSON(nil, wire)
			if err != nil {
				t.Fatal(err)
			}
			if md.Name() != "Always" && !samejson.Equal(text, out) {
				t.Fatalf("%s: %s\nbecame %s", md.Name(), text, out)
			}
		}
		if taken == 0 {
			t.Errorf("%s: nothing was taken", md.Name())
		}
	}
}

// Messages are the same after they were JSON, where that has one form for each
// of them.
func TestExactOfRandomMessages(t *testing.T) {
	t.Parallel()
	all := shapes(t)
	for _, name := range []protoreflect.Name{"Image", "Strict", "StringList", "Link", "Typed", "Numbers", "ContentList"} {
		md := all.ByName(name)
		codec := newCodec(t, md, transcode.Options{Exact: true})
		for seed := range uint64(300) {
			m := dynamicpb.NewMessage(md)
			fillShape(rand.New(rand.NewPCG(seed, 5)), m, 4)
			wire, err := proto.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			text, warnings, err := codec.AppendJSON(nil, wire)
			if err != nil || len(warnings) > 0 {
				t.Fatal(err, warnings)
			}
			again, err := codec.AppendWire(nil, text)
			if err != nil {
				t.Fatalf("%v\nof %s\nfrom %v", err, text, m)
			}
			back := dynamicpb.NewMessage(md)
			if err := proto.Unmarshal(again, back); err != nil {
				t.Fatal(err)
			}
			if !proto.Equal(m, back) {
				t.Fatalf("%v\nbecame %v\nby %s", m, back, text)
			}
		}
	}
}

// fillShape sets fields to values that are canonical.
func fillShape(g *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	if m.Descriptor().Name() == "Content" {
		fd := fields.Get(g.IntN(2))
		fillShape(g, m.Mutable(fd).Message(), depth-1)
		return
	}
	for i := range fields.Len() {
		fd := fields.Get(i)
		skip := g.IntN(3) == 0 || depth <= 0 || fd.Message() != nil && (fd.Message().Name() == "All" || fd.Message().ParentFile() != m.Descriptor().ParentFile())
		switch {
		case skip:
		case fd.IsMap() && fd.MapValue().Message() == nil:
			m.Mutable(fd).Map().Set(protoreflect.ValueOf("k").MapKey(), scalarOf(g, fd.MapValue()))
		case fd.IsMap():
			v := m.Mutable(fd).Map().NewValue()
			fillShape(g, v.Message(), depth-1)
			m.Mutable(fd).Map().Set(protoreflect.ValueOf("k").MapKey(), v)
		case fd.IsList() && fd.Message() != nil:
			fillShape(g, m.Mutable(fd).List().AppendMutable().Message(), depth-1)
		case fd.IsList():
			m.Mutable(fd).List().Append(scalarOf(g, fd))
		case fd.Message() != nil:
			fillShape(g, m.Mutable(fd).Message(), depth-1)
		case fd.Name() == "type":
			m.Set(fd, protoreflect.ValueOf("image"))
		default:
			m.Set(fd, scalarOf(g, fd))
		}
	}
	if tag := fields.ByName("type"); tag != nil {
		m.Set(tag, protoreflect.ValueOf("image"))
	}
}

func scalarOf(g *rand.Rand, fd protoreflect.FieldDescriptor) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOf(pick(g, "a", "b\u00e9"))
	case protoreflect.BytesKind:
		if name := fd.Name(); name == "extra" || name == "rest" {
			return protoreflect.ValueOf([]byte(`{"z":null}`))
		}
		return protoreflect.ValueOf([]byte{1, 2})
	case protoreflect.DoubleKind:
		return protoreflect.ValueOf(pick(g, 0.5, 1, 1e300))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOf(int32(g.IntN(9)))
	default:
		return fd.Default()
	}
}

// A union takes the field that occurs last, and merges its occurrences.
func TestShapesOfWire(t *testing.T) {
	t.Parallel()
	all := shapes(t)
	for _, tt := range []struct{ name, message, wire, out, warning string }{
		{"union that is empty", "Content", "", `{}`, ""},
		{"union in pieces", "Content", sub(2, sub(2, "\x01")) + sub(2, sub(3, sub(1, ""))), `{"type":"image","data":"AQ==","inner":[{"type":"text"}]}`, ""},
		{"union, last wins", "Content", sub(2, sub(2, "\x01")) + sub(1, sub(1, "a")), `{"type":"text","text":"a"}`, ""},
		{"union, broken and replaced", "Content", sub(2, "\x12") + sub(1, ""), "", "no valid"},
		{"tag field of another value", "Content", sub(2, sub(1, "text")), `{"type":"image"}`, ""},
		{"extra with the tag", "Content", sub(1, sub(2, `{"type":1,"x":2}`)), `{"type":"text","x":2}`, `the member "type" of shapes.v1.Text.extra is left out`},
		{"fallback that is no JSON", "Content", sub(3, "{"), `null`, "no JSON"},
		{"untagged without a tag", "Ask", sub(1, sub(2, "a")), `{"message":"a"}`, ""},
		{"untagged with a tag", "Ask", sub(1, sub(1, "form")), `{"mode":"form"}`, ""},
		{"content and an ordinary tag", "Call", sub(4, "x") + sub(10, sub(1, "a")) + sub(10, ""), `{"method":"open","params":{"url":"a"}}`, ""},
		{"content and extra", "Call", sub(13, `{"method":1,"params":2,"a":3}`) + sub(10, ""), `{"method":"open","params":{},"a":3}`, "left out"},
		{"content, last wins", "Call", sub(10, "") + sub(11, sub(1, "a")), `{"method":"reply","params":"a"}`, ""},
		{"value that is empty", "Answer", "", `null`, "a shapes.v1.Answer that holds nothing became null"},
		{"value of a list that is empty", "StringList", "", `[]`, ""},
		{"value in pieces", "Answer", sub(4, sub(1, "a")) + sub(4, sub(1, "b")), `["a","b"]`, ""},
		{"value, last wins", "Answer", sub(4, sub(1, "a")) + "\x18\x00", `false`, ""},
		{"map and bytes of one name", "Typed", sub(3, sub(1, "a")) + sub(4, `{"a":1,"name":"n"}`), `{"a":0,"name":"n"}`, `the member "a" of shapes.v1.Typed.rest is left out, for it occurs twice`},
		{"map with a field", "Typed", sub(1, "n") + sub(3, sub(1, "name")), `{"name":"n"}`, `the member "name" of shapes.v1.Typed.others is left out`},
		{"bytes in place of what is always written", "Always", sub(3, `{"content":null}`), `{"number":0,"content":null}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			md := all.ByName(protoreflect.Name(tt.message))
			out, warnings, err := newCodec(t, md, transcode.Options{}).AppendJSON(nil, []byte(tt.wire))
			if tt.out == "" {
				checkFault(t, err, tt.warning)
				return
			}
			if all := strings.Join(warnings, "\n"); err != nil || string(out) != tt.out || (all == "") != (tt.warning == "") || !strings.Contains(all, tt.warning) {
				t.Errorf("got %s, %q, %v, want %s, %q", out, warnings, err, tt.out, tt.warning)
			}
		})
	}
}

// FuzzExact holds that JSON is the same after it was wire bytes, or is refused
// for what its outermost message cannot keep.
func FuzzExact(f *testing.F) {
	all := shapes(f)
	for seed := range uint64(50) {
		text, err := json.Marshal(newJSONGen(seed, all).message(all.ByName("All"), 4))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"content":[{"type":"image","x":1},[]],"call":{"method":"open","params":{"url":1}},"id":1e0,"\u0069nputSchema":{"a":1,"\u0061":2}}`))
	f.Add([]byte(`{"text":"\ud800","any":{"a":1e999,"b":[]},"time":"2026-01-31T09:30:00+01:00","typed":{"c":1,"number":null}}`))
	var codecs []*transcode.Codec
	for _, opts := range []transcode.Options{{Exact: true}, {Exact: true, PreferRaw: true}} {
		codecs = append(codecs, newCodec(f, all.ByName("All"), opts))
	}
	lenient := newCodec(f, all.ByName("All"), transcode.Options{})
	f.Fuzz(func(t *testing.T, text []byte) {
		if wire, err := lenient.AppendWire(nil, text); err == nil {
			readable(t, lenient, wire)
		}
		readable(t, lenient, text)
		for _, codec := range codecs {
			exactly(t, codec, text)
		}
	})
}

// readable checks that wire bytes, if they are a message, are written as JSON in
// which no name occurs twice.
func readable(t *testing.T, codec *transcode.Codec, wire []byte) {
	t.Helper()
	out, _, err := codec.AppendJSON(nil, wire)
	if err != nil {
		return
	}
	if err := jsontok.Object(out, func(_, _ []byte) error { return nil }); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// Attempts cost no more than some times what reading does, however deep it is
// that something does not fit. Messages are counted each time they are read.
func TestExactCost(t *testing.T) {
	t.Parallel()
	file := compile(t, hostileProto)
	deep := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	wide := func(open, element, end string, n int) string {
		return open + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + end
	}
	for _, tt := range []struct {
		name, message, text string
		messages            int
	}{
		{"extras in extras", "Keep", deep(`{"next":`, `{"n":"x"}`, `}`, 98), 100},
		{"one extra around", "Outer", `{"strict":` + deep(`{"next":`, `{"n":"x"}`, `}`, 97) + `}`, 100},
		{"wide", "Keep", wide(`{"list":[`, `{"next":{"n":"x","list":[{"n":null}]}}`, `]}`, 1000), 3001},
		{"forms in forms", "Fork", deep(`{"next":`, `{"n":"x"}`, `}`, 98), 98 * 98 * 2},
		{"forms in forms that fit late", "Fork", deep(`{"next":`, `{"c":1}`, `,"c":1}`, 98), 98 * 98 * 3},
		{"forms in extras", "Keep", `{"fork":` + deep(`{"next":`, `{"n":"x"}`, `}`, 97) + `}`, 98 * 98 * 3},
		{"values of values", "V0", `1`, 100},
		{"contents beside contents", "Talk", `{"method":"a","params":` + deep(`{"method":"a","params":`, `{"method":"x"}`, `,"z":1}`, 97) + `,"n":1}`, 98 * 98 * 2},
		{"contents in contents", "Call", `{"method":"a","params":` + deep(`{"method":"a","params":`, `{"method":"x"}`, `,"z":1}`, 98) + `}`, 98 * 98 * 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			codec := newCodec(t, file.Messages().ByName(protoreflect.Name(tt.message)), transcode.Options{Exact: true, MaxMessages: tt.messages})
			wire, err := codec.AppendWire(nil, []byte(tt.text))
			if err != nil {
				if strings.Contains(err.Error(), "more than") || tt.message != "Fork" && tt.message != "V0" && tt.message != "Talk" {
					t.Fatal(err)
				}
				return
			}
			out, warnings, err := codec.AppendJSON(nil, wire)
			if err != nil || len(warnings) > 0 || !samejson.Equal([]byte(tt.text), out) {
				t.Errorf("got %s, %q, %v", out, warnings, err)
			}
		})
	}
}

// hostileProto are types for which a naive reader tries everything with
// everything.
var hostileProto = `
syntax = "proto3";
package hostile.v1;
import "mcp/json/v1/json.proto";
message Keep {
  optional int32 n = 1;
  Keep next = 2;
  repeated Keep list = 3;
  Fork fork = 4;
  bytes extra = 5 [(mcp.json.v1.field).extra = true];
}
message Outer {
  Strict strict = 1;
  bytes extra = 5 [(mcp.json.v1.field).extra = true];
}
message Strict {
  optional int32 n = 1;
  Strict next = 2;
}
message Fork {
  option (mcp.json.v1.message).value = true;
  oneof fork { A a = 1; B b = 2; C c = 3; }
}
message A { Fork next = 1; optional int32 n = 2; optional int32 a = 3; }
message B { Fork next = 1; optional int32 n = 2; optional int32 b = 3; }
message C { Fork next = 1; optional int32 n = 2; optional int32 c = 3; }
message Talk {
  option (mcp.json.v1.message) = {tag: "method", content: "params"};
  string method = 1;
  oneof params_form { Talk a = 2 [(mcp.json.v1.field).literal = "a"]; }
  Talk params = 3;
  optional int32 n = 4;
}
message Call {
  option (mcp.json.v1.message) = {tag: "method", content: "params"};
  string method = 1;
  oneof params {
    Call a = 2 [(mcp.json.v1.field).literal = "a"];
    Call b = 3 [(mcp.json.v1.field).name = "params"];
    bytes json = 4 [(mcp.json.v1.field) = {name: "params", raw: true}];
  }
}
` + chain(30)

// chain are messages that are values of each other, each of two forms.
func chain(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "message V%d { option (mcp.json.v1.message).value = true; oneof f { V%d a = 1; V%d b = 2; } }\n", i, i+1, i+1)
	}
	fmt.Fprintf(&b, "message V%d { option (mcp.json.v1.message).value = true; oneof f { string a = 1; bool b = 2; } }\n", n)
	return b.String()
}

// Options that make no sense are none, and nothing loops or panics.
func TestShapesOfHostileTypes(t *testing.T) {
	t.Parallel()
	file := compile(t, `
syntax = "proto3";
package odd.v1;
import "mcp/json/v1/json.proto";
import "google/protobuf/struct.proto";
message NoOneof { option (mcp.json.v1.message).tag = "type"; Part a = 1 [(mcp.json.v1.field).literal = "a"]; }
message Beside { option (mcp.json.v1.message).tag = "type"; oneof f { Part a = 1 [(mcp.json.v1.field).literal = "a"]; } string b = 2; }
message Scalars { option (mcp.json.v1.message).tag = "type"; oneof f { string a = 1 [(mcp.json.v1.field).literal = "a"]; google.protobuf.Struct b = 2 [(mcp.json.v1.field).literal = "b"]; } }
message Nested { option (mcp.json.v1.message).tag = "type"; oneof f { Nested a = 1 [(mcp.json.v1.field).literal = "a"]; Part b = 2 [(mcp.json.v1.field).literal = "b"]; } }
message Twice { option (mcp.json.v1.message).tag = "type"; oneof f { Part a = 1 [(mcp.json.v1.field).literal = "a"]; Part b = 2 [(mcp.json.v1.field).literal = "a"]; Part c = 3 [(mcp.json.v1.field).untagged = true]; Part d = 4 [(mcp.json.v1.field).untagged = true]; } }
message Same { option (mcp.json.v1.message) = {tag: "x", content: "x"}; oneof f { Part a = 1 [(mcp.json.v1.field).literal = "a"]; } }
message Several { option (mcp.json.v1.message).value = true; string a = 1; string b = 2; }
message None { option (mcp.json.v1.message).value = true; }
message Self { option (mcp.json.v1.message).value = true; Self self = 1; }
message Ping { option (mcp.json.v1.message).value = true; oneof f { Pong a = 1; string b = 2; } }
message Pong { option (mcp.json.v1.message).value = true; oneof f { Ping a = 1; string b = 2; } }
message Lists { option (mcp.json.v1.message).value = true; repeated Lists lists = 1; }
message Maps { option (mcp.json.v1.message).value = true; map<string, Maps> maps = 1; }
message Optional { option (mcp.json.v1.message).value = true; optional Part part = 1; }
message Clash { string a = 1 [(mcp.json.v1.field).name = "x"]; string b = 2 [(mcp.json.v1.field).name = "x"]; oneof f { string c = 3; string d = 4 [(mcp.json.v1.field).name = "b"]; } }
message Extras { bytes a = 1 [(mcp.json.v1.field).extra = true]; bytes b = 2 [(mcp.json.v1.field).extra = true]; map<int32, string> c = 3 [(mcp.json.v1.field).extra = true]; repeated bytes d = 4 [(mcp.json.v1.field).extra = true]; oneof f { bytes e = 5 [(mcp.json.v1.field).extra = true]; } }
message Part { string p = 1; }
`)
	for _, tt := range []struct{ message, in, out string }{
		{"NoOneof", `{"a":{"p":"x"}}`, `{"a":{"p":"x"}}`},
		{"Beside", `{"a":{"p":"x"},"b":"y"}`, `{"a":{"p":"x"},"b":"y"}`},
		{"Scalars", `{"a":"x"}`, `{"a":"x"}`},
		{"Scalars", `{"b":{"p":1}}`, `{"b":{"p":1}}`},
		{"Nested", `{"type":"b","p":"x"}`, `{"type":"b","p":"x"}`},
		{"Twice", `{"type":"a","p":"x"}`, `{"type":"a","p":"x"}`},
		{"Twice", `{"p":"x"}`, `{"p":"x"}`},
		{"Same", `{"a":{"p":"x"}}`, `{"a":{"p":"x"}}`},
		{"Several", `{"a":"x","b":"y"}`, `{"a":"x","b":"y"}`},
		{"None", `{}`, `{}`},
		{"Self", `{"self":{"self":{}}}`, `{"self":{"self":{}}}`},
		{"Ping", `{"a":{"a":{"b":"x"}}}`, `{"a":{"a":{"b":"x"}}}`},
		{"Lists", `[[],[[]]]`, `[[],[[]]]`},
		{"Maps", `{"a":{},"b":{"c":{}}}`, `{"a":{},"b":{"c":{}}}`},
		{"Optional", `{"p":"x"}`, `{"p":"x"}`},
		{"Clash", `{"a":"1","b":"2","c":"3"}`, `{"a":"1","b":"2","c":"3"}`},
		{"Extras", `{"x":1,"b":"AQ==","c":{"1":"a"},"d":["AQ=="],"e":"AQ=="}`, `{"x":1,"b":"AQ==","c":{"1":"a"},"d":["AQ=="],"e":"AQ=="}`},
	} {
		for _, opts := range []transcode.Options{{}, {Exact: true}, {Output: transcode.All}} {
			codec := newCodec(t, file.Messages().ByName(protoreflect.Name(tt.message)), opts)
			wire, err := codec.AppendWire(nil, []byte(tt.in))
			if err != nil {
				t.Errorf("%s: %v", tt.message, err)
				continue
			}
			out, _, err := codec.AppendJSON(nil, wire)
			if err != nil || opts.Output == transcode.Canonical && string(out) != tt.out {
				t.Errorf("%s: got %s, %v, want %s", tt.message, out, err, tt.out)
			}
		}
	}
	_, err := newCodec(t, file.Messages().ByName("Lists"), transcode.Options{}).AppendWire(nil, []byte(`[1]`))
	checkFault(t, err, "[0]: wrong type; want an array, got the number 1")
}

// Unions and values stand in an Any as well, and a union may be of groups.
func TestShapesInOtherPlaces(t *testing.T) {
	t.Parallel()
	file := compile(t, `
edition = "2023";
package places.v1;
import "mcp/json/v1/json.proto";
import "google/protobuf/any.proto";
message Holder { google.protobuf.Any any = 1; Union union = 2; }
message Union {
  option (mcp.json.v1.message).tag = "type";
  oneof f { Part a = 1 [(mcp.json.v1.field).literal = "a", features.message_encoding = DELIMITED]; Part b = 2 [(mcp.json.v1.field).literal = "b"]; }
}
message Value { option (mcp.json.v1.message).value = true; repeated string values = 1; }
message Part { string p = 1; }
`)
	types := new(protoregistry.Types)
	for _, name := range []protoreflect.Name{"Union", "Value"} {
		if err := types.RegisterMessage(dynamicpb.NewMessageType(file.Messages().ByName(name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, opts := range []transcode.Options{{}, {Exact: true}} {
		codec, err := transcode.New(file.Messages().ByName("Holder"), types, opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{
			`{"any":{"@type":"x/places.v1.Union","value":{"type":"a","p":"x"}}}`,
			`{"any":{"@type":"x/places.v1.Value","value":["x"]},"union":{"type":"b","p":"y"}}`,
			`{"union":{"type":"a","p":"y"}}`,
		} {
			wire, err := codec.AppendWire(nil, []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if out, warnings, err := codec.AppendJSON(nil, wire); err != nil || len(warnings) > 0 || string(out) != text {
				t.Errorf("got %s, %q, %v, want %s", out, warnings, err, text)
			}
		}
	}
}
