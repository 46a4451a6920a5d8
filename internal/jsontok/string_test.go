package jsontok_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

func TestString(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want string
		ok   bool
	}{
		{in: `""`, ok: true},
		{in: `"abc"`, want: "abc", ok: true},
		{in: `"\"\\\/\b\f\n\r\t"`, want: "\"\\/\b\f\n\r\t", ok: true},
		{in: `"a\u00e9\u20AC\u0000z"`, want: "a\u00e9\u20ac\x00z", ok: true},
		{in: `"\ud83d\ude00"`, want: "\U0001f600", ok: true},
		{in: `"\ud83d"`, want: "\ufffd", ok: true},
		{in: `"\ude00"`, want: "\ufffd", ok: true},
		{in: `"\ud83dx"`, want: "\ufffdx", ok: true},
		{in: `"\ud83d\n"`, want: "\ufffd\n", ok: true},
		{in: `"\ud83d\u0041"`, want: "\ufffdA", ok: true},
		{in: `"\ud83d\ud83d\ude00"`, want: "\ufffd\U0001f600", ok: true},
		{in: `"\ude00\ud83d"`, want: "\ufffd\ufffd", ok: true},
		{in: "\"\u00e9\\n\U0001f600\"", want: "\u00e9\n\U0001f600", ok: true},
		{in: ``},
		{in: `"`},
		{in: `abc`},
		{in: `1`},
		{in: ` "a"`},
		{in: `"a" `},
		{in: `"a"b"`},
		{in: `"\"`},
		{in: `"\q"`},
		{in: `"\u12"`},
		{in: "\"\n\""},
		{in: "\"\xff\""},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			if got, ok := jsontok.String([]byte(tt.in)); got != tt.want || ok != tt.ok {
				t.Errorf("String = %q, %t, want %q, %t", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"", `""`},
		{"abc", `"abc"`},
		{`a"b\c/`, `"a\"b\\c/"`},
		{"\b\f\n\r\t", `"\b\f\n\r\t"`},
		{"\x00\x1f\x7f", "\"\\u0000\\u001f\x7f\""},
		{"<a href='x'>&", `"<a href='x'>&"`},
		{"\u00e9\u2028\U0001f600", "\"\u00e9\u2028\U0001f600\""},
		{"a\xffb\xc3", "\"a\ufffdb\ufffd\""},
		{"\xed\xa0\x80", "\"\ufffd\ufffd\ufffd\""},
		{"\ufffd", "\"\ufffd\""},
		{"0123456\"89abcde\\", `"0123456\"89abcde\\"`},
		{"\u00e9\u00e9\"\u00e9\n\u00e9", "\"\u00e9\u00e9\\\"\u00e9\\n\u00e9\""},
	}
	for _, tt := range tests {
		if got := jsontok.AppendString([]byte("x="), tt.in); string(got) != "x="+tt.want {
			t.Errorf("AppendString(%q) = %s, want x=%s", tt.in, got, tt.want)
		}
		got, valid := jsontok.AppendBytes([]byte("x="), []byte(tt.in))
		if string(got) != "x="+tt.want || valid != utf8.ValidString(tt.in) {
			t.Errorf("AppendBytes(%q) = %s, %t, want x=%s", tt.in, got, valid, tt.want)
		}
	}
}

// FuzzString holds String equal to encoding/json, but for invalid UTF-8, which
// that package replaces.
func FuzzString(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := jsontok.String(data)
		var want string
		err := json.Unmarshal(data, &want)
		wantOK := err == nil && utf8.Valid(data) && len(data) > 1 && data[0] == '"' && data[len(data)-1] == '"'
		if ok != wantOK {
			t.Fatalf("String: %t, want %t (%v)", ok, wantOK, err)
		}
		if ok && got != want {
			t.Fatalf("String = %q, want %q", got, want)
		}
	})
}

func FuzzAppendString(f *testing.F) {
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := jsontok.AppendString(nil, s)
		if err := jsontok.Valid(out, jsontok.Limits{}); err != nil {
			t.Fatalf("%q is not valid: %v", out, err)
		}
		if strings.ContainsAny(string(out), "\n\r") {
			t.Fatalf("%q has a line break", out)
		}
		if other, valid := jsontok.AppendBytes(nil, []byte(s)); string(other) != string(out) || valid != utf8.ValidString(s) {
			t.Fatalf("AppendBytes: %q, %t, want %q", other, valid, out)
		}
		want := string([]rune(s)) // one U+FFFD for each invalid byte
		if got, ok := jsontok.String(out); !ok || got != want {
			t.Fatalf("String returns %q, %t, want %q", got, ok, want)
		}
		var got string
		if err := json.Unmarshal(out, &got); err != nil || got != want {
			t.Fatalf("encoding/json reads %q, %v, want %q", got, err, want)
		}
	})
}
