package samejson_test

import (
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/samejson"
)

func TestEqual(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`{"a": 1, "b": [true, null]}`, `{"b":[true,null],"a":1}`, true},
		{`{"a":1,"a":2}`, `{"a":1,"a":2}`, true},
		{`{"a":1,"a":2}`, `{"a":2,"a":1}`, false},
		{`{"a":1,"a":2}`, `{"a":2}`, false},
		{`{}`, `[]`, false},
		{`null`, `false`, false},
		{`[1,2]`, `[2,1]`, false},
		{`"\u0061"`, `"a"`, true},
		{`"a"`, `"b"`, false},
		{`"-_8"`, `"+/8="`, true},
		{`"1"`, `1`, false},
		{`1.0`, `1`, true},
		{`1e2`, `100`, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`0e99999999999`, `-0`, true},
		{`1e99999999999`, `1e99999999999`, true},
		{`1e99999999999`, `10e99999999998`, false},
		{`1`, `1 2`, false},
		{``, ``, false},
		{`[`, `[`, false},
		{`{"a"`, `{"a"`, false},
	} {
		if got := samejson.Equal([]byte(tt.a), []byte(tt.b)); got != tt.want {
			t.Errorf("%s and %s: got %v", tt.a, tt.b, got)
		}
	}
}
