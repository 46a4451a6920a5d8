package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// ruled are fields with rules: a type, and the options of the field without
// the name of the extension. Each one becomes a message of its own.
var ruled = []struct{ typ, rules string }{
	// What all types have.
	{"string", "required = true"},
	{"optional string", "required = true"},
	{"bytes", "required = true"},
	{"bool", "required = true"},
	{"int32", "required = true"},
	{"int64", "required = true"},
	{"uint32", "required = true"},
	{"double", "required = true"},
	{"Color", "required = true"},
	{"Inner", "required = true"},
	{"google.protobuf.StringValue", "required = true"},
	{"repeated string", "required = true"},
	{"map<string, string>", "required = true"},
	{"string", "ignore = IGNORE_ALWAYS, MORE.string.min_len = 3"},
	{"string", "ignore = IGNORE_IF_ZERO_VALUE, MORE.string.min_len = 3"},
	{"string", "ignore = IGNORE_IF_ZERO_VALUE, MORE.string.email = true"},
	{"string", `ignore = IGNORE_IF_ZERO_VALUE, MORE.string = {in: ["a", "b"]}`},
	{"string", `ignore = IGNORE_IF_ZERO_VALUE, MORE.string = {max_len: 3, pattern: "^a"}`},
	{"optional string", "ignore = IGNORE_IF_ZERO_VALUE, MORE.string.min_len = 3"},
	{"int32", "ignore = IGNORE_IF_ZERO_VALUE, MORE.int32 = {gte: 5, lte: 10}"},
	{"uint32", "ignore = IGNORE_IF_ZERO_VALUE, MORE.uint32.in = 7"},
	{"Color", "ignore = IGNORE_IF_ZERO_VALUE, MORE.enum.in = 2"},
	{"repeated string", "ignore = IGNORE_IF_ZERO_VALUE, MORE.repeated = {min_items: 2, max_items: 3}"},
	{"map<string, string>", "ignore = IGNORE_IF_ZERO_VALUE, MORE.map.min_pairs = 2"},
	{"Strict", ""},
	{"Strict", "ignore = IGNORE_ALWAYS"},
	{"repeated Strict", "repeated.items.ignore = IGNORE_ALWAYS"},
	{"map<string, Strict>", "map.values.ignore = IGNORE_ALWAYS"},
	{"string", `cel = {id: "x", message: "must be even in length", expression: "size(this) % 2 == 0"}`},
	{"string", `cel = {id: "x", expression: "this == 'abc' ? '' : 'must be abc'"}`},
	{"string", `cel_expression = "size(this) < 4"`},
	{"repeated string", `cel = {id: "x", message: "must not hold a", expression: "!('a' in this)"}`},
	{"map<string, string>", `cel_expression = "size(this) < 2"`},
	{"Inner", `cel = {id: "x", message: "name must be set", expression: "this.name != ''"}`},
	// Strings.
	{"string", `string.const = "abc"`},
	{"string", "string.len = 3"},
	{"string", "string = {min_len: 2, max_len: 3}"},
	{"string", "string.len_bytes = 4"},
	{"string", "string = {min_bytes: 3, max_bytes: 6}"},
	{"string", "string = {min_len: 1, max_len: 4, max_bytes: 8}"},
	{"string", `string.pattern = "^[a-c]+$"`},
	{"string", `string.pattern = "(?i)^abc$"`},
	{"string", `string.pattern = "^\\pL.\\s*$"`},
	{"string", `string.pattern = "a.c\\z"`},
	{"string", `string.pattern = "("`},
	{"string", `string.prefix = "pre.fix"`},
	{"string", `string.suffix = "[end]"`},
	{"string", `string.contains = "a/b"`},
	{"string", `string.not_contains = "b"`},
	{"string", `string = {prefix: "ab", suffix: "bc", pattern: "^a"}`},
	{"string", `string = {in: ["abc", "x"]}`},
	{"string", `string = {not_in: ["abc", ""]}`},
	{"string", "string.email = true"},
	{"string", "string.email = false"},
	{"string", "string.hostname = true"},
	{"string", "string.ip = true"},
	{"string", "string.ipv4 = true"},
	{"string", "string.ipv6 = true"},
	{"string", "string.uri = true"},
	{"string", "string.uri_ref = true"},
	{"string", "string.address = true"},
	{"string", "string.uuid = true"},
	{"string", "string.tuuid = true"},
	{"string", "string.ip_with_prefixlen = true"},
	{"string", "string.ipv4_with_prefixlen = true"},
	{"string", "string.ipv6_with_prefixlen = true"},
	{"string", "string.ip_prefix = true"},
	{"string", "string.ipv4_prefix = true"},
	{"string", "string.ipv6_prefix = true"},
	{"string", "string.host_and_port = true"},
	{"string", "string.ulid = true"},
	{"string", "string.protobuf_fqn = true"},
	{"string", "string.protobuf_dot_fqn = true"},
	{"string", "string.well_known_regex = KNOWN_REGEX_HTTP_HEADER_NAME"},
	{"string", "string = {well_known_regex: KNOWN_REGEX_HTTP_HEADER_NAME, strict: false}"},
	{"string", "string.well_known_regex = KNOWN_REGEX_HTTP_HEADER_VALUE"},
	{"string", "string = {well_known_regex: KNOWN_REGEX_HTTP_HEADER_VALUE, strict: false}"},
	{"string", `string = {example: ["abc", "x"]}`},
	{"string", "string.(even) = true"},
	{"string", "string.(even) = false"},
	{"string", "string.(at_most) = 3"},
	{"google.protobuf.StringValue", "string = {min_len: 2}"},
	{"string", "int32.gt = 3"},
	// Bytes.
	{"bytes", `bytes.const = "abc"`},
	{"bytes", "bytes.len = 4"},
	{"bytes", "bytes = {min_len: 2, max_len: 4}"},
	{"bytes", `bytes.pattern = "^a"`},
	{"bytes", `bytes = {prefix: "a", suffix: "c", contains: "b"}`},
	{"bytes", `bytes = {in: ["abc", "\xff\xfe"]}`},
	{"bytes", `bytes = {not_in: ["abc"]}`},
	{"bytes", "bytes.ip = true"},
	{"bytes", "bytes.ipv4 = true"},
	{"bytes", "bytes.ipv6 = true"},
	{"bytes", "bytes.uuid = true"},
	{"bytes", `bytes = {example: ["abc"]}`},
	// Bool.
	{"bool", "bool.const = true"},
	{"bool", "bool.const = false"},
	{"bool", "bool = {example: [true]}"},
	// Enums.
	{"Color", "enum.const = 1"},
	{"Color", "enum.defined_only = true"},
	{"Color", "enum = {in: [1, 2]}"},
	{"Color", "enum = {not_in: [2, 77]}"},
	{"Color", "enum = {in: [99]}"},
	{"Color", "enum = {example: [2]}"},
	{"repeated Color", "repeated.items.enum.in = 1"},
	// Lists and maps.
	{"repeated string", "repeated = {min_items: 1, max_items: 2}"},
	{"repeated string", "repeated.unique = true"},
	{"repeated string", "repeated = {max_items: 2, items: {string: {min_len: 2}}}"},
	{"repeated string", "repeated = {items: {ignore: IGNORE_IF_ZERO_VALUE, string: {min_len: 2}}}"},
	{"repeated int32", "repeated.items.int32.gt = 3"},
	{"map<string, string>", "map = {min_pairs: 1, max_pairs: 1}"},
	{"map<string, string>", "map = {keys: {string: {max_len: 1}}, values: {string: {min_len: 1}}}"},
	{"map<string, string>", `map = {keys: {string: {in: ["a", "abc"]}}}`},
	{"map<int32, int32>", "map = {keys: {int32: {gt: 0}}, values: {int32: {lt: 5}}}"},
	{"map<bool, Color>", "map = {keys: {bool: {const: true}}, values: {enum: {in: [1]}}}"},
	// Messages.
	{"google.protobuf.Any", `any = {in: ["type.googleapis.com/google.protobuf.Duration"]}`},
	{"google.protobuf.Any", `any = {not_in: ["type.googleapis.com/google.protobuf.Duration"]}`},
	{"google.protobuf.Duration", "duration = {const: {seconds: 3}}"},
	{"google.protobuf.Duration", "duration = {gt: {seconds: 3}, lte: {seconds: 5, nanos: 500000000}}"},
	{"google.protobuf.Duration", "duration = {gte: {seconds: 5}, lt: {seconds: 3}}"},
	{"google.protobuf.Duration", "duration = {in: [{seconds: 3}], not_in: [{seconds: -4, nanos: -1}], example: [{seconds: 3}]}"},
	{"google.protobuf.Timestamp", "timestamp = {const: {seconds: 1000}}"},
	{"google.protobuf.Timestamp", "timestamp = {gte: {seconds: 3}, lt: {seconds: 2000}, example: [{seconds: 1000}]}"},
	{"google.protobuf.Timestamp", "timestamp = {lt_now: true, within: {seconds: 3600}}"},
	{"google.protobuf.Timestamp", "timestamp.gt_now = true"},
	{"google.protobuf.FieldMask", `field_mask = {const: {paths: ["a_b"]}}`},
	{"google.protobuf.FieldMask", `field_mask = {in: ["a_b"], not_in: ["a_b.c"], example: [{paths: ["a_b"]}]}`},
}

