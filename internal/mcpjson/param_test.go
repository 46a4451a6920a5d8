package mcpjson_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func TestParamHeaders(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ schema, args, want, err string }{
		{schema: `{"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`, args: `{"region":"us"}`, want: "Mcp-Param-Region: us"},
		{schema: `{"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`, args: `{"region":null}`},
		{schema: `{"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`, args: `{}`},
		{schema: `{"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`},
		{schema: `{"properties":{"region":{"type":"string","x-mcp-\u0068eader":"Region"}}}`, args: `{"region":"é"}`, want: "Mcp-Param-Region: =?base64?w6k=?="},
		{
			schema: `{"properties":{"a":{"properties":{"n":{"type":"integer","x-mcp-header":"N"},"b":{"type":"boolean","x-mcp-header":"B"}}}}}`,
			args:   `{"a":{"n":42.0,"b":true}}`, want: "Mcp-Param-B: true\nMcp-Param-N: 42",
		},
		{schema: `{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}}`, args: `{"n":1e999999999}`, want: "Mcp-Param-N: 1e999999999"},
		{schema: `{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}}`, args: `{"n":[1]}`},
		{schema: `{"properties":{"x-mcp-header":{"type":"string","default":{"x-mcp-header":1}}}}`, args: `{"x-mcp-header":"v"}`},
		{schema: `{"properties":{"a":{"type":"number","x-mcp-header":"N"}}}`, err: `x-mcp-header "N" is on a parameter whose type is not string, integer or boolean`},
		{schema: `{"properties":{"a":{"type":"string","x-mcp-header":""}}}`, err: `x-mcp-header "" is no name for a header`},
		{schema: `{"properties":{"a":{"type":"string","x-mcp-header":7}}}`, err: `x-mcp-header 7 is no name for a header`},
		{schema: `{"properties":{"a":{"type":"string","x-mcp-header":"a\r\nb"}}}`, err: `x-mcp-header "a\r\nb" is no name for a header`},
		{schema: `{"type":"string","x-mcp-header":"A"}`, err: `x-mcp-header "A" is where no chain of properties leads`},
		{schema: `{"properties":{"a":{"items":{"type":"string","x-mcp-header":"A"}}}}`, err: `x-mcp-header "A" is where no chain of properties leads`},
		{schema: `{"allOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`, err: `x-mcp-header "A" is where no chain of properties leads`},
		{schema: `{"$defs":{"d":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}}}`, err: `x-mcp-header "A" is where no chain of properties leads`},
		{schema: `{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`, err: `x-mcp-header "a" is there twice`},
	} {
		_, plan, err := mcpjson.ReadParamHeaders([]byte(`{"inputSchema":` + tt.schema + `}`))
		if err != nil || tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%s: error %v, want %s", tt.schema, err, tt.err)
			}
			continue
		}
		header := make(http.Header)
		plan.Set(header, json.RawMessage(tt.args))
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(header)) {
			lines = append(lines, name+": "+header.Get(name))
		}
		if got := strings.Join(lines, "\n"); got != tt.want {
			t.Errorf("%s with %s: %s, want %s", tt.schema, tt.args, got, tt.want)
		}
	}
}

