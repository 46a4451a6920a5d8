package transcode_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// roots are types to test as the outermost one.
var roots = []protoreflect.FullName{
	"kitchen.v1.Sink", "kitchen.v1.Legacy", "kitchen.v1.Modern", "kitchen.v1.Pantry", "kitchen.v1.Larder", "kitchen.v1.Wide",
	"google.protobuf.Timestamp", "google.protobuf.Duration", "google.protobuf.FieldMask",
	"google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue",
	"google.protobuf.Any", "google.protobuf.Empty", "google.protobuf.Int64Value", "google.protobuf.StringValue",
}

// unwrap returns what stands in the member "value".
func unwrap(tb testing.TB, md protoreflect.MessageDescriptor, out []byte) []byte {
	tb.Helper()
	if !transcode.Wrapped(md) {
		return out
	}
	inner, ok := bytes.CutPrefix(out, []byte(`{"value":`))
	if !ok {
		tb.Fatalf("not wrapped: %s", out)
	}
	return inner[:len(inner)-1]
}

// sorted returns the wire form of the same message in one order.
func sorted(tb testing.TB, k *kitchen, md protoreflect.MessageDescriptor, wire []byte) []byte {
	tb.Helper()
	m := dynamicpb.NewMessage(md)
	if err := unmarshal(k, wire, m); err != nil {
		tb.Fatalf("%x: %v", wire, err)
	}
	// The contents of an Any are bytes to protobuf.
	k.sortAny(tb, m)
	out, err := proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// sortAny sorts the contents of every Any in a message.
func (k *kitchen) sortAny(tb testing.TB, m protoreflect.Message) {
	tb.Helper()
	if m.Descriptor().FullName() == "google.protobuf.Any" {
		fields := m.Descriptor().Fields()
		if typ, err := k.types.FindMessageByURL(m.Get(fields.ByNumber(1)).String()); err == nil {
			if contents := sorted(tb, k, typ.Descriptor(), m.Get(fields.ByNumber(2)).Bytes()); len(contents) > 0 {
				m.Set(fields.ByNumber(2), protoreflect.ValueOfBytes(contents))
			}
		}
		return
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap():
			if fd.MapValue().Message() != nil {
				v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
					k.sortAny(tb, v.Message())
					return true
				})
			}
		case fd.Message() == nil:
		case fd.IsList():
			for i := range v.List().Len() {
				k.sortAny(tb, v.List().Get(i).Message())
			}
		default:
			k.sortAny(tb, v.Message())
		}
		return true
	})
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	k := load(t)
	for _, name := range roots {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			md := k.message(t, name)
			codec := k.codec(t, name, transcode.Options{})
			defaults := k.codec(t, name, transcode.Options{Output: transcode.All})
			for seed := range uint64(300) {
				g := generator{rand.New(rand.NewPCG(seed, 1)), k}
				m := dynamicpb.NewMessage(md)
				g.fill(m, 4)
				wire, err := proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				out, warnings, err := codec.AppendJSON([]byte("x"), wire)
				if err != nil || len(warnings) > 0 {
					t.Fatalf("seed %d: %v, warnings %q", seed, err, warnings)
				}
				out = out[1:]
				want, err := protojson.MarshalOptions{Resolver: k.types, AllowPartial: true}.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				want = jsontok.AppendCompact(nil, want)
				if got := unwrap(t, md, out); !bytes.Equal(got, want) {
					t.Fatalf("seed %d:\n got %s\nwant %s", seed, got, want)
				}
				back, err := codec.AppendWire([]byte("x"), out)
				if err != nil {
					t.Fatalf("seed %d: %v\n%s", seed, err, out)
				}
				if got := sorted(t, k, md, back[1:]); !bytes.Equal(got, wire) {
					t.Fatalf("seed %d: %s\n got %x\nwant %x", seed, out, got, wire)
				}
				full, _, err := defaults.AppendJSON(nil, wire)
				if err != nil {
					t.Fatal(err)
				}
				want, err = protojson.MarshalOptions{Resolver: k.types, AllowPartial: true, EmitDefaultValues: true}.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				if got := unwrap(t, md, full); !bytes.Equal(got, jsontok.AppendCompact(nil, want)) {
					t.Fatalf("seed %d with defaults:\n got %s\nwant %s", seed, got, want)
				}
			}
		})
	}
}