// numeric are the numeric types, each of which has the same rules.
var numeric = []string{"float", "double", "int32", "int64", "uint32", "uint64", "sint32", "sint64",
	"fixed32", "fixed64", "sfixed32", "sfixed64"}

var numericRules = []string{"const: 3", "lt: 3", "lte: 3", "gt: 3", "gte: 3", "gt: 3, lt: 7", "gte: 3, lte: 7", "gte: 7, lt: 3",
	"gt: 3, lt: 3", "gte: 3, lte: 3", "in: [3, 7]", "not_in: [3, 0]", "example: [3, 7]"}

func ruledSource() string {
	var b strings.Builder
	b.WriteString(`syntax = "proto3";
package rules.v1;
import "buf/validate/validate.proto";
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "predefined.proto";
enum Color { COLOR_UNSPECIFIED = 0; RED = 1; GREEN = 2; CRIMSON = 3; }
message Inner { string name = 1; }
message Strict {
  string name = 1 [(buf.validate.field).string.min_len = 3];
  optional string need = 2 [(buf.validate.field).required = true];
}
message Whole {
  option (buf.validate.message).cel = {id: "w", message: "a must differ from b", expression: "this.a != this.b"};
  option (buf.validate.message).cel_expression = "size(this.a) < 10";
  option (buf.validate.message).oneof = {fields: ["a", "b"], required: true};
  option (buf.validate.message).oneof = {fields: ["c_c", "d"]};
  string a = 1 [(buf.validate.field).string.min_len = 3];
  string b = 2;
  optional string c_c = 3;
  optional string d = 4;
  oneof choice {
    option (buf.validate.oneof).required = true;
    string e = 5 [(buf.validate.field).string.min_len = 2];
    Inner f = 6;
  }
  oneof other {
    string g = 7;
    string h = 8;
  }
}
`)
	for i, f := range ruledFields() {
		fmt.Fprintf(&b, "message M%d {\n  %s field = 1", i, f.typ)
		if f.rules != "" {
			fmt.Fprintf(&b, " [(buf.validate.field).%s]", strings.ReplaceAll(f.rules, "MORE", "(buf.validate.field)"))
		}
		b.WriteString(";\n}\n")
	}
	return b.String()
}

