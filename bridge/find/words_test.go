package find

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestDocument: a tool is found by the names and comments of its fields at any depth,
// and by the values of its enums.
func TestDocument(t *testing.T) {
	t.Parallel()
	d := document(tool{name: "a", description: "b", raw: []byte(`{"title":"c","inputSchema":{"description":"0","type":"object","properties":{
		"one":{"description":"1","enum":["E1","E2",3]},
		"list":{"items":{"properties":{"two":{"const":"C"}}}},
		"map":{"additionalProperties":{"$ref":"#/$defs/T"}},
		"either":{"oneOf":[{"properties":{"three":{}}},{"description":"2"}]}},
		"$defs":{"T":{"properties":{"four":true}}}},
		"outputSchema":{"properties":{"five":{"description":"3"}}}}`)})
	if d.Name != "a" || d.Description != "b" || d.Title != "c" {
		t.Errorf("%+v", d)
	}
	for _, tt := range []struct {
		got  []string
		want string
	}{
		{d.Arguments, "one E1 E2 list two C map either three four"},
		{d.Results, "five"},
		{d.Comments, "0 1 2 3"},
	} {
		if got := strings.Join(tt.got, " "); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestDocumentBounds: a schema of any size and depth takes bounded work.
func TestDocumentBounds(t *testing.T) {
	t.Parallel()
	var fields strings.Builder
	for i := range 2 * maxWords {
		fmt.Fprintf(&fields, `"f%d":{"description":"x"},`, i)
	}
	deep := strings.Repeat(`{"properties":{"deep":`, 2*maxDepth) + `{}` + strings.Repeat(`}}`, 2*maxDepth)
	d := document(tool{raw: []byte(`{"inputSchema":{"properties":{"deep":` + deep + `,` + strings.TrimSuffix(fields.String(), ",") + `}}}`)})
	if len(d.Arguments) != maxWords || len(d.Comments) > maxWords {
		t.Errorf("%d fields, %d comments", len(d.Arguments), len(d.Comments))
	}
	if n := len(slices.DeleteFunc(d.Arguments, func(s string) bool { return s != "deep" })); n != maxDepth+1 {
		t.Errorf("fields %d deep, want %d", n, maxDepth+1)
	}
}

func FuzzDocument(f *testing.F) {
	f.Add([]byte(`{"title":1,"inputSchema":{"properties":{"a":{"enum":["x",1],"items":[]}},"oneOf":[{"$defs":{"b":{}}}]}}`))
	f.Add([]byte(`{"inputSchema":{"properties":{"a":{"properties":[]}},"anyOf":{}},"outputSchema":7}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if d := document(tool{raw: raw}); len(d.Arguments) > maxWords || len(d.Results) > maxWords || len(d.Comments) > maxWords {
			t.Errorf("%d, %d, %d words", len(d.Arguments), len(d.Results), len(d.Comments))
		}
	})
}
