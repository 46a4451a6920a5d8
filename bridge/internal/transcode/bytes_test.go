package transcode_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
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