const predefinedSource = `syntax = "proto2";
package rules.v1;
import "buf/validate/validate.proto";
extend buf.validate.StringRules {
  optional bool even = 1001 [(buf.validate.predefined).cel = {id: "even", message: "must have even length", expression: "!rule || size(this) % 2 == 0"}];
  optional int32 at_most = 1002 [(buf.validate.predefined).cel = {id: "at_most", message: "is too long", expression: "size(this) <= rule"}];
}
`

func ruledFields() []struct{ typ, rules string } {
	all := slices.Clone(ruled)
	for _, typ := range numeric {
		for _, rule := range numericRules {
			all = append(all, struct{ typ, rules string }{typ, typ + " = {" + rule + "}"})
		}
	}
	for _, typ := range []string{"float", "double"} {
		all = append(all, struct{ typ, rules string }{typ, typ + ".finite = true"},
			struct{ typ, rules string }{typ, typ + " = {gt: nan, lt: 5}"},
			struct{ typ, rules string }{typ, typ + " = {gt: 0.1, lte: inf}"})
	}
	return append(all, struct{ typ, rules string }{"google.protobuf.Int64Value", "int64.gt = 3"},
		struct{ typ, rules string }{"google.protobuf.UInt32Value", "uint32.gt = 3"})
}

func ruledFiles(t testing.TB) *protoregistry.Files {
	return compile(t, map[string]string{"rules.proto": ruledSource(), "predefined.proto": predefinedSource})
}