// TestCheckParamHeaders compares headers with arguments, as servers do.
func TestCheckParamHeaders(t *testing.T) {
	t.Parallel()
	_, plan, err := mcpjson.ReadParamHeaders([]byte(`{"inputSchema":{"properties":{
		"region":{"type":"string","x-mcp-header":"Region"},
		"deep":{"properties":{"n":{"type":"integer","x-mcp-header":"N"},"b":{"type":"boolean","x-mcp-header":"B"}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args   string
		header []string // names below Mcp-Param- and values
		want   string
	}{
		{`{}`, nil, ""},
		{``, nil, ""},
		{`{"region":null}`, nil, ""},
		{`{"region":"us"}`, []string{"Region", "us"}, ""},
		{`{"region":"us"}`, []string{"Region", " us\t", "Other", "x"}, ""},
		{`{"region":"us"}`, []string{"Region", "=?base64?dXM=?="}, ""},
		{`{"region":"é"}`, []string{"Region", "=?base64?w6k=?="}, ""},
		{`{"region":""}`, []string{"Region", "=?base64??="}, ""},
		{`{"deep":{"n":42,"b":true}}`, []string{"N", "42.0", "B", "true"}, ""},
		{`{"deep":{"n":42.0,"b":false}}`, []string{"N", "42", "B", "false"}, ""},
		{`{"deep":{"n":9007199254740993}}`, []string{"N", "9007199254740993"}, ""},
		{`{"deep":{"n":1e400000000}}`, []string{"N", "1e400000000"}, ""},
		{`{"region":["us"]}`, nil, ""}, // the Handler refuses it

		{`{"region":"us"}`, nil, `the Mcp-Param-Region header is missing; the body has "us"`},
		{`{"region":"us"}`, []string{"Region", "eu"}, `the Mcp-Param-Region header has "eu", the body "us"`},
		{`{"region":"us"}`, []string{"Region", "US"}, `the Mcp-Param-Region header has "US", the body "us"`},
		{`{"region":"us"}`, []string{"Region", "us", "Region", "eu"}, `the Mcp-Param-Region header is there 2 times`},
		{`{"region":"é"}`, []string{"Region", "é"}, `the Mcp-Param-Region header has characters other than visible ASCII; encode it as =?base64?...?=`},
		{`{"region":"Hello"}`, []string{"Region", "=?base64?SGVsbG8?="}, `the Mcp-Param-Region header is not valid base64 between =?base64? and ?=`},
		{`{"region":"Hello"}`, []string{"Region", "=?base64?SGVs!!!bG8=?="}, `the Mcp-Param-Region header is not valid base64 between =?base64? and ?=`},
		{`{}`, []string{"Region", "us"}, `the Mcp-Param-Region header is there, and the body has no value for it`},
		{`{"region":null}`, []string{"Region", ""}, `the Mcp-Param-Region header is there, and the body has no value for it`},
		{`{"deep":{"n":42}}`, []string{"N", `"42"`}, `the Mcp-Param-N header has "\"42\"", the body "42"`},
		{`{"deep":{"n":42}}`, []string{"N", `84/2`}, `the Mcp-Param-N header has "84/2", the body "42"`},
		{`{"deep":{"b":true}}`, []string{"B", `True`}, `the Mcp-Param-B header has "True", the body "true"`},
	} {
		header := make(http.Header)
		for pair := range slices.Chunk(tt.header, 2) {
			header.Add("Mcp-Param-"+pair[0], pair[1])
		}
		got := ""
		if fault := plan.Check(header, json.RawMessage(tt.args)); fault != nil {
			got = fault.Message
			if fault.Code != protocol.CodeHeaderMismatch {
				t.Errorf("%s with %q: code %d", tt.args, tt.header, fault.Code)
			}
		}
		if got != tt.want {
			t.Errorf("%s with %q: %s\nwant %s", tt.args, tt.header, got, tt.want)
		}
	}
}

func FuzzParamHeaders(f *testing.F) {
	f.Add(`{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}`, `{"a":"x"}`)
	f.Add(`{"properties":{"a":{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}`, `{"a":{"n":1.0}}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		tool := []byte(`{"inputSchema":` + schema + `}`)
		if jsontok.Valid(tool, jsontok.Limits{}) != nil || jsontok.Valid([]byte(args), jsontok.Limits{}) != nil {
			return
		}
		_, plan, err := mcpjson.ReadParamHeaders(tool)
		if err != nil {
			return
		}
		header := make(http.Header)
		plan.Set(header, json.RawMessage(args))
		for name, values := range header {
			if !strings.HasPrefix(name, "Mcp-Param-") || strings.ContainsAny(name+values[0], "\r\n") {
				t.Fatalf("header %q: %q", name, values)
			}
		}
		if fault := plan.Check(header, json.RawMessage(args)); fault != nil {
			t.Fatalf("what is set is refused: %v", fault)
		}
	})
}