func TestAppendWireLenient(t *testing.T) {
	t.Parallel()
	k := load(t)
	codec := k.codec(t, "kitchen.v1.Sink", transcode.Options{})
	// Each input must give the same message as the canonical JSON.
	tests := []struct{ name, in, canonical string }{
		{"absent", ``, `{}`},
		{"blank", " \n", `{}`},
		{"null", `null`, `{}`},
		{"whole text a string", `"{\"fInt32\":5}"`, `{"fInt32":5}`},
		{"proto names", `{"f_int32":5,"renamed":"a"}`, `{"fInt32":5,"otherName":"a"}`},
		{"int32 in quotes", `{"fInt32":" 5 "}`, `{"fInt32":5}`},
		{"int32 as float", `{"fInt32":5.0,"fSint32":1e2,"fUint32":150e-1}`, `{"fInt32":5,"fSint32":100,"fUint32":15}`},
		{"int64 as number", `{"fInt64":9007199254740993,"fUint64":18446744073709551615}`, `{"fInt64":"9007199254740993","fUint64":"18446744073709551615"}`},
		{"int64 as float", `{"fInt64":-9007199254740992.0,"fSint64":1e3}`, `{"fInt64":"-9007199254740992","fSint64":"1000"}`},
		{"int64 as float in quotes", `{"fInt64":"1e18"}`, `{"fInt64":"1000000000000000000"}`},
		{"floats", `{"fDouble":"1.5","fFloat":"nan","rDouble":["inf","-INF","Infinity",2]}`, `{"fDouble":1.5,"fFloat":"NaN","rDouble":["Infinity","-Infinity","Infinity",2]}`},
		{"bools", `{"fBool":"true","rBool":["False",true]}`, `{"fBool":true,"rBool":[false,true]}`},
		{"base64", `{"fBytes":"-_8=","rBytes":["+/8=","","\u002b\/8=","-_8="]}`, `{"fBytes":"+/8=","rBytes":["+/8=","","+/8=","+/8="]}`},
		{"enum names", `{"fColor":"color_red","rColor":["Red","verdant","blue",2,"2","BLUE",4711]}`, `{"fColor":"COLOR_RED","rColor":["COLOR_RED","COLOR_GREEN","BLUE","COLOR_GREEN","COLOR_GREEN","BLUE",4711]}`},
		{"nulls", `{"fInt32":null,"child":null,"rString":null,"mString":null,"time":null,"cardNumber":null,"cash":1}`, `{"cash":"1"}`},
		{"scalar for list", `{"rString":"a","rInt64":5,"rSink":{"fBool":true}}`, `{"rString":["a"],"rInt64":["5"],"rSink":[{"fBool":true}]}`},
		{"list as string", `{"rString":"[\"a\",\"b\"]","rInt64":" [1,2]","rSink":"[{}]"}`, `{"rString":["a","b"],"rInt64":["1","2"],"rSink":[{}]}`},
		{"string that looks like a list", `{"rString":"[1]","fString":"{\"a\":1}"}`, `{"rString":["[1]"],"fString":"{\"a\":1}"}`},
		{"object as string", `{"child":"{\"child\":\"{\\\"fBool\\\":true}\"}","mString":"{\"a\":\"b\"}"}`, `{"child":{"child":{"fBool":true}},"mString":{"a":"b"}}`},
		{"struct as string", `{"struct":"{\"a\":\"{}\"}","list":"[\"[]\"]","value":"{}"}`, `{"struct":{"a":"{}"},"list":["[]"],"value":"{}"}`},
		{"oneof in an object", `{"paymentMethod":{"cardNumber":"1"}}`, `{"cardNumber":"1"}`},
		{"oneof in an object, proto name", `{"payment_method":{"barter":{"fBool":true}}}`, `{"barter":{"fBool":true}}`},
		{"durations", `{"duration":3}`, `{"duration":"3s"}`},
		{"duration in quotes", `{"duration":"-1.5"}`, `{"duration":"-1.500s"}`},
		{"duration of Go", `{"duration":"1h30m"}`, `{"duration":"5400s"}`},
		{"duration of ISO", `{"duration":"PT3S"}`, `{"duration":"3s"}`},
		{"long duration of ISO", `{"duration":"-P1W1DT1H1M1.25S"}`, `{"duration":"-694861.250s"}`},
		{"mask as array", `{"mask":["a_b","c.dE"]}`, `{"mask":"aB,c.dE"}`},
		{"mask in snake_case", `{"mask":"a_b, c"}`, `{"mask":"aB,c"}`},
		{"mask as object", `{"mask":{"paths":["a_b"]}}`, `{"mask":"aB"}`},
		{"mask array as string", `{"mask":"[\"a_b\"]"}`, `{"mask":"aB"}`},
		{"map keys", `{"mInt64":{"01":""},"mBool":{"true":null}}`, `{"mInt64":{"1":""},"mBool":{"true":null}}`},
		{"NullValue", `{"null":null,"nothing":"null_value"}`, `{"nothing":null}`},
		{"any of empty", `{"any":{"@type":"type.googleapis.com/google.protobuf.Empty","value":{}}}`, `{"any":{"@type":"type.googleapis.com/google.protobuf.Empty"}}`},
		{"type not first", `{"any":{"fInt32":"5","@type":"a/kitchen.v1.Sink"}}`, `{"any":{"@type":"a/kitchen.v1.Sink","fInt32":5}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wire, err := codec.AppendWire(nil, []byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			m := dynamicpb.NewMessage(k.message(t, "kitchen.v1.Sink"))
			if err := (protojson.UnmarshalOptions{Resolver: k.types}).Unmarshal([]byte(tt.canonical), m); err != nil {
				t.Fatal(err)
			}
			want, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(sorted(t, k, m.Descriptor(), wire), want) {
				got, _, _ := codec.AppendJSON(nil, wire)
				t.Errorf("got %s, want %s", got, tt.canonical)
			}
		})
	}
}

func TestAppendWireErrors(t *testing.T) {
	t.Parallel()
	k := load(t)
	tests := []struct {
		name string
		root protoreflect.FullName
		in   string
		want string
	}{
		{"syntax", "Sink", `{"fInt32":`, "not valid JSON: at byte 10: want a value, got the end of the text"},
		{"not UTF-8", "Sink", "{\"fString\":\"\xff\"}", "not valid JSON: at byte 12: byte 0xff in a string is not valid UTF-8"},
		{"NaN", "Sink", `{"fDouble":NaN}`, "not valid JSON: at byte 11: want a value, got 'N'"},
		{"not an object", "Sink", `[1]`, "wrong type; want an object (kitchen.v1.Sink), got an array"},
		{"unknown field", "Sink", `{"child":{"fStrin":1}}`, `child.fStrin: unknown field; did you mean "fString"?`},
		{"unknown field, other style", "Sink", `{"F-String":1}`, `F-String: unknown field; did you mean "fString"?`},
		{"unknown field, few names", "Modern", `{"zzz":1}`, "zzz: unknown field; want one of explicit, implicit, delimited, expanded, unchecked, labels"},
		{"unknown field of Empty", "Sink", `{"empty":{"a":1}}`, "empty.a: unknown field; no fields are possible here"},
		{"unknown extension", "Legacy", `{"id":1,"[kitchen.v1.nope]":1}`, `[kitchen.v1.nope]: unknown field; want one of id, shade, shades, text, part, next, byName`},
		{"two of a oneof", "Sink", `{"cash":1,"cardNumber":"2"}`, `cardNumber: "cash" and "cardNumber" are both set, but they exclude each other (oneof payment_method); keep one`},
		{"two of a wrapped oneof", "Sink", `{"cash":1,"paymentMethod":{"cardNumber":"2"}}`, `paymentMethod.cardNumber: "cash" and "cardNumber" are both set, but they exclude each other (oneof payment_method); keep one`},
		{"wrong member of a wrapped oneof", "Sink", `{"paymentMethod":{"fBool":true}}`, `paymentMethod.fBool: unknown field; want one of cardNumber, cash, barter, nothing, anything`},
		{"oneof as scalar", "Sink", `{"paymentMethod":1}`, `paymentMethod: wrong type; want no member of this name but one of those that the oneof is for: one of cardNumber, cash, barter, nothing, anything, got the number 1`},
		{"twice", "Sink", `{"fBool":true,"fBool":null}`, `fBool: the field occurs twice`},
		{"twice, both names", "Sink", `{"fBool":true,"f_bool":null}`, `f_bool: the field occurs twice, as "fBool" and as "f_bool"; keep one`},
		{"twice in a map", "Sink", `{"mInt32":{"1":{},"01":{}}}`, `mInt32["01"]: the key occurs twice`},
		{"twice in a struct", "Sink", `{"struct":{"a":{"b":1,"b":2}}}`, `struct["a"]["b"]: the key occurs twice`},
		{"string for int", "Sink", `{"fInt32":"many"}`, `fInt32: wrong type; want an integer from -2147483648 to 2147483647, got the string "many"`},
		{"int out of range", "Sink", `{"fUint32":-1}`, `fUint32: out of range; want an integer from 0 to 4294967295, got the number -1`},
		{"int far out of range", "Sink", `{"fInt64":1e999999999999}`, `fInt64: out of range; want an integer from -9223372036854775808 to 9223372036854775807, got the number 1e999999999999`},
		{"fraction", "Sink", `{"fInt32":1.5}`, `fInt32: not a whole number; want an integer from -2147483648 to 2147483647, got the number 1.5`},
		{"imprecise", "Sink", `{"fInt64":9.007199254740993e15}`, `fInt64: integers above 2^53 lose digits in this form; want all digits in quotes, such as "9007199254740993", got the number 9.007199254740993e15`},
		{"float out of range", "Sink", `{"fFloat":1e39}`, `fFloat: out of range; want a number that a 32-bit float can hold, got the number 1e39`},
		{"number for string", "Sink", `{"rString":["a",5]}`, `rString[1]: wrong type; want a string: put it in quotes, as "5", got the number 5`},
		{"lone surrogate", "Sink", `{"fString":"a\ud800"}`, `fString: an escaped surrogate has no partner, so it stands for no character, got the string "a\ud800"`},
		{"number for bool", "Sink", `{"fBool":1}`, `fBool: wrong type; want true or false, got the number 1`},
		{"bytes", "Sink", `{"fBytes":"a b"}`, `fBytes: not base64; want bytes in base64: for this text, send "YSBi", got the string "a b"`},
		{"enum", "Sink", `{"fColor":"REDD"}`, `fColor: no value of kitchen.v1.Color; want one of COLOR_UNSPECIFIED, COLOR_RED, COLOR_GREEN, COLOR_VERDANT, BLUE, got the string "REDD"; did you mean "COLOR_RED"?`},
		{"enum of the wrong type", "Sink", `{"fColor":true}`, `fColor: wrong type; want one of COLOR_UNSPECIFIED, COLOR_RED, COLOR_GREEN, COLOR_VERDANT, BLUE, got the boolean true`},
		{"closed enum", "Legacy", `{"id":1,"shade":3}`, `shade: the number is no value of the closed enum kitchen.v1.Shade; want one of LIGHT, DARK, got the number 3`},
		{"required", "Legacy", `{"next":{"id":null}}`, "invalid arguments, 2 problems:\n- next.id: the required field is null; want an integer from -2147483648 to 2147483647\n- id: the required field is missing; want an integer from -2147483648 to 2147483647"},
		{"null in a list", "Sink", `{"rString":[null]}`, `rString[0]: null cannot be in a list; leave it out; want a string, got null`},
		{"null in a map", "Sink", `{"mString":{"a b":null}}`, `mString["a b"]: null cannot be the value of a key; leave the key out; want a string, got null`},
		{"map key", "Sink", `{"mBool":{"yes":1}}`, `mBool["yes"]: wrong type of key; want true or false in quotes, got "yes"`},
		{"time without zone", "Sink", `{"time":"2026-01-31T09:30:00"}`, `time: the time zone is missing; append Z for UTC, or an offset such as +02:00; want a time such as "2026-01-31T09:30:00Z", got the string "2026-01-31T09:30:00"`},
		{"date for time", "Sink", `{"rTime":["2026-01-31"]}`, `rTime[0]: the time of day is missing; append T00:00:00Z for midnight in UTC; want a time such as "2026-01-31T09:30:00Z", got the string "2026-01-31"`},
		{"number for time", "Sink", `{"time":5}`, `time: wrong type; want a time such as "2026-01-31T09:30:00Z", got the number 5`},
		{"duration", "Sink", `{"duration":"soon"}`, `duration: not a duration, or finer than a nanosecond; want a duration in seconds such as "1.5s", got the string "soon"`},
		{"months", "Sink", `{"duration":"P1M"}`, `duration: not a duration, or finer than a nanosecond; want a duration in seconds such as "1.5s", got the string "P1M"`},
		{"long duration", "Sink", `{"duration":315576000001}`, `duration: out of range; want at most 315576000000 seconds, about 10000 years, got the number 315576000001`},
		{"mask", "Sink", `{"mask":["a","b c"]}`, `mask[1]: "b c" is no path of field names; want field names such as "title,author.displayName"`},
		{"any without type", "Sink", `{"any":{"a":1}}`, `any: the type is missing; want an object with the type in the member "@type", such as {"@type": "type.googleapis.com/package.Message"}, and the fields beside it`},
		{"any of unknown type", "Sink", `{"any":{"@type":"x/no.Such","a":1}}`, `any: unknown type in "@type"; want the full name of a message type that the service uses, after the last slash, got the string "x/no.Such"`},
		{"any of two types", "Sink", `{"any":{"@type":"x/kitchen.v1.Sink","@type":"x/kitchen.v1.Sink"}}`, `any.@type: the member occurs twice`},
		{"any without value", "Sink", `{"any":{"@type":"x/google.protobuf.Duration"}}`, `any: the member "value" is missing; want a duration in seconds such as "1.5s" in it`},
		{"inside of any", "Sink", `{"any":{"@type":"x/kitchen.v1.Sink","fInt":1}}`, `any.fInt: unknown field; did you mean "fInt32" or "fInt64"?`},
		{"wrapper", "Sink", `{"wInt32":"x"}`, `wInt32: wrong type; want an integer from -2147483648 to 2147483647, got the string "x"`},
		{"odd names", "Sink", `{"a\nb":1}`, `"a\nb": unknown field; want one of fDouble, fFloat, fInt32, fInt64, fUint32, fUint64, fSint32, fSint64, fFixed32, fFixed64, fSfixed32, fSfixed64, ...`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			codec := k.codec(t, "kitchen.v1."+tt.root, transcode.Options{})
			out, err := codec.AppendWire([]byte("x"), []byte(tt.in))
			if _, ok := errors.AsType[*transcode.ArgumentError](err); !ok {
				t.Fatalf("error %v, want an ArgumentError", err)
			}
			if string(out) != "x" {
				t.Errorf("dst became %q", out)
			}
			want := tt.want
			if !strings.HasPrefix(want, "invalid arguments") {
				want = "invalid arguments: " + want
			}
			if err.Error() != want {
				t.Errorf("error\n%v\nwant\n%s", err, want)
			}
		})
	}
}

func TestViolationsAreBounded(t *testing.T) {
	t.Parallel()
	codec := load(t).codec(t, "kitchen.v1.Sink", transcode.Options{})
	_, err := codec.AppendWire(nil, []byte(`{"rInt64":[`+strings.Repeat(`"x",`, 10000)+`1],"fBool":7}`))
	e, ok := errors.AsType[*transcode.ArgumentError](err)
	if !ok || len(e.Violations) != transcode.MaxViolations || !e.Truncated {
		t.Fatalf("error %v", err)
	}
	if first := strings.SplitN(err.Error(), "\n", 3)[:2]; first[0] != "invalid arguments, the first 10 problems:" || !strings.HasPrefix(first[1], "- rInt64[0]: wrong type") {
		t.Errorf("error begins with %q", first)
	}
}

func TestMaxViolations(t *testing.T) {
	t.Parallel()
	codec := load(t).codec(t, "kitchen.v1.Sink", transcode.Options{MaxViolations: 12})
	_, err := codec.AppendWire(nil, []byte(`{"rInt64":[`+strings.Repeat(`"x",`, 11)+`"x"]}`))
	e, ok := errors.AsType[*transcode.ArgumentError](err)
	if !ok || len(e.Violations) != 12 || e.Truncated {
		t.Fatalf("error %v", err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	k := load(t)
	nest := func(n int) string { return strings.Repeat(`{"child":`, n) + `{}` + strings.Repeat(`}`, n) }
	codec := k.codec(t, "kitchen.v1.Sink", transcode.Options{})
	wire, err := codec.AppendWire(nil, []byte(nest(99)))
	if err != nil {
		t.Fatal(err)
	}
	if out, _, err := codec.AppendJSON(nil, wire); err != nil || string(out) != nest(99) {
		t.Errorf("got %s, %v", out, err)
	}
	if _, err := codec.AppendWire(nil, []byte(nest(100))); err == nil || !strings.Contains(err.Error(), "nested more than 100 deep") {
		t.Errorf("error %v", err)
	}
	if _, err := codec.AppendWire(nil, []byte(nest(1_000_000))); err == nil {
		t.Error("no error")
	}
	deep := k.codec(t, "kitchen.v1.Sink", transcode.Options{MaxDepth: 200})
	if wire, err = deep.AppendWire(nil, []byte(nest(100))); err != nil {
		t.Fatal(err)
	}
	if out, _, err := codec.AppendJSON([]byte("x"), wire); err == nil || !strings.Contains(err.Error(), "nested more than 100 deep, at child.child.") || string(out) != "x" {
		t.Errorf("got %q, %v", out, err)
	}
	// Text inside of strings counts too.
	text := `{}`
	for range 6 {
		text = `{"child":` + string(jsontok.AppendString(nil, text)) + `}`
	}
	if _, err := k.codec(t, "kitchen.v1.Sink", transcode.Options{MaxDepth: 7}).AppendWire(nil, []byte(text)); err != nil {
		t.Error(err)
	}
	if _, err := k.codec(t, "kitchen.v1.Sink", transcode.Options{MaxDepth: 6}).AppendWire(nil, []byte(text)); err == nil {
		t.Error("no error")
	}
	few := k.codec(t, "kitchen.v1.Sink", transcode.Options{MaxMessages: 4})
	if _, err := few.AppendWire(nil, []byte(`{"value":[1]}`)); err != nil {
		t.Error(err)
	}
	if _, err := few.AppendWire(nil, []byte(`{"value":[1,2]}`)); err == nil || !strings.Contains(err.Error(), "more than 4 messages") {
		t.Errorf("error %v", err)
	}
	if _, err := codec.AppendWire(nil, []byte(`{"fInt32":"`+strings.Repeat("9", 10<<20)+`"}`)); err == nil || len(err.Error()) > 300 {
		t.Errorf("error of %d bytes", len(err.Error()))
	}
	if _, err := codec.AppendWire(nil, []byte(`{"`+strings.Repeat("f", 1<<20)+`":1}`)); err == nil || len(err.Error()) > 500 {
		t.Errorf("error of %d bytes", len(err.Error()))
	}
}

func TestAppendJSONDegrades(t *testing.T) {
	t.Parallel()
	k := load(t)
	sink := k.message(t, "kitchen.v1.Sink")
	codec := k.codec(t, "kitchen.v1.Sink", transcode.Options{})
	number := func(name protoreflect.Name) protoreflect.FieldNumber { return sink.Fields().ByName(name).Number() }
	tests := []struct {
		name     string
		wire     []byte
		want     string
		warnings string
	}{
		{"string", field(number("f_string"), "a\xffb"), `{"fString":"a` + "\uFFFD" + `b"}`, "fString: bytes that are not UTF-8 became U+FFFD"},
		{"string further in", field(number("child"), string(field(number("f_string"), "\xff"))), `{"child":{"fString":"` + "\uFFFD" + `"}}`, "child.fString: bytes that are not UTF-8 became U+FFFD"},
		{"unchecked string", field(number("modern"), string(field(5, "\xff"))), `{"modern":{"unchecked":"` + "\uFFFD" + `"}}`, "modern.unchecked: bytes that are not UTF-8 became U+FFFD"},
		{"unchecked keys", field(number("modern"), string(field(6, string(field(1, "\xff"))))+string(field(6, string(field(1, "\xfe"))))), `{"modern":{"labels":{"` + "\uFFFD" + `":""}}}`,
			"modern.labels: the key \"\uFFFD\" held bytes that are not UTF-8; they became U+FFFD|modern.labels: an entry whose key is not UTF-8 is left out, as \"\uFFFD\" is there already"},
		{"empty value", field(number("value"), ""), `{"value":null}`, "value: a Value that holds nothing became null"},
		{"NaN", field(number("r_value"), "\x11\x00\x00\x00\x00\x00\x00\xf8\x7f"), `{"rValue":[null]}`, "rValue[0]: a Value that holds NaN, for which JSON has no number, became null"},
		{"time", field(number("time"), "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), `{"time":null}`, "time: a Timestamp out of range (0 seconds, -1 nanos) became null"},
		{"duration", field(number("duration"), "\x08\x01\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), `{"duration":null}`, "duration: a Duration out of range (1 seconds, -1 nanos) became null"},
		{"mask", field(number("mask"), string(field(1, "ok_path"))+string(field(1, "line_1"))+string(field(1, "*"))), `{"mask":"okPath,line_1,*"}`,
			"mask: the path \"line_1\" of a FieldMask has no form in lowerCamelCase; it is shown as it is|mask: the path \"*\" of a FieldMask has no form in lowerCamelCase; it is shown as it is"},
		{"any of unknown type", field(number("any"), string(field(1, "x/no.Such"))+string(field(2, "\x01\x02"))), `{"any":{"@type":"x/no.Such","value":"AQI="}}`, `any: the contents of an Any are in base64: the type "x/no.Such" is not known`},
		{"any that is broken", field(number("any"), string(field(1, "x/kitchen.v1.Sink"))+string(field(2, "\x01"))), `{"any":{"@type":"x/kitchen.v1.Sink","value":"AQ=="}}`, "any: the contents of an Any are in base64: they are no valid kitchen.v1.Sink"},
		{"any without type", field(number("any"), string(field(2, "\x01"))), `{"any":{"@type":"","value":"AQ=="}}`, "any: the contents of an Any are in base64: it names no type"},
		{"unknown field", field(5000, "a"), `{}`, ""},
		{"key twice, once of another type", []byte(keyTwice), `{"mString":{"a":""}}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, warnings, err := codec.AppendJSON(nil, tt.wire)
			if err != nil {
				t.Fatal(err)
			}
			if string(out) != tt.want {
				t.Errorf("got  %s\nwant %s", out, tt.want)
			}
			if got := strings.Join(warnings, "|"); got != tt.warnings {
				t.Errorf("warnings\n%s\nwant\n%s", got, tt.warnings)
			}
		})
	}
	if out, _, err := codec.AppendJSON([]byte("x"), []byte{0xff}); err == nil || string(out) != "x" || !strings.HasPrefix(err.Error(), "transcode: the message is no valid kitchen.v1.Sink: ") || strings.Contains(err.Error(), "\u00a0") {
		t.Errorf("got %q, %v", out, err)
	}
	// What was degraded without loss is read back.
	for _, text := range []string{`{"any":{"@type":"x/no.Such","value":"AQI="}}`, `{"mask":"okPath,line_1,*"}`} {
		wire, err := codec.AppendWire(nil, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if out, _, err := codec.AppendJSON(nil, wire); err != nil || string(out) != text {
			t.Errorf("got %s, %v, want %s", out, err, text)
		}
	}
}

func TestWrapped(t *testing.T) {
	t.Parallel()
	k := load(t)
	tests := []struct {
		root    protoreflect.FullName
		in, out string
	}{
		{"Timestamp", `{"value":"2026-01-31T10:30:00+01:00"}`, `{"value":"2026-01-31T09:30:00Z"}`},
		{"Timestamp", ``, `{"value":"1970-01-01T00:00:00Z"}`},
		{"Duration", `{"value":3}`, `{"value":"3s"}`},
		{"Value", `{"value":null}`, `{"value":null}`},
		{"Value", `{"value":{"value":[1,"{}"]}}`, `{"value":{"value":[1,"{}"]}}`},
		{"ListValue", `{"value":[1]}`, `{"value":[1]}`},
		{"Int64Value", `{"value":null}`, `{"value":"0"}`},
		{"FieldMask", `{"value":["a_b"]}`, `{"value":"aB"}`},
		{"Struct", `{"value":1}`, `{"value":1}`},
		{"Empty", `{}`, `{}`},
	}
	for _, tt := range tests {
		codec := k.codec(t, "google.protobuf."+tt.root, transcode.Options{})
		wire, err := codec.AppendWire(nil, []byte(tt.in))
		if err != nil {
			t.Errorf("%s %s: %v", tt.root, tt.in, err)
			continue
		}
		if out, _, err := codec.AppendJSON(nil, wire); err != nil || string(out) != tt.out {
			t.Errorf("%s %s: got %s, %v, want %s", tt.root, tt.in, out, err, tt.out)
		}
	}
	_, err := k.codec(t, "google.protobuf.Duration", transcode.Options{}).AppendWire(nil, []byte(`{"valu":"3s","value":"x","value":1}`))
	const want = `invalid arguments, 3 problems:
- valu: unknown field; did you mean "value"?
- value: not a duration, or finer than a nanosecond; want a duration in seconds such as "1.5s", got the string "x"
- value: the member occurs twice`
	if err == nil || err.Error() != want {
		t.Errorf("error\n%v\nwant\n%s", err, want)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	file := &descriptorpb.FileDescriptorProto{
		Name: new("x.proto"), Package: new("x"), Dependency: []string{"missing.proto"},
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: new("A"), Field: []*descriptorpb.FieldDescriptorProto{
				{Name: new("gone"), Number: proto.Int32(1), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Type: descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), TypeName: new(".y.Gone")},
				{Name: new("kind"), Number: proto.Int32(3), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Type: descriptorpb.FieldDescriptorProto_TYPE_ENUM.Enum(), TypeName: new(".y.Kind")},
			}},
		},
	}
	fd, err := protodesc.FileOptions{AllowUnresolvable: true}.New(file, load(t).files)
	if err != nil {
		t.Fatal(err)
	}
	_, err = transcode.New(fd.Messages().Get(0), nil, transcode.Options{})
	const want = "transcode: x.A cannot be used: no known file declares y.Gone; add the one that does; no known file declares y.Kind; add the one that does"
	if err == nil || err.Error() != want {
		t.Errorf("error\n%v\nwant\n%s", err, want)
	}
	fake, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: new("fake.proto"), Package: new("google.protobuf"),
		MessageType: []*descriptorpb.DescriptorProto{{Name: new("Timestamp")}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = transcode.New(fake.Messages().Get(0), nil, transcode.Options{})
	if err == nil || err.Error() != "transcode: google.protobuf.Timestamp cannot be used: google.protobuf.Timestamp is not the well-known type of that name" {
		t.Errorf("error %v", err)
	}
	if _, err := transcode.New(nil, nil, transcode.Options{}); err == nil {
		t.Error("no error")
	}
}

// field returns the wire form of a field of bytes.
func field(n protoreflect.FieldNumber, value string) []byte {
	return appendField(nil, n, value)
}