func ruledMessage(t testing.TB, files finder, i int) protoreflect.MessageDescriptor {
	return find[protoreflect.MessageDescriptor](t, files, fmt.Sprintf("rules.v1.M%d", i))
}

func TestGoldenRules(t *testing.T) {
	t.Parallel()
	files := ruledFiles(t)
	for _, profile := range []struct {
		name string
		Profile
	}{{"portable", Portable}, {"full", Full}} {
		var b strings.Builder
		for i, f := range ruledFields() {
			in, out := schemas(t, ruledMessage(t, files, i), Options{Profile: profile.Profile})
			if plain, _ := schemas(t, ruledMessage(t, files, i), Options{Profile: profile.Profile}); string(plain) != string(in) {
				t.Errorf("%s: %s", f.rules, out)
			}
			fmt.Fprintf(&b, "%s [%s]\n%s\n\n", f.typ, f.rules, in)
		}
		for _, name := range []string{"Strict", "Whole"} {
			in, _ := schemas(t, find[protoreflect.MessageDescriptor](t, files, "rules.v1."+name), Options{Profile: profile.Profile})
			fmt.Fprintf(&b, "%s\n%s\n", name, indent(t, in))
		}
		golden(t, "rules."+profile.name+".golden", []byte(b.String()))
	}
}

// TestOutputHasNoRules holds that backends may break their own rules.
func TestOutputHasNoRules(t *testing.T) {
	t.Parallel()
	files := ruledFiles(t)
	for i, f := range ruledFields() {
		bare := compile(t, map[string]string{"bare.proto": `syntax = "proto3"; package rules.v1;
import "google/protobuf/any.proto"; import "google/protobuf/duration.proto"; import "google/protobuf/field_mask.proto";
import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
enum Color { COLOR_UNSPECIFIED = 0; RED = 1; GREEN = 2; CRIMSON = 3; }
message Inner { string name = 1; }
message Strict { string name = 1; optional string need = 2; }
message M { ` + f.typ + ` field = 1; }`})
		_, want := schemas(t, find[protoreflect.MessageDescriptor](t, bare, "rules.v1.M"), Options{})
		_, got := schemas(t, ruledMessage(t, files, i), Options{})
		if string(got) != string(want) {
			t.Errorf("%s [%s]: %s, want %s", f.typ, f.rules, got, want)
		}
	}
}

