package transcode_test

import (
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	_ "github.com/mcp-bridge/mcp-bridge/gen/mcp/json/v1"
)

const optionsProto = `
syntax = "proto3";
package json.test;
import "mcp/json/v1/json.proto";
message Message {
  Role role = 1;
  int64 size = 2 [(mcp.json.v1.field).number = true];
  repeated uint64 sizes = 3 [(mcp.json.v1.field).number = true];
  bytes schema = 4 [(mcp.json.v1.field).raw = true];
  map<string, bytes> metas = 5 [(mcp.json.v1.field).raw = true];
  optional bytes maybe = 6 [(mcp.json.v1.field).raw = true];
  repeated string content = 7 [(mcp.json.v1.field).always = true];
  bytes rest = 8 [(mcp.json.v1.field).extra = true];
  Message next = 9;
  repeated bytes parts = 10 [(mcp.json.v1.field).raw = true];
}
message Nullable {
  optional string text = 1 [(mcp.json.v1.field).nullable = true];
  optional string written = 2 [(mcp.json.v1.field).nullable = true, (mcp.json.v1.field).always = true];
  repeated string list = 3 [(mcp.json.v1.field).omit_empty = true];
  map<string, Nullable> map = 4 [(mcp.json.v1.field).nullable = true, (mcp.json.v1.field).always = true];
  Nullable message = 5 [(mcp.json.v1.field).nullable = true];
  string implicit = 6 [(mcp.json.v1.field).nullable = true];
  bytes raw = 7 [(mcp.json.v1.field).raw = true, (mcp.json.v1.field).nullable = true];
}
enum Role {
  ROLE_UNSPECIFIED = 0;
  ROLE_USER = 1 [(mcp.json.v1.value).literal = "user"];
  ROLE_ASSISTANT = 2 [(mcp.json.v1.value).literal = "assistant"];
  ROLE_FAR = 4711 [(mcp.json.v1.value).literal = "far away"];
}
`

func optionsCodec(tb testing.TB) (*transcode.Codec, protoreflect.MessageDescriptor) {
	tb.Helper()
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(protocompile.CompositeResolver{
		&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(map[string]string{"options.proto": optionsProto})},
		protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
			fd, err := protoregistry.GlobalFiles.FindFileByPath(path)
			return protocompile.SearchResult{Desc: fd}, err
		}),
	})}
	files, err := compiler.Compile(tb.Context(), "options.proto")
	if err != nil {
		tb.Fatal(err)
	}
	md := files[0].Messages().ByName("Message")
	codec, err := transcode.New(md, nil, transcode.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return codec, md
}

