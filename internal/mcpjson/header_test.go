package mcpjson_test

import (
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
)

func TestEncodeHeader(t *testing.T) {
	t.Parallel()
	for v, want := range map[string]string{
		"us-west1":           "us-west1",
		"a b\tc":             "a b\tc",
		"Hello, 世界":          "=?base64?SGVsbG8sIOS4lueVjA==?=",
		" padded ":           "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2":       "=?base64?bGluZTEKbGluZTI=?=",
		"=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"=?base64?x":         "=?base64?x",
		"":                   "=?base64??=",
		"\x7f":               "=?base64?fw==?=",
	} {
		if got := mcpjson.EncodeHeader(v); got != want {
			t.Errorf("%q: %s, want %s", v, got, want)
		}
	}
}

func FuzzEncodeHeader(f *testing.F) {
	for _, s := range []string{"", "a", " a", "é", "=?base64?x?=", "\r\nX: y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := mcpjson.EncodeHeader(s)
		if strings.ContainsFunc(got, func(r rune) bool { return r != '\t' && (r < ' ' || r > '~') }) || strings.TrimSpace(got) != got {
			t.Fatalf("%q: %q cannot be sent", s, got)
		}
		if back, ok := mcpjson.DecodeHeader(got); !ok || back != s {
			t.Fatalf("%q: %q reads as %q", s, got, back)
		}
	})
}