// candidates are values for fields, of which some meet the rules.
func candidates(fd protoreflect.FieldDescriptor) []protoreflect.Value {
	var values []protoreflect.Value
	switch fd.Kind() {
	case protoreflect.StringKind:
		for _, s := range []string{"", "a", "b", "x", "ab", "abc", "ABC", "abcd", "aXc", "abbc", "a/b", "é", "éé", "日本語", "\U0001F600", "\U0001F600\U0001F600\U0001F600",
			"pre.fix and", "pre-fix", "the [end]", "a@b.example", "not an address", "host.example", "127.0.0.1", "::1", "2001:db8::/32", "2001:db8::1/64",
			"192.0.2.1/24", "192.0.2.0/24", "https://a.example/b?c#d", "a.b", ".a.b", "x:80", "[::1]:80",
			"0123abcd-0123-0123-0123-0123456789ab", "0123abcd012301230123012345678901", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "X-Header", "a value\twith tab", "line\nbreak", "zoë"} {
			values = append(values, protoreflect.ValueOfString(s))
		}
	case protoreflect.BytesKind:
		for _, s := range []string{"", "a", "ab", "abc", "abcd", "\xff\xfe", "0123456789abcdef", "0123456789abcdefg"} {
			values = append(values, protoreflect.ValueOfBytes([]byte(s)))
		}
	case protoreflect.BoolKind:
		values = append(values, protoreflect.ValueOfBool(false), protoreflect.ValueOfBool(true))
	case protoreflect.EnumKind:
		for n := range 4 {
			values = append(values, protoreflect.ValueOfEnum(protoreflect.EnumNumber(n)))
		}
	case protoreflect.FloatKind:
		for _, f := range []float32{0, 0.1, 0.2, 3, 5, 7, -2, 1e30} {
			values = append(values, protoreflect.ValueOfFloat32(f))
		}
	case protoreflect.DoubleKind:
		for _, f := range []float64{0, 0.1, 0.2, 3, 5, 7, -2, 1e300} {
			values = append(values, protoreflect.ValueOfFloat64(f))
		}
	case protoreflect.MessageKind:
		values = messageCandidates(fd.Message())
	default:
		for _, n := range []int64{0, 2, 3, 4, 5, 6, 7, 8, 10, -3} {
			switch fd.Kind() {
			case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
				values = append(values, protoreflect.ValueOfInt32(int32(n)))
			case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
				values = append(values, protoreflect.ValueOfUint32(uint32(max(n, 0))))
			case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
				values = append(values, protoreflect.ValueOfUint64(uint64(max(n, 0))))
			default:
				values = append(values, protoreflect.ValueOfInt64(n))
			}
		}
	}
	return values
}

func messageCandidates(md protoreflect.MessageDescriptor) []protoreflect.Value {
	var values []protoreflect.Value
	add := func(set map[protoreflect.Name]protoreflect.Value) {
		m := dynamicpb.NewMessage(md)
		for name, v := range set {
			m.Set(md.Fields().ByName(name), v)
		}
		values = append(values, protoreflect.ValueOfMessage(m))
	}
	switch md.FullName() {
	case "google.protobuf.Any":
		add(nil)
		for _, name := range []string{"Duration", "Timestamp"} {
			add(map[protoreflect.Name]protoreflect.Value{"type_url": protoreflect.ValueOfString("type.googleapis.com/google.protobuf." + name)})
		}
	case "google.protobuf.Duration", "google.protobuf.Timestamp":
		for _, s := range []int64{0, 2, 3, 4, 5, 1000, time.Now().Unix() - 60, time.Now().Unix() + 3600} {
			add(map[protoreflect.Name]protoreflect.Value{"seconds": protoreflect.ValueOfInt64(s)})
		}
	case "google.protobuf.FieldMask":
		add(nil)
		m := dynamicpb.NewMessage(md)
		m.Mutable(md.Fields().ByName("paths")).List().Append(protoreflect.ValueOfString("a_b"))
		values = append(values, protoreflect.ValueOfMessage(m))
	default:
		add(nil)
		first := md.Fields().Get(0)
		for _, v := range candidates(first) {
			set := map[protoreflect.Name]protoreflect.Value{first.Name(): v}
			add(set)
			if need := md.Fields().ByName("need"); need != nil {
				set[need.Name()] = protoreflect.ValueOfString("x")
				add(set)
			}
		}
	}
	return values
}

