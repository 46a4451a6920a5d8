package transcode_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

// group and sub are fields that are a group or have a length.
func group(number protowire.Number, contents string) string {
	return string(protowire.AppendTag(nil, number, protowire.StartGroupType)) + contents +
		string(protowire.AppendTag(nil, number, protowire.EndGroupType))
}

func sub(number protowire.Number, contents string) string {
	return string(appendField(nil, number, contents))
}

// hostile are bytes for a Sink that test where one field ends and another
// begins. Those that are refused have no JSON.
var hostile = []struct{ name, bytes, want string }{
	{"nothing", "", `{}`},
	{"tag without value", "\x18", ""},
	{"tag of zero", "\x00\x01", ""},
	{"field number zero", "\x02\x00", ""},
	{"field number too large", "\x80\x80\x80\x80\x10\x01", ""},
	{"largest field number", "\xf8\xff\xff\xff\x0f\x01", `{}`},
	{"wire type 6", "\x1e\x01", ""},
	{"wire type 7", "\x1f\x01", ""},
	{"varint of ten bytes", "\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", `{"fInt64":"-1"}`},
	{"varint too large", "\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", ""},
	{"varint too long", "\x20\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", ""},
	{"overlong varint", "\x18\x85\x80\x00", `{"fInt32":5}`},
	{"overlong tag", "\x98\x80\x00\x05", `{"fInt32":5}`},
	{"overlong length", "\x72\x81\x80\x00a", `{"fString":"a"}`},
	{"bits beyond the type", "\x18\x80\x80\x80\x80\x10\x28\x81\x80\x80\x80\x10\x68\x80\x80\x80\x80\x10", `{"fUint32":1,"fBool":true}`},
	{"zigzag beyond the type", "\x38\x81\x80\x80\x80\x10", `{"fSint32":-1}`},
	{"length beyond the end", "\x72\x02a", ""},
	{"length beyond memory", "\x72\xff\xff\xff\xff\xff\xff\xff\xff\x7f", ""},
	{"length of 64 bits", "\x72\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", ""},
	{"fixed32 cut", "\x4d\x01\x02\x03", ""},
	{"fixed64 cut", "\x51\x01\x02\x03\x04\x05\x06\x07", ""},
	{"other wire type", "\x1d\x01\x00\x00\x00\x1a\x01\xff\x1b\x1c", `{}`},
	{"string as varint", "\x70\x05", `{}`},
	{"message as group", "\x8b\x01\x18\x05\x8c\x01", `{}`},
	{"message that goes on", sub(17, "\x18"), ""},
	{"two halves of a field in two messages", sub(17, "\x18") + sub(17, "\x05"), ""},
	{"broken message in the first of two", sub(17, "\x72\x05a") + sub(17, "\x18\x05"), ""},
	{"merged messages", sub(17, "\x18\x05\x72\x01a") + sub(17, "\x72\x01b"+sub(17, "\x18\x01")) + sub(17, sub(17, "\x20\x01")),
		`{"child":{"fInt32":5,"fString":"b","child":{"fInt32":1,"fInt64":"1"}}}`},
	{"merged lists", sub(17, sub(30, "\x01")) + sub(17, sub(30, "\x02")+"\xf0\x01\x03"), `{"child":{"rInt64":["1","2","3"]}}`},
	{"last wins", "\x18\x01\x18\x02\x68\x01\x18\x00\x68\x00", `{}`},
	{"zero with presence", "\xa0\x01\x05\xa0\x01\x00", `{"oInt32":0}`},
	{"packed of nothing", sub(30, ""), `{}`},
	{"packed cut", sub(30, "\x01\x80"), ""},
	{"packed doubles cut", sub(35, "1234567"), ""},
	{"packed and not", sub(30, "\x01\x02") + "\xf0\x01\x03" + sub(30, "") + sub(30, "\x04"), `{"rInt64":["1","2","3","4"]}`},
	{"interleaved lists", sub(31, "a") + sub(32, "1") + sub(31, "b") + sub(32, "2"), `{"rString":["a","b"],"rBytes":["MQ==","Mg=="]}`},
	{"oneof, last wins", sub(50, "a") + "\x98\x03\x05", `{"cash":"5"}`},
	{"oneof, message replaced", sub(52, "\x18\x01") + sub(50, "a"), `{"cardNumber":"a"}`},
	{"oneof, broken message replaced", sub(52, "\x18") + sub(50, "a"), ""},
	{"oneof, broken deeper", sub(52, sub(17, sub(30, "\x80"))) + sub(50, "a"), ""},
	{"oneof, broken key of a map", sub(52, sub(41, "\x08")) + sub(50, "a"), ""},
	{"oneof, broken value of a map", sub(52, sub(41, sub(2, "\x18"))) + sub(50, "a"), ""},
	{"oneof, broken group", sub(52, sub(90, group(5, "\x0a\x05a"))) + sub(50, "a"), ""},
	{"oneof, group", sub(52, sub(90, group(5, "\x0a\x01a"+group(9, "")))) + sub(50, "a"), `{"cardNumber":"a"}`},
	{"oneof, not UTF-8 replaced", sub(52, sub(14, "\xff")) + sub(50, "a"), `{"cardNumber":"a"}`},
	{"oneof, merged after another", sub(52, "\x18\x01") + sub(50, "a") + sub(52, "\x20\x02") + sub(52, "\x28\x03"), `{"barter":{"fInt64":"2","fUint32":3}}`},
	{"oneof, other wire type", sub(50, "a") + "\xa0\x03\x05", `{"cardNumber":"a"}`},
	{"map, last wins", sub(40, sub(1, "a")+sub(2, "1")) + sub(40, sub(1, "b")) + sub(40, sub(1, "a")+sub(2, "2")), `{"mString":{"a":"2","b":""}}`},
	{"map, broken value replaced", sub(41, "\x08\x01"+sub(2, "\x18")) + sub(41, "\x08\x01"), ""},
	{"map, merged value", sub(41, sub(2, "\x18\x01")+"\x08\x01"+sub(2, "\x20\x01")), `{"mInt32":{"1":{"fInt32":1,"fInt64":"1"}}}`},
	{"map, entry of nothing", sub(40, "") + sub(45, ""), `{"mString":{"":""},"mBool":{"false":null}}`},
	{"map, entry cut", sub(40, sub(1, "a")+"\x12"), ""},
	{"map, unknown field in an entry", sub(40, sub(1, "a")+sub(3, "x")+"\x08\x01"), `{"mString":{"a":""}}`},
	{"map, keys beyond the type", sub(43, "\x08\x81\x80\x80\x80\x10") + sub(43, "\x08\x01"), `{"mUint32":{"1":0}}`},
	{"map, negative keys", sub(42, "\x08\x01") + sub(42, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") + sub(42, "\x08\x00"), `{"mInt64":{"-1":"","0":"","1":""}}`},
	{"unknown group", group(99, "\x18\x05"+group(98, "")), `{}`},
	{"unknown group without end", group(99, "")[:2], ""},
	{"unknown group with another end", "\x9b\x06\x94\x06", ""},
	{"end without group", "\x9c\x06", ""},
	{"groups", sub(90, group(5, "\x0a\x01a")+group(5, "")), `{"legacy":{"part":[{"label":"a"},{}]}}`},
	{"group with an overlong end", sub(90, "\x2b\x0a\x01a\xac\x80\x80\x00"), `{"legacy":{"part":[{"label":"a"}]}}`},
	{"group in a group of the same number", sub(91, "\x1b\x1b\x08\x05\x1c\x1c"), `{"modern":{"delimited":{"delimited":{"explicit":5}}}}`},
	{"groups merged", sub(91, "\x1b\x08\x05\x1c\x1b\x10\x06\x1c"), `{"modern":{"delimited":{"explicit":5,"implicit":6}}}`},
	{"extensions by name", sub(90, sub(101, "")+"\xb0\x06\x02"+sub(100, "x")), `{"legacy":{"[kitchen.v1.more]":[{}],"[kitchen.v1.note]":"x","[kitchen.v1.tint]":"DARK"}}`},
	{"value with two kinds", sub(64, "\x20\x01"+sub(3, "a")), `{"value":"a"}`},
	{"value of merged structs", sub(64, sub(5, sub(1, sub(1, "a")+sub(2, "\x20\x01")))) + sub(64, sub(5, sub(1, sub(1, "b")+sub(2, "\x20\x00")))),
		`{"value":{"a":true,"b":false}}`},
	{"any in pieces", sub(66, sub(2, "\x18\x05")) + sub(66, sub(1, "x/kitchen.v1.Sink")), `{"any":{"@type":"x/kitchen.v1.Sink","fInt32":5}}`},
	{"closed enum", sub(90, "\x10\x07"), `{"legacy":{"shade":7}}`},
	{"negative enum", "\x80\x01\xfd\xff\xff\xff\xff\xff\xff\xff\xff\x01", `{"fColor":"BLUE"}`},
}

func TestAppendJSONOfHostileBytes(t *testing.T) {
	t.Parallel()
	k := load(t)
	codec := k.codec(t, "kitchen.v1.Sink", transcode.Options{})
	for _, tt := range hostile {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, err := agree(t, codec, k.message(t, "kitchen.v1.Sink"), k.types, transcode.Options{}, []byte(tt.bytes))
			if (err != nil) != (tt.want == "") || string(out) != tt.want {
				t.Errorf("got %s, %v, want %s", out, err, tt.want)
			}
		})
	}
}

