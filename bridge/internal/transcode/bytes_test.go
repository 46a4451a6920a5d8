package transcode_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// TestBytesThatAreText: what is sent as text is not stored as something else.
func TestBytesThatAreText(t *testing.T) {
	t.Parallel()
	codec := load(t).codec(t, "kitchen.v1.Sink", transcode.Options{})
	for _, tt := range []struct{ name, json, want string }{
		{"text", `{"fBytes":"hello"}`,
			`fBytes: not base64; want bytes in base64: for this text, send "aGVsbG8=", got the string "hello"`},
		{"no padding", `{"fBytes":"aGVsbG8"}`,
			`fBytes: not base64; want bytes in base64: for this text, send "YUdWc2JHOA==", or "aGVsbG8=" if it is base64 already, got the string "aGVsbG8"`},
		{"lines", `{"fBytes":"aGVs\nbG8="}`,
			`fBytes: not base64; want bytes in base64: for this text, send "YUdWcwpiRzg9", or "aGVsbG8=" if it is base64 already, got the string "aGVs\nbG8="`},
		{"escapes", `{"fBytes":"\u00fc\""}`,
			`fBytes: not base64; want bytes in base64: for this text, send "w7wi", got the string "\u00fc\""`},
		{"no character", `{"fBytes":"\ud800"}`,
			`fBytes: an escaped surrogate has no partner, so it stands for no character, got the string "\ud800"`},
		{"a number", `{"fBytes":1}`,
			`fBytes: wrong type; want bytes in base64, such as "aGVsbG8=" for the text hello, got the number 1`},
		{"a wrapper", `{"wBytes":"a b"}`,
			`wBytes: not base64; want bytes in base64: for this text, send "YSBi", got the string "a b"`},
		{"another that is base64 by chance", `{"fBytes":"user","rBytes":["not so","dGV4","+/8=","user"]}`,
			"invalid arguments, 3 problems:\n" +
				"- fBytes: this is base64, but perhaps only by chance; want \"dXNlcg==\" if it is meant as text, or the same again if it is meant as bytes, got the string \"user\"\n" +
				"- rBytes[0]: not base64; want bytes in base64: for this text, send \"bm90IHNv\", got the string \"not so\"\n" +
				"- rBytes[3]: this is base64, but perhaps only by chance; want \"dXNlcg==\" if it is meant as text, or the same again if it is meant as bytes, got the string \"user\""},
		{"an Any of an unknown type", `{"any":{"@type":"a/no.Such","value":"AQ"}}`,
			`any: unknown type in "@type"; want the full name of a message type that the service uses, after the last slash, got the string "a/no.Such"`},
		{"long text", `{"fBytes":"` + strings.Repeat("a b ", 100) + `"}`,
			`fBytes: not base64; want bytes in base64, in one alphabet and with its padding, got the string "` + strings.Repeat("a b ", 14) + `a b...`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := codec.AppendWire(nil, []byte(tt.json))
			if err == nil {
				t.Fatal("it is accepted")
			}
			if got := strings.TrimPrefix(err.Error(), "invalid arguments: "); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
	// With nothing else wrong, what may be meant as bytes is taken as such.
	if _, err := codec.AppendWire(nil, []byte(`{"fBytes":"user"}`)); err != nil {
		t.Error(err)
	}
}

// TestExactBytes: JSON that came from elsewhere may lack the padding.
func TestExactBytes(t *testing.T) {
	t.Parallel()
	codec := load(t).codec(t, "kitchen.v1.Sink", transcode.Options{Exact: true})
	for text, ok := range map[string]bool{"AQI": true, "AQI=": true, "AQJ": false, "AQI==": false, "A\nQI": false} {
		in, err := json.Marshal(map[string]string{"fBytes": text})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = codec.AppendWire(nil, in); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzBytes holds what bytes may be against encoding/base64: it is accepted if
// and only if one of the two alphabets writes the same again.
func FuzzBytes(f *testing.F) {
	for _, s := range []string{"", "AQI=", "AQI", "AQJ=", "-_8=", "+/8=", "-/8=", "user", "=", "====", "A===", "AQ\nI=", "ü", "\xff"} {
		f.Add(s)
	}
	codec := load(f).codec(f, "kitchen.v1.Sink", transcode.Options{})
	f.Fuzz(func(t *testing.T, s string) {
		in, err := json.Marshal(map[string]any{"wBytes": s})
		if err != nil {
			t.Fatal(err)
		}
		s = strings.ToValidUTF8(s, "\uFFFD") // as json.Marshal has it
		var want []byte
		canonical := false
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			if b, err := enc.DecodeString(s); err == nil && enc.EncodeToString(b) == s {
				want, canonical = b, true
			}
		}
		wire, err := codec.AppendWire(nil, in)
		if (err == nil) != canonical {
			t.Fatalf("%q: %v, want it accepted: %v", s, err, canonical)
		}
		if err != nil {
			return
		}
		out, warnings, err := codec.AppendJSON(nil, wire)
		if err != nil || len(warnings) > 0 {
			t.Fatal(err, warnings)
		}
		if got := `{"wBytes":"` + base64.StdEncoding.EncodeToString(want) + `"}`; string(out) != got {
			t.Fatalf("%q became %s, want %s", s, out, got)
		}
	})
}

// encodings has all of them by their names.
var encodings = map[string]transcode.Encoding{"base64": transcode.Base64, "utf8": transcode.UTF8, "hex": transcode.Hex}

func encoded(tb testing.TB, e transcode.Encoding) *transcode.Codec {
	tb.Helper()
	return load(tb).codec(tb, "kitchen.v1.Sink", transcode.Options{
		Encoding: func(protoreflect.FieldDescriptor) transcode.Encoding { return e },
	})
}

// TestEncodings: bytes in every encoding, wherever they stand.
func TestEncodings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ encoding, in, out, err string }{
		{"utf8", `{"fBytes":"hello","rBytes":["","\u00fc\"\n"],"wBytes":"a/b","mInt64":{"1":"v"}}`,
			`{"fBytes":"hello","rBytes":["","ü\"\n"],"mInt64":{"1":"v"},"wBytes":"a/b"}`, ""},
		{"utf8", `{"fBytes":"base64:/w==","rBytes":["base64:","base64:aGVsbG8=","base64:YmFzZTY0OmE="]}`,
			`{"fBytes":"base64:/w==","rBytes":["","hello","base64:YmFzZTY0OmE="]}`, ""},
		{"utf8", `{"fBytes":""}`, `{}`, ""},
		{"utf8", `{"fBytes":"base64:hello"}`, "", `fBytes: not base64 after base64:; want text, or base64: and base64 with its padding for bytes that are not text: ` +
			`for this text, send "base64:YmFzZTY0OmhlbGxv", got the string "base64:hello"`},
		{"utf8", `{"fBytes":1}`, "", `fBytes: wrong type; want a string, got the number 1`},
		{"hex", `{"fBytes":"00ff","rBytes":["00FF","0x00ff",""],"wBytes":"0a","mInt64":{"1":"0b"}}`,
			`{"fBytes":"00ff","rBytes":["00ff","00ff",""],"mInt64":{"1":"0b"},"wBytes":"0a"}`, ""},
		{"hex", `{"fBytes":"0x"}`, `{}`, ""},
		{"hex", `{"fBytes":"face","rBytes":["hello"]}`, "", "invalid arguments, 2 problems:\n" +
			"- fBytes: this is hexadecimal, but perhaps only by chance; want \"66616365\" if it is meant as text, or the same again if it is meant as bytes, got the string \"face\"\n" +
			"- rBytes[0]: not hexadecimal; want bytes in hexadecimal: for this text, send \"68656c6c6f\", got the string \"hello\""},
		{"hex", `{"fBytes":"abc"}`, "", `fBytes: not hexadecimal; want bytes in hexadecimal: for this text, send "616263", got the string "abc"`},
		{"hex", `{"fBytes":true}`, "", `fBytes: wrong type; want bytes in hexadecimal, such as "68656c6c6f" for the text hello, got the boolean true`},
		// What is in an Any of an unknown type is not of the field.
		{"utf8", `{"any":{"@type":"a/no.Such","value":"AQ=="}}`, `{"any":{"@type":"a/no.Such","value":"AQ=="}}`, ""},
	} {
		t.Run(tt.encoding+tt.in, func(t *testing.T) {
			t.Parallel()
			codec := encoded(t, encodings[tt.encoding])
			wire, err := codec.AppendWire(nil, []byte(tt.in))
			if err != nil {
				if got := strings.TrimPrefix(err.Error(), "invalid arguments: "); got != tt.err {
					t.Errorf("error\n%s\nwant\n%s", got, tt.err)
				}
				return
			}
			out, _, err := codec.AppendJSON(nil, wire)
			if err != nil || string(out) != tt.out || tt.err != "" {
				t.Errorf("got %s, %v, want %s%s", out, err, tt.out, tt.err)
			}
		})
	}
}

// FuzzEncodings: bytes in every encoding are read again as they were, and text
// is refused or read as it is written then.
func FuzzEncodings(f *testing.F) {
	for _, b := range []string{"", "hello", "base64:", "base64:AQ==", "base64", "0x00", "face", "\xff", "\xed\xa0\x80", "a\x00b", "\u202e", "😀\\"} {
		f.Add([]byte(b))
	}
	codecs := make(map[transcode.Encoding]*transcode.Codec)
	for _, e := range encodings {
		codecs[e] = encoded(f, e)
	}
	number := load(f).message(f, "kitchen.v1.Sink").Fields().ByJSONName("wBytes").Number()
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, e := range encodings {
			wire := appendField(nil, number, string(appendField(nil, 1, string(b))))
			if len(b) == 0 {
				wire = appendField(nil, number, "")
			}
			out, warnings, err := codecs[e].AppendJSON(nil, wire)
			if err != nil || len(warnings) > 0 || jsontok.Valid(out, jsontok.Limits{}) != nil {
				t.Fatalf("%s: %q became %s: %v %q", name, b, out, err, warnings)
			}
			again, err := codecs[e].AppendWire(nil, out)
			if err != nil || !bytes.Equal(again, wire) {
				t.Fatalf("%s: %s is read as %x, %v, want %x", name, out, again, err, wire)
			}
			var shown struct{ WBytes string }
			if err := json.Unmarshal(out, &shown); err != nil {
				t.Fatal(err)
			}
			if e == transcode.UTF8 && utf8.Valid(b) && !bytes.HasPrefix(b, []byte(transcode.RawPrefix)) && shown.WBytes != string(b) {
				t.Fatalf("the text %q became %q", b, shown.WBytes)
			}
			// The other way round.
			in, err := json.Marshal(map[string]string{"wBytes": string(b)})
			if err != nil {
				t.Fatal(err)
			}
			wire, err = codecs[e].AppendWire(nil, in)
			if err != nil {
				continue
			}
			out, _, err = codecs[e].AppendJSON(nil, wire)
			if err != nil {
				t.Fatal(err)
			}
			if again, err = codecs[e].AppendWire(nil, out); err != nil || !bytes.Equal(again, wire) {
				t.Fatalf("%s: %s is read as %x, %v, want %x", name, out, again, err, wire)
			}
		}
	})
}

// TestBytesDoNotAllocate: neither direction does, in any encoding.
func TestBytesDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools allocate")
	}
	for name, in := range map[string]string{"base64": `{"rBytes":["aGVsbG8=","-_8="]}`, "utf8": `{"rBytes":["hello","ü"]}`, "hex": `{"rBytes":["00ff"]}`} {
		codec := encoded(t, encodings[name])
		buf := make([]byte, 0, 1<<10)
		wire, err := codec.AppendWire(nil, []byte(in))
		if err != nil {
			t.Fatal(err)
		}
		wire = appendField(wire, load(t).message(t, "kitchen.v1.Sink").Fields().ByJSONName("rBytes").Number(), "\xff") // which UTF8 cannot show
		if n := testing.AllocsPerRun(100, func() { _, _ = codec.AppendWire(buf, []byte(in)) }); n > 1 {                // the conversion does
			t.Errorf("%s: reading allocates %v times", name, n)
		}
		if n := testing.AllocsPerRun(100, func() { _, _, _ = codec.AppendJSON(buf, wire) }); n > 0 {
			t.Errorf("%s: writing allocates %v times", name, n)
		}
	}
}