// filled returns messages with the first field set in many ways.
func filled(md protoreflect.MessageDescriptor) []proto.Message {
	fd := md.Fields().Get(0)
	all := []proto.Message{dynamicpb.NewMessage(md)}
	add := func(fill func(m *dynamicpb.Message)) {
		m := dynamicpb.NewMessage(md)
		fill(m)
		all = append(all, m)
	}
	switch {
	case fd.IsMap():
		keys, values := candidates(fd.MapKey()), candidates(fd.MapValue())
		for i := range max(len(keys), len(values)) {
			for n := range 3 {
				add(func(m *dynamicpb.Message) {
					for j := range n + 1 {
						m.Mutable(fd).Map().Set(keys[(i+j)%len(keys)].MapKey(), values[(i+j*3)%len(values)])
					}
				})
			}
		}
	case fd.IsList():
		values := candidates(fd)
		for i := range values {
			for n := range 4 {
				add(func(m *dynamicpb.Message) {
					for j := range n + 1 {
						m.Mutable(fd).List().Append(values[(i+j*j)%len(values)])
					}
				})
			}
		}
	default:
		for _, v := range candidates(fd) {
			add(func(m *dynamicpb.Message) { m.Set(fd, v) })
		}
	}
	return all
}

// TestSchemaAcceptsWhatRulesAccept holds the schemas against protovalidate
// itself: they accept what it accepts, and where no words are needed, they
// accept nothing else.
func TestSchemaAcceptsWhatRulesAccept(t *testing.T) {
	t.Parallel()
	files := ruledFiles(t)
	for i, f := range ruledFields() {
		md := ruledMessage(t, files, i)
		rules, err := protovalidate.New(protovalidate.WithMessageDescriptors(md))
		if err != nil {
			t.Fatal(err)
		}
		for _, profile := range []Profile{Portable, Full} {
			in, _ := schemas(t, md, Options{Profile: profile})
			s := validator(t, in)
			met := 0
			for _, m := range filled(md) {
				b, err := protojson.MarshalOptions{EmitUnpopulated: !md.Fields().Get(0).HasPresence()}.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				err = rules.Validate(m)
				if err != nil && !strings.Contains(err.Error(), "validation error") {
					met = -1 // the rules are wrong, and nothing is sent
					break
				}
				accepted := accepts(t, s, b)
				switch {
				case err == nil && accepted != nil:
					if md.Fields().Get(0).Kind() == protoreflect.EnumKind && strings.Contains(string(b), `"COLOR_UNSPECIFIED"`) {
						continue // absent says the same
					}
					t.Errorf("%s [%s] profile %d: %s meets the rules: %v\n%s", f.typ, f.rules, profile, b, accepted, in)
				case err == nil:
					met++
				case accepted == nil && !strings.Contains(string(in), "description") && !strings.Contains(string(in), `"format"`) &&
					len(b) > len("{}") && !strings.Contains(string(b), "[]") &&
					// Absent fields without presence are checked, too, and
					// protovalidate refuses an empty header value.
					f.typ != "Strict" && !strings.Contains(f.rules, "HEADER_VALUE"):
					t.Errorf("%s [%s] profile %d: %s breaks the rules: %v\n%s", f.typ, f.rules, profile, b, err, in)
				}
			}
			if met == 0 && !strings.Contains(f.rules, "gt: 3, lt: 3") && !strings.Contains(f.rules, "99") {
				t.Errorf("%s [%s]: no candidate meets the rules", f.typ, f.rules)
			}
		}
	}
}