// TestAppendJSONOfDeepBytes tests nesting, which takes neither much time nor
// the stack, whether it is shown or not.
func TestAppendJSONOfDeepBytes(t *testing.T) {
	t.Parallel()
	k := load(t)
	codec := k.codec(t, "kitchen.v1.Sink", transcode.Options{})
	nest := func(n int, number protowire.Number) string {
		var b []byte
		for range n {
			b = appendField(nil, number, string(b))
		}
		return string(b)
	}
	deepAndBroken := "\x08"
	for range 200 {
		deepAndBroken = sub(6, sub(1, deepAndBroken))
	}
	tests := []struct{ name, bytes, want, fault string }{
		{"messages", nest(2000, 17), "", "nested more than 100 deep, at child.child."},
		{"messages that are replaced", sub(52, nest(2000, 17)) + sub(50, "a"), `{"cardNumber":"a"}`, ""},
		{"more of them than protobuf reads", sub(52, nest(10100, 17)) + sub(50, "a"), "", "no valid kitchen.v1.Sink"},
		{"groups", sub(91, strings.Repeat("\x1b", 2000)+strings.Repeat("\x1c", 2000)), "", "nested more than 100 deep"},
		{"groups that are replaced", sub(52, sub(91, strings.Repeat("\x1b", 2000)+strings.Repeat("\x1c", 2000))) + sub(50, "a"), `{"cardNumber":"a"}`, ""},
		{"unknown groups", strings.Repeat("\xc3\x3e", 9000) + strings.Repeat("\xc4\x3e", 9000), `{}`, ""},
		{"more of them than protobuf reads", strings.Repeat("\xc3\x3e", 1<<20), "", "no valid kitchen.v1.Sink"},
		{"deep and broken", nest(200, 17) + "\x18", "", "no valid kitchen.v1.Sink"},
		{"deep in an Any", sub(66, sub(1, "x/kitchen.v1.Empty")+sub(1, "x/kitchen.v1.Sink")+sub(2, nest(100, 17))), "", "nested more than 100 deep, at any.child."},
		{"broken in an Any", sub(66, sub(1, "x/google.protobuf.Int64Value")+sub(2, "\x08")),
			`{"any":{"@type":"x/google.protobuf.Int64Value","value":"CA=="}}`, ""},
		{"deep and broken in an Any", sub(66, sub(1, "x/google.protobuf.Value")+sub(2, deepAndBroken)),
			`{"any":{"@type":"x/google.protobuf.Value","value":"` + base64.StdEncoding.EncodeToString([]byte(deepAndBroken)) + `"}}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, _, err := codec.AppendJSON(nil, []byte(tt.bytes))
			if string(out) != tt.want || (err != nil) != (tt.fault != "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("got %s, %v, want %s, %s", out, err, tt.want, tt.fault)
			}
		})
	}
}
