package jsontok_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

func TestAppendCompact(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{``, ``},
		{`{}`, `{}`},
		{" { } \r\n", `{}`},
		{"\t1.50 ", `1.50`},
		{"{\n  \"a b\" : [ 1 ,\t2 ],\r\n  \"c\": \" \\\" \\\\\" }\n", `{"a b":[1,2],"c":" \" \\"}`},
		{`["\\", " "]`, `["\\"," "]`},
		{`["\\\"", " \\"]`, `["\\\""," \\"]`},
		{"[\"\u00e9 \u2028\", null ]", "[\"\u00e9 \u2028\",null]"},
		// Not valid, but no reason to fail.
		{`"a b`, `"a b`},
		{`"a b\"`, `"a b\"`},
		{`"`, `"`},
		{`\ " `, `\" `},
	}
	for _, tt := range tests {
		if got := jsontok.AppendCompact([]byte("x "), []byte(tt.in)); string(got) != "x "+tt.want {
			t.Errorf("AppendCompact(%q) = %q, want %q", tt.in, got, "x "+tt.want)
		}
		src := []byte(tt.in)
		if got := jsontok.AppendCompact(src[:0], src); string(got) != tt.want {
			t.Errorf("in place, AppendCompact(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func FuzzAppendCompact(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		got := jsontok.AppendCompact(nil, data) // must not panic on anything
		if !bytes.Equal(data, before) {
			t.Fatal("the source has changed")
		}
		if jsontok.Valid(data, jsontok.Limits{}) != nil {
			return
		}
		var want bytes.Buffer
		if err := json.Compact(&want, data); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("AppendCompact = %s, want %s", got, want.Bytes())
		}
		if got = jsontok.AppendCompact(data[:0], data); !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("in place, AppendCompact = %s, want %s", got, want.Bytes())
		}
	})
}