// TestRulesFromReflection reads rules that are unknown fields.
func TestRulesFromReflection(t *testing.T) {
	t.Parallel()
	compiled := ruledFiles(t)
	var set descriptorpb.FileDescriptorSet
	seen := map[string]bool{}
	var add func(fd protoreflect.FileDescriptor)
	add = func(fd protoreflect.FileDescriptor) {
		if seen[fd.Path()] {
			return
		}
		seen[fd.Path()] = true
		for i := range fd.Imports().Len() {
			add(fd.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(fd))
	}
	compiled.RangeFiles(func(fd protoreflect.FileDescriptor) bool { add(fd); return true })
	b, err := proto.Marshal(&set)
	if err != nil {
		t.Fatal(err)
	}
	for name, resolver := range map[string]protoregistryResolver{"unknown": new(protoregistry.Types), "known": protoregistry.GlobalTypes} {
		set.Reset()
		if err := (proto.UnmarshalOptions{Resolver: resolver}).Unmarshal(b, &set); err != nil {
			t.Fatal(err)
		}
		reflected, err := protodesc.NewFiles(&set)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range ruledFields() {
			in, _ := schemas(t, ruledMessage(t, compiled, i), Options{})
			again, _ := schemas(t, ruledMessage(t, reflected, i), Options{})
			if string(in) != string(again) {
				t.Errorf("%s: %s [%s] differs:\n%s\n%s", name, f.typ, f.rules, in, again)
			}
		}
	}
}

type protoregistryResolver interface {
	protoregistry.ExtensionTypeResolver
}

// TestWords holds what has no keyword.
func TestWords(t *testing.T) {
	t.Parallel()
	files := ruledFiles(t)
	for i, f := range ruledFields() {
		in, _ := schemas(t, ruledMessage(t, files, i), Options{})
		for rules, want := range map[string]string{
			"string.(even) = true":             "Must have even length.",
			"string.(at_most) = 3":             "Is too long (at_most: 3).",
			"string.(even) = false":            `"field":{"type":"string"}`,
			"int64 = {gte: 7, lt: 3}":          "Must be less than 3 or at least 7.",
			"int32 = {gte: 7, lt: 3}":          "Must be less than 3 or at least 7.",
			"int64 = {gt: 3, lt: 7}":           "Must be greater than 3 and less than 7.",
			"timestamp.gt_now = true":          "Must be in the future.",
			"int32.gt = 3":                     `"field":{"type":"string"}`,
			`string.pattern = "("`:             `"field":{"type":"string"}`,
			"duration = {const: {seconds: 3}}": "Must be 3s.",
		} {
			if f.rules == rules && !strings.Contains(string(in), want) {
				t.Errorf("%s [%s]: %q is not in %s", f.typ, f.rules, want, in)
			}
		}
	}
	var whole struct{ Description string }
	in, _ := schemas(t, find[protoreflect.MessageDescriptor](t, files, "rules.v1.Whole"), Options{})
	if err := json.Unmarshal(in, &whole); err != nil {
		t.Fatal(err)
	}
	const want = "A must differ from b. Must satisfy the CEL expression size(this.a) < 10. " +
		"Exactly one must be set of a, b. At most one may be set of cC, d."
	if whole.Description != want {
		t.Errorf("description %q, want %q", whole.Description, want)
	}
}

// A field is required where protovalidate refuses a message without it. What
// expressions refuse is not known.
func TestRequiredWhereZeroBreaksRules(t *testing.T) {
	t.Parallel()
	files := ruledFiles(t)
	allowed := byRules(t, protovalidate.WithExtensionTypeResolver(dynamicpb.NewTypes(files)))
	n := 0
	for i, f := range ruledFields() {
		md := ruledMessage(t, files, i)
		fd := md.Fields().ByName("field")
		in, err := Input(md, Options{})
		if err != nil {
			t.Fatal(err)
		}
		required := strings.HasSuffix(string(in.JSON), `,"required":["field"]}`)
		needed := !allowed(dynamicpb.NewMessage(md))
		custom := strings.Contains(f.rules, "cel") || strings.Contains(f.rules, "rules.v1.")
		// The library refuses an empty value of a header, which the rule allows.
		if strings.Contains(f.rules, "HTTP_HEADER_VALUE, strict: false") {
			continue
		}
		mistaken := f.rules == `string.pattern = "("` || strings.Contains(f.rules, "int32.gt") && fd.Kind() == protoreflect.StringKind
		if required != needed && !custom && !mistaken {
			t.Errorf("%s [%s]: required %t in %s, but a message without it is refused: %t", f.typ, f.rules, required, in.JSON, needed)
		}
		if required && !needed {
			t.Errorf("%s [%s]: required, but a message without it is accepted", f.typ, f.rules)
		}
		if required {
			n++
		}
	}
	if n < 100 {
		t.Errorf("%d fields are required", n)
	}
}
