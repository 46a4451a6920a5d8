package transcode_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

func TestOutputs(t *testing.T) {
	t.Parallel()
	file := compile(t, `
syntax = "proto3";
package out.v1;
import "mcp/json/v1/json.proto";
import "google/protobuf/struct.proto";
enum Known { KNOWN_NO = 0; KNOWN_YES = 1; }
enum Vague { VAGUE_UNSPECIFIED = 0; VAGUE_SOME = 1; }
message Inner {
  bool b = 1; string s = 2; repeated int32 list = 3; optional bool o = 4; Known known = 5; Vague vague = 6;
}
message Outer {
  bool deleted = 1;
  int64 count = 2;
  double ratio = 3;
  string name = 4;
  bytes data = 5;
  Known known = 6;
  Vague vague = 7;
  optional int32 maybe = 8;
  repeated Inner list = 9;
  map<string, Inner> map = 10;
  Inner inner = 11;
  google.protobuf.NullValue nothing = 12;
  oneof choice { bool yes = 13; string why = 14; }
}
message Options {
  repeated string a = 1 [(mcp.json.v1.field).omit_empty = true];
  repeated string b = 2 [(mcp.json.v1.field).nullable = true];
  repeated string c = 3;
  string d = 4 [(mcp.json.v1.field).always = true];
  uint64 e = 5 [(mcp.json.v1.field).number = true];
}
`)
	for _, tt := range []struct {
		message, in, canonical, answers, all string
	}{
		{
			"Outer", `{}`, `{}`,
			`{"deleted":false,"count":"0","ratio":0,"known":"KNOWN_NO","list":[],"map":{}}`,
			`{"deleted":false,"count":"0","ratio":0,"name":"","data":"","known":"KNOWN_NO","vague":"VAGUE_UNSPECIFIED","list":[],"map":{},"nothing":null}`,
		},
		{
			"Outer", `{"inner":{},"list":[{"s":"x"}],"map":{"k":{"o":false}},"yes":false,"maybe":0}`,
			`{"maybe":0,"list":[{"s":"x"}],"map":{"k":{"o":false}},"inner":{},"yes":false}`,
			`{"deleted":false,"count":"0","ratio":0,"known":"KNOWN_NO","maybe":0,"list":[{"b":false,"s":"x","known":"KNOWN_NO"}],` +
				`"map":{"k":{"b":false,"o":false,"known":"KNOWN_NO"}},"inner":{"b":false,"known":"KNOWN_NO"},"yes":false}`,
			`{"deleted":false,"count":"0","ratio":0,"name":"","data":"","known":"KNOWN_NO","vague":"VAGUE_UNSPECIFIED","maybe":0,` +
				`"list":[{"b":false,"s":"x","list":[],"known":"KNOWN_NO","vague":"VAGUE_UNSPECIFIED"}],` +
				`"map":{"k":{"b":false,"s":"","list":[],"o":false,"known":"KNOWN_NO","vague":"VAGUE_UNSPECIFIED"}},` +
				`"inner":{"b":false,"s":"","list":[],"known":"KNOWN_NO","vague":"VAGUE_UNSPECIFIED"},"nothing":null,"yes":false}`,
		},
		{"Options", `{}`, `{"d":""}`, `{"c":[],"d":"","e":0}`, `{"a":[],"b":[],"c":[],"d":"","e":0}`},
	} {
		codec := newCodec(t, file.Messages().ByName(protoreflect.Name(tt.message)), transcode.Options{})
		wire, err := codec.AppendWire(nil, []byte(tt.in))
		if err != nil {
			t.Fatal(err)
		}
		for output, want := range map[transcode.Output]string{transcode.Canonical: tt.canonical, transcode.Answers: tt.answers, transcode.All: tt.all} {
			out, warnings, err := codec.Writing(output, 0).AppendJSON(nil, wire)
			if err != nil || len(warnings) > 0 || string(out) != want {
				t.Errorf("%s %s, output %d:\n got %s, %q, %v\nwant %s", tt.message, tt.in, output, out, warnings, err, want)
			}
			back, err := codec.AppendWire(nil, out)
			if again, _, fault := codec.Writing(output, 0).AppendJSON(nil, back); err != nil || fault != nil || !bytes.Equal(again, out) {
				t.Errorf("%s: read back as %s, %v, %v", out, again, err, fault)
			}
		}
	}
}