// Where options say so, null and empty lists are none, even where all is kept
// exactly.
func TestNullable(t *testing.T) {
	t.Parallel()
	_, md := optionsCodec(t)
	md = md.ParentFile().Messages().ByName("Nullable")
	for _, tt := range []struct{ in, out, fault string }{
		{in: `{}`, out: `{"written":null,"map":null}`},
		{in: `{"text":null,"written":null,"list":[],"map":null,"message":null}`, out: `{"written":null,"map":null}`},
		{in: `{"text":"","written":"","list":["a"],"map":{"k":{}},"message":{}}`, out: `{"text":"","written":"","list":["a"],"map":{"k":{"written":null,"map":null}},"message":{"written":null,"map":null}}`},
		{in: `{"map":{}}`, fault: "map: the value cannot be told from none"},
		{in: `{"list":null}`, fault: "list: wrong type"},
		{in: `{"text":null,"text":null}`, fault: "occurs twice"},
		{in: `{"implicit":null}`, fault: "implicit: "},
	} {
		codec, err := transcode.New(md, nil, transcode.Options{Exact: true})
		if err != nil {
			t.Fatal(err)
		}
		wire, err := codec.AppendWire(nil, []byte(tt.in))
		if tt.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("%s: got %v, want %s", tt.in, err, tt.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if out, _, err := codec.AppendJSON(nil, wire); err != nil || string(out) != tt.out {
			t.Errorf("%s became %s, %v", tt.in, out, err)
		}
	}
}

// With the options of mcp.json.v1, JSON that is not ProtoJSON is read, and is
// written again as it was.
func TestJSONOptions(t *testing.T) {
	t.Parallel()
	codec, _ := optionsCodec(t)
	for _, tt := range []struct{ name, in, out, fault string }{
		{name: "empty", in: `{}`, out: `{"content":[]}`},
		{name: "literal", in: `{"role":"assistant"}`, out: `{"role":"assistant","content":[]}`},
		{name: "literal of a large number", in: `{"role":4711}`, out: `{"role":"far away","content":[]}`},
		{name: "name for a literal", in: `{"role":"ROLE_USER"}`, out: `{"role":"user","content":[]}`},
		{name: "no literal", in: `{"role":"usr"}`, fault: `role: no value of json.test.Role; want one of user, assistant, far away, got the string "usr"; did you mean "user"?`},
		{name: "number", in: `{"size":-9223372036854775808,"sizes":["18446744073709551615",0]}`, out: `{"size":-9223372036854775808,"sizes":[18446744073709551615,0],"content":[]}`},
		{name: "raw", in: `{"schema": {"b": 1.0, "a": [null, 1e400] } }`, out: `{"schema":{"b":1.0,"a":[null,1e400]},"content":[]}`},
		{name: "raw scalars", in: `{"schema":"x","maybe":null,"parts":[1,null,"a",{}]}`, out: `{"schema":"x","maybe":null,"content":[],"parts":[1,null,"a",{}]}`},
		{name: "raw in a map", in: `{"metas":{"b":null,"a/c":{"x":[]}}}`, out: `{"metas":{"a/c":{"x":[]},"b":null},"content":[]}`},
		{name: "always", in: `{"content":["a"],"next":{}}`, out: `{"content":["a"],"next":{"content":[]}}`},
		{name: "extra", in: `{"y":{"z": 1},"role":"user","x\u0041":null,"next":{"q":1}}`, out: `{"role":"user","content":[],"y":{"z":1},"xA":null,"next":{"content":[],"q":1}}`},
		{name: "extra twice", in: `{"y":1,"y":2}`, fault: "y: the member occurs twice"},
		{name: "the extra's own name", in: `{"rest":"AQ=="}`, out: `{"content":[],"rest":"AQ=="}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wire, err := codec.AppendWire(nil, []byte(tt.in))
			if tt.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fault) {
					t.Errorf("got %v, want %s", err, tt.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			out, warnings, err := codec.AppendJSON(nil, wire)
			if err != nil || len(warnings) > 0 || string(out) != tt.out {
				t.Fatalf("got  %s, %q, %v\nwant %s", out, warnings, err, tt.out)
			}
			again, err := codec.AppendWire(nil, out)
			if err != nil {
				t.Fatal(err)
			}
			if out, _, err := codec.AppendJSON(nil, again); err != nil || string(out) != tt.out {
				t.Errorf("the second time: %s, %v", out, err)
			}
		})
	}
}

// What a field keeps may be no JSON, or clash with fields.
func TestJSONOptionsDegrade(t *testing.T) {
	t.Parallel()
	codec, md := optionsCodec(t)
	number := func(name protoreflect.Name) protowire.Number { return md.Fields().ByName(name).Number() }
	for _, tt := range []struct {
		name, field, bytes, out, warning string
	}{
		{"raw that is no JSON", "schema", "{", `{"schema":null,"content":[]}`, "bytes that are no JSON became null"},
		{"extra that is no object", "rest", "[]", `{"content":[]}`, "json.test.Message.rest holds no JSON object"},
		{"extra that is no JSON", "rest", "{", `{"content":[]}`, "json.test.Message.rest holds no JSON object"},
		{"extra with a field", "rest", `{"content":["a"],"x":2,"size":1}`, `{"content":["b"],"x":2,"size":1}`, `the member "content" of json.test.Message.rest is left out`},
		{"extra with a member twice", "rest", `{"x":1,"x":2}`, `{"content":[],"x":1}`, "occurs twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wire := protowire.AppendString(protowire.AppendTag(nil, number(protoreflect.Name(tt.field)), protowire.BytesType), tt.bytes)
			if strings.Contains(tt.name, "with a field") {
				wire = append(wire, "\x3a\x01b"...) // content
			}
			out, warnings, err := codec.AppendJSON(nil, wire)
			if err != nil || string(out) != tt.out || len(warnings) != 1 || !strings.Contains(warnings[0], tt.warning) {
				t.Errorf("got %s, %q, %v, want %s and %s", out, warnings, err, tt.out, tt.warning)
			}
		})
	}
}
