package transcode_test

import (
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

// TestCases are the cases that protobuf's conformance suite has of JSON input,
// with what protojson makes of them as the judge. Where the reader is more
// lenient or stricter, the case says so.
func TestCases(t *testing.T) {
	t.Parallel()
	k := load(t)
	codec := k.codec(t, "kitchen.v1.Sink", transcode.Options{})
	const (
		same    = ""
		lenient = "accepted, although ProtoJSON has no such form"
		strict  = "refused, although ProtoJSON has the form"
	)
	for _, tt := range []struct{ name, json, differs string }{
		{"field by JSON name", `{"fInt32":1}`, same},
		{"field by proto name", `{"f_int32":1}`, same},
		{"field by its own JSON name", `{"otherName":"a"}`, same},
		{"both names", `{"fInt32":1,"f_int32":2}`, same},
		{"twice", `{"fInt32":1,"fInt32":2}`, same},
		{"unknown field", `{"unknown":1}`, same},
		{"name in another case", `{"FInt32":1}`, same},
		{"name with an escape", `{"fInt\u00332":1}`, same},
		{"null field", `{"fInt32":null,"child":null,"rInt64":null,"mString":null,"fColor":null}`, same},
		{"null in a list", `{"rString":[null]}`, same},
		{"null in a map", `{"mString":{"a":null}}`, same},
		{"null message in a list", `{"rSink":[null]}`, same},

		{"int32, maximum", `{"fInt32":2147483647}`, same},
		{"int32, minimum", `{"fInt32":-2147483648}`, same},
		{"int32, too large", `{"fInt32":2147483648}`, same},
		{"int32, too small", `{"fInt32":-2147483649}`, same},
		{"int32, string", `{"fInt32":"2147483647"}`, same},
		{"int32, exponent", `{"fInt32":1e5}`, same},
		{"int32, negative exponent", `{"fInt32":100000e-5}`, same},
		{"int32, float that is whole", `{"fInt32":2147483647.0}`, same},
		{"int32, exponent that is whole", `{"fInt32":2.147483647e9}`, same},
		{"int32, fraction", `{"fInt32":0.5}`, same},
		{"int32, string exponent", `{"fInt32":"1e5"}`, same},
		{"int32, string that is empty", `{"fInt32":""}`, same},
		{"int32, string with a space before", `{"fInt32":" 1"}`, lenient},
		{"int32, string with a space behind", `{"fInt32":"1 "}`, lenient},
		{"int32, string that is partly a number", `{"fInt32":"1a"}`, same},
		{"int32, plus sign", `{"fInt32":"+1"}`, same},
		{"int32, zeros before", `{"fInt32":"01"}`, same},
		{"int32, minus zero", `{"fInt32":-0}`, same},
		{"int32, true", `{"fInt32":true}`, same},
		{"uint32, maximum", `{"fUint32":4294967295}`, same},
		{"uint32, negative", `{"fUint32":-1}`, same},
		{"int64, string maximum", `{"fInt64":"9223372036854775807"}`, same},
		{"int64, number", `{"fInt64":9007199254740991}`, same},
		{"int64, too large", `{"fInt64":"9223372036854775808"}`, same},
		{"int64, large exponent", `{"fInt64":9.223372036854775e18}`, strict},
		{"uint64, maximum", `{"fUint64":"18446744073709551615"}`, same},
		{"uint64, too large", `{"fUint64":"18446744073709551616"}`, same},
		{"fixed", `{"fFixed32":1,"fFixed64":"2","fSfixed32":-1,"fSfixed64":"-2","fSint32":-3,"fSint64":"-4"}`, same},

		{"bool", `{"fBool":true,"oBool":false}`, same},
		{"bool, string", `{"fBool":"true"}`, lenient},
		{"bool, number", `{"fBool":1}`, same},
		{"double", `{"fDouble":-1.79769e+308}`, same},
		{"double, too large", `{"fDouble":1.89769e+308}`, same},
		{"double, special", `{"rDouble":["NaN","Infinity","-Infinity"]}`, same},
		{"double, bare NaN", `{"fDouble":NaN}`, same},
		{"double, special in another case", `{"fDouble":"nan"}`, lenient},
		{"double, string", `{"fDouble":"1.5"}`, same},
		{"double, minus zero", `{"fDouble":-0.0}`, same},
		{"float, too large", `{"fFloat":3.502823e+38}`, same},
		{"float, string that is no number", `{"fFloat":"a"}`, same},

		{"string", `{"fString":"Hello, \u4e16\ud83d\ude00\/\b"}`, same},
		{"string, half of a pair", `{"fString":"\ud800"}`, same},
		{"string, pair the wrong way round", `{"fString":"\ude00\ud800"}`, same},
		{"string, number", `{"fString":1}`, same},
		{"bytes, padded", `{"fBytes":"AQI="}`, same},
		{"bytes, not padded", `{"fBytes":"AQI"}`, strict},
		{"bytes, too much padding", `{"fBytes":"AQI=="}`, same},
		{"bytes, bits that stand for nothing", `{"fBytes":"AQJ="}`, strict},
		{"bytes, line break", `{"fBytes":"AQ\nI="}`, same},
		{"bytes, URL alphabet", `{"fBytes":"-_8="}`, same},
		{"bytes, both alphabets", `{"fBytes":"-/8="}`, same},
		{"bytes, no base64", `{"fBytes":"!"}`, same},
		{"enum, name", `{"fColor":"COLOR_RED"}`, same},
		{"enum, alias", `{"fColor":"COLOR_VERDANT"}`, same},
		{"enum, number", `{"fColor":1}`, same},
		{"enum, unknown number", `{"fColor":4711}`, same},
		{"enum, unknown name", `{"fColor":"COLOR_SOUR"}`, same},
		{"enum, another case", `{"fColor":"color_red"}`, lenient},
		{"enum, no prefix", `{"fColor":"RED"}`, lenient},

		{"list", `{"rInt64":[1,"2"],"rString":[],"rColor":["BLUE",-3]}`, same},
		{"list, wrong element", `{"rInt64":[1,true]}`, same},
		{"list, comma behind", `{"rInt64":[1,]}`, same},
		{"list, one value", `{"rInt64":1}`, lenient},
		{"map", `{"mString":{"a":"b"},"mInt32":{"-1":{}},"mUint32":{"1":"NaN"},"mBool":{"true":null}}`, same},
		{"map, key twice", `{"mString":{"a":"b","a":"c"}}`, same},
		{"map, wrong key", `{"mInt32":{"a":{}}}`, same},
		{"map, bare key", `{"mInt32":{1:{}}}`, same},
		{"message", `{"child":{"child":{"fInt32":1}}}`, same},
		{"message, list", `{"child":[]}`, same},
		{"message, string", `{"child":"{\"fInt32\":1}"}`, lenient},
		{"oneof", `{"cardNumber":"1"}`, same},
		{"oneof, two", `{"cardNumber":"1","cash":"2"}`, same},
		{"oneof, null and another", `{"cardNumber":null,"cash":"2"}`, same},
		{"oneof, null value", `{"nothing":null}`, same},

		{"timestamp", `{"time":"1970-01-01T00:00:00Z"}`, same},
		{"timestamp, first", `{"time":"0001-01-01T00:00:00Z"}`, same},
		{"timestamp, last", `{"time":"9999-12-31T23:59:59.999999999Z"}`, same},
		{"timestamp, offset", `{"time":"1970-01-01T08:00:01.010+08:00"}`, same},
		{"timestamp, no zone", `{"time":"1970-01-01T00:00:00"}`, same},
		{"timestamp, small letters", `{"time":"1970-01-01t00:00:00z"}`, same},
		{"timestamp, day there is not", `{"time":"2026-02-29T00:00:00Z"}`, same},
		{"timestamp, leap day", `{"time":"2028-02-29T00:00:00Z"}`, same},
		{"timestamp, hour 24", `{"time":"2026-01-01T24:00:00Z"}`, same},
		{"timestamp, year 0", `{"time":"0000-01-01T00:00:00Z"}`, same},
		{"timestamp, ten digits", `{"time":"2026-01-01T00:00:00.0000000001Z"}`, same},
		{"duration", `{"duration":"-1.5s"}`, same},
		{"duration, largest", `{"duration":"315576000000.999999999s"}`, same},
		{"duration, too large", `{"duration":"315576000001.000000000s"}`, same},
		{"duration, no s", `{"duration":"1"}`, lenient},
		{"duration, minutes", `{"duration":"1m30s"}`, lenient},
		{"field mask", `{"mask":"foo,barBaz.qux"}`, same},
		{"field mask, empty", `{"mask":""}`, same},
		{"field mask, snake case", `{"mask":"bar_baz"}`, lenient},
		{"struct", `{"struct":{"a":null,"b":[1,{"c":"d"}]}}`, same},
		{"value", `{"rValue":[null,1.5,"a",true,{},[]]}`, same},
		{"value, null", `{"value":null}`, same},
		{"list value", `{"list":[1,[2]]}`, same},
		{"wrappers", `{"wBool":false,"wInt32":0,"wInt64":"1","wUint32":2,"wUint64":"3","wFloat":1.5,"wDouble":"NaN","wString":"","wBytes":"AQI="}`, same},
		{"wrapper, null", `{"wInt32":null}`, same},
		{"wrapper, object", `{"wInt32":{"value":1}}`, same},
		{"any", `{"any":{"@type":"type.googleapis.com/kitchen.v1.Sink","fInt32":1}}`, same},
		{"any, type last", `{"any":{"fInt32":1,"@type":"type.googleapis.com/kitchen.v1.Sink"}}`, same},
		{"any, nested", `{"any":{"@type":"a/google.protobuf.Any","value":{"@type":"a/kitchen.v1.Sink","fInt32":1}}}`, same},
		{"any, duration", `{"any":{"@type":"a/google.protobuf.Duration","value":"1.5s"}}`, same},
		{"any, value beside", `{"any":{"@type":"a/google.protobuf.Duration","value":"1.5s","x":1}}`, same},
		{"any, no type", `{"any":{"fInt32":1}}`, same},
		{"any, unknown type", `{"any":{"@type":"a/no.Such","fInt32":1}}`, same},
		{"any, empty", `{"any":{}}`, same},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := dynamicpb.NewMessage(k.message(t, "kitchen.v1.Sink"))
			refused := protojson.UnmarshalOptions{Resolver: k.types}.Unmarshal([]byte(tt.json), want)
			wire, err := codec.AppendWire(nil, []byte(tt.json))
			switch {
			case tt.differs == lenient && (refused == nil || err != nil), tt.differs == strict && (refused != nil || err == nil):
				t.Errorf("it is not %s: %v, protojson says %v", tt.differs, err, refused)
			case tt.differs == same && (err == nil) != (refused == nil):
				t.Errorf("%v, protojson says %v", err, refused)
			case err == nil && refused == nil:
				expected, err := format(k.types, want, transcode.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if got, _, err := codec.AppendJSON(nil, wire); err != nil || string(got) != string(expected) {
					t.Errorf("got %s, %v, want %s", got, err, expected)
				}
			}
		})
	}
}