// keep takes away from JSON with all fields what Answers leaves out. It is told
// by the message what is set.
func keep(t *testing.T, types transcode.Resolver, tree any, m protoreflect.Message, outermost bool) {
	t.Helper()
	object, ok := tree.(map[string]any)
	switch name := m.Descriptor().FullName(); {
	case name == "google.protobuf.Any":
		url := m.Get(m.Descriptor().Fields().ByNumber(1)).String()
		typ, err := types.FindMessageByURL(url)
		if err != nil || !ok {
			return
		}
		inner := typ.New()
		if err := (proto.UnmarshalOptions{AllowPartial: true, Resolver: types}).Unmarshal(m.Get(m.Descriptor().Fields().ByNumber(2)).Bytes(), inner.Interface()); err != nil {
			t.Fatal(err)
		}
		if name := inner.Descriptor().FullName(); name == "google.protobuf.Any" {
			keep(t, types, object["value"], inner, false)
			return
		}
		keep(t, types, tree, inner, outermost)
		return
	case name.Parent() == "google.protobuf" && wellKnown[name.Name()], !ok:
		return
	}
	for i := range m.Descriptor().Fields().Len() {
		fd := m.Descriptor().Fields().Get(i)
		value, ok := object[fd.JSONName()]
		switch {
		case !ok:
		case !m.Has(fd):
			gone := fd.Kind() == protoreflect.StringKind || fd.Kind() == protoreflect.BytesKind
			if fd.Enum() != nil && !fd.IsList() {
				zero := fd.Enum().Values().ByNumber(0)
				gone = zero != nil && strings.HasSuffix(string(zero.Name()), "UNSPECIFIED") || fd.Enum().FullName() == "google.protobuf.NullValue"
			}
			if fd.IsList() || fd.IsMap() {
				gone = !outermost
			}
			if gone {
				delete(object, fd.JSONName())
			}
		case fd.IsMap():
			for k, v := range value.(map[string]any) {
				if fd.MapValue().Message() == nil {
					break
				}
				m.Get(fd).Map().Range(func(key protoreflect.MapKey, inner protoreflect.Value) bool {
					if key.String() == k {
						keep(t, types, v, inner.Message(), false)
					}
					return true
				})
			}
		case fd.Message() == nil:
		case fd.IsList():
			for i, v := range value.([]any) {
				keep(t, types, v, m.Get(fd).List().Get(i).Message(), false)
			}
		default:
			keep(t, types, value, m.Get(fd).Message(), false)
		}
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.IsExtension() && fd.Message() != nil {
			value := object["["+string(fd.FullName())+"]"]
			if fd.IsList() {
				for i, v2 := range value.([]any) {
					keep(t, types, v2, v.List().Get(i).Message(), false)
				}
			} else {
				keep(t, types, value, v.Message(), false)
			}
		}
		return true
	})
}

// wellKnown are the types whose JSON is not that of their fields.
var wellKnown = map[protoreflect.Name]bool{
	"Timestamp": true, "Duration": true, "FieldMask": true, "Struct": true, "Value": true, "ListValue": true,
	"DoubleValue": true, "FloatValue": true, "Int64Value": true, "UInt64Value": true, "Int32Value": true,
	"UInt32Value": true, "BoolValue": true, "StringValue": true, "BytesValue": true,
}

// TestAnswersOfRandomWire holds Answers against protojson with all fields.
func TestAnswersOfRandomWire(t *testing.T) {
	t.Parallel()
	k := load(t)
	seeds := uint64(500)
	if raceEnabled {
		seeds = 50
	}
	for _, name := range roots {
		md := k.message(t, name)
		codec := k.codec(t, name, transcode.Options{Output: transcode.Answers})
		for seed := range seeds {
			g := k.wireGen(3*seed+2, 13) // plain
			wire := g.message(nil, md, 5)
			out, warnings, err := codec.AppendJSON(nil, wire)
			m := dynamicpb.NewMessage(md)
			if err != nil || len(warnings) > 0 || parse(k.types, wire, m) != nil {
				continue
			}
			all, err := protojson.MarshalOptions{Resolver: k.types, AllowPartial: true, EmitDefaultValues: true}.Marshal(m)
			if err != nil {
				continue
			}
			got, want := decode(t, unwrap(t, md, out)), decode(t, all)
			keep(t, k.types, want, m, true)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s, seed %d:\n got %s\nwant %v", name, seed, out, want)
			}
		}
	}
}

func decode(t *testing.T, text []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestWritingKeepsTheLimit tests that a codec stops soon after its limit, however
// small the message is that the JSON is of: these would take gigabytes.
func TestWritingKeepsTheLimit(t *testing.T) {
	t.Parallel()
	file := compile(t, `
syntax = "proto3";
package limit.v1;
message Wide { `+fields(200)+` repeated Wide list = 1000; map<int32, Wide> map = 1001; repeated E enums = 1002; repeated string s = 1003; }
enum E { `+strings.Repeat("LONG_", 50)+`NO = 0; }
`)
	codec := newCodec(t, file.Messages().ByName("Wide"), transcode.Options{})
	for name, wire := range map[string]string{
		"list":    strings.Repeat("\xc2\x3e\x00", 1<<20),
		"map":     strings.Repeat("\xca\x3e\x00", 1) + strings.Repeat("\xca\x3e\x02\x12\x00", 1<<10),
		"enums":   "\xd2\x3e" + "\x80\x80\x40" + strings.Repeat("\x00", 1<<20),
		"strings": strings.Repeat("\xda\x3e\x01x", 1<<20),
	} {
		for _, output := range []transcode.Output{transcode.Canonical, transcode.Answers, transcode.All} {
			const limit = 100 << 10
			limited := codec.Writing(output, limit)
			out, _, err := limited.AppendJSON([]byte("before"), []byte(wire))
			full, _, _ := codec.Writing(output, 8<<20).AppendJSON(nil, []byte(wire))
			if full != nil && len(full) <= limit {
				if err != nil || string(out) != "before"+string(full) {
					t.Errorf("%s, output %d: %v, %d bytes, want %d", name, output, err, len(out), len(full))
				}
				continue
			}
			tooLarge, ok := errors.AsType[*transcode.SizeError](err)
			if !ok || tooLarge.Limit != limit || string(out) != "before" {
				t.Errorf("%s, output %d: %v, %d bytes", name, output, err, len(out))
			}
		}
	}
	// A limit that is just kept.
	wire := []byte("\xda\x3e\x03abc")
	full, _, err := codec.AppendJSON(nil, wire)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := codec.Writing(transcode.Canonical, len(full)).AppendJSON(nil, wire); err != nil {
		t.Error(err)
	}
	if _, _, err := codec.Writing(transcode.Canonical, len(full)-1).AppendJSON(nil, wire); err == nil {
		t.Error("one byte too many is no error")
	}
}

func fields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "int32 field_with_a_name_%s = %d;", strings.Repeat("x", i), i+1)
	}
	return b.String()
}
