package googlemcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectcall"
	"github.com/mcp-bridge/mcp-bridge/internal/samejson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// modernMeta is the _meta that requests of package googlemcp_test have when they
// have passed the service.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"sampling":{},"roots":{}}}`

// TestThroughTheService: what is asked and answered is the same behind and in
// front of the service, but for what docs/mirror.md says is lost.
func TestThroughTheService(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		method string
		params string // without _meta
		asked  string // what the server sees, if not params
		result string // of the server, with resultType and _meta
		want   string // what the client sees, if not result
	}{
		{
			name: "call", method: protocol.MethodCallTool,
			params: `{"name":"t","arguments":{"s":"é","n":[1.5,null,true,{}],"o":{"a":-1}}}`,
			result: `{"resultType":"complete","_meta":{"com.example/a":{"b":[1]}},"content":[{"type":"text","text":"hi"}],"structuredContent":{"a":1},"isError":true}`,
		},
		{
			name: "call without arguments", method: protocol.MethodCallTool,
			params: `{"name":"t"}`,
			result: `{"resultType":"complete","content":[]}`,
		},
		{
			name: "content", method: protocol.MethodCallTool,
			params: `{"name":"t","arguments":{}}`,
			result: `{"resultType":"complete","content":[` +
				`{"type":"text","text":"","annotations":{"audience":["user","assistant"],"priority":0.1}},` +
				`{"type":"image","data":"AAEC","mimeType":"image/png"},` +
				`{"type":"audio","data":"/w==","mimeType":"audio/wav","annotations":{"audience":["user"]}},` +
				`{"type":"resource","resource":{"uri":"x:y","mimeType":"text/plain","text":"t"},"annotations":{"priority":1}},` +
				`{"type":"resource","resource":{"uri":"x:y","blob":"AA=="}},` +
				`{"type":"resource_link","uri":"x:y","name":"n","title":"T","description":"d","mimeType":"a/b","size":9,"annotations":{"priority":0.7}}]}`,
		},
		{
			name: "tools", method: protocol.MethodListTools, params: `{}`,
			result: `{"resultType":"complete","ttlMs":1500,"cacheScope":"private","tools":[` +
				`{"name":"a","title":"A","description":"d","inputSchema":{"type":"object","properties":{"x":{"type":"integer"}}},"outputSchema":{"type":"object"},` +
				`"annotations":{"title":"t","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}},` +
				`{"name":"b","inputSchema":{"type":"object"}}]}`,
		},
		{
			name: "resources", method: protocol.MethodListResources, params: `{}`,
			result: `{"resultType":"complete","ttlMs":0,"cacheScope":"private","resources":[` +
				`{"uri":"x:1","name":"n","title":"T","description":"d","mimeType":"a/b","size":12,"annotations":{"audience":["assistant"]}},{"uri":"x:2","name":"m"}]}`,
		},
		{
			name: "templates", method: protocol.MethodListTemplates, params: `{}`,
			result: `{"resultType":"complete","ttlMs":60000,"cacheScope":"private","resourceTemplates":[` +
				`{"uriTemplate":"x:{a}","name":"n","title":"T","description":"d","mimeType":"a/b","annotations":{"priority":0.3}}]}`,
		},
		{
			name: "read", method: protocol.MethodReadResource, params: `{"uri":"x:1"}`,
			result: `{"resultType":"complete","contents":[{"uri":"x:1","mimeType":"a/b","text":""},{"uri":"x:1/2","blob":"AAEC"}]}`,
			want:   `{"resultType":"complete","ttlMs":0,"cacheScope":"private","contents":[{"uri":"x:1","mimeType":"a/b","text":""},{"uri":"x:1/2","blob":"AAEC"}]}`,
		},
		{
			name: "prompts", method: protocol.MethodListPrompts, params: `{}`,
			result: `{"resultType":"complete","ttlMs":1,"cacheScope":"private","prompts":[` +
				`{"name":"p","title":"T","description":"d","arguments":[{"name":"a","title":"A","description":"d","required":true},{"name":"b"}]},{"name":"q"}]}`,
		},
		{
			name: "prompt", method: protocol.MethodGetPrompt, params: `{"name":"p","arguments":{"a":"1","b":""}}`,
			result: `{"resultType":"complete","description":"d","messages":[` +
				`{"role":"user","content":{"type":"text","text":"hi"}},{"role":"assistant","content":{"type":"image","data":"AA==","mimeType":"image/png"}},` +
				`{"role":"user","content":{"type":"audio","data":"AA==","mimeType":"a/b"}},` +
				`{"role":"user","content":{"type":"resource","resource":{"uri":"x:y","text":"t"}}},{"role":"user","content":{"type":"resource_link","uri":"x:y","name":"n"}}]}`,
		},
		{
			name: "complete prompt", method: protocol.MethodComplete,
			params: `{"ref":{"type":"ref/prompt","name":"p","title":"T"},"argument":{"name":"a","value":""},"context":{"arguments":{"b":"c"}}}`,
			result: `{"resultType":"complete","completion":{"values":["x","y"],"total":8,"hasMore":true}}`,
		},
		{
			name: "complete template", method: protocol.MethodComplete,
			params: `{"ref":{"type":"ref/resource","uri":"x:{a}"},"argument":{"name":"a","value":"v"}}`,
			result: `{"resultType":"complete","completion":{"values":[]}}`,
		},

		// What is lost.
		{
			name: "numbers are doubles", method: protocol.MethodCallTool,
			params: `{"name":"t","arguments":{"n":9007199254740993}}`, asked: `{"name":"t","arguments":{"n":9007199254740992}}`,
			result: `{"resultType":"complete","content":[],"structuredContent":{"n":9007199254740993}}`,
			want:   `{"resultType":"complete","content":[],"structuredContent":{"n":9007199254740992}}`,
		},
		{
			name: "members that the service does not have", method: protocol.MethodCallTool,
			params: `{"name":"t","x":1}`, asked: `{"name":"t"}`,
			result: `{"resultType":"complete","content":[{"type":"text","text":"a","_meta":{"x":1},"annotations":{"lastModified":"2025-01-12T15:00:58Z"}}],"isError":false,"x":1}`,
			want:   `{"resultType":"complete","content":[{"type":"text","text":"a","annotations":{}}]}`,
		},
		{
			name: "structured content that is no object", method: protocol.MethodCallTool,
			params: `{"name":"t"}`,
			result: `{"resultType":"complete","content":[{"type":"text","text":"[1]"}],"structuredContent":[1]}`,
			want:   `{"resultType":"complete","content":[{"type":"text","text":"[1]"}]}`,
		},
		{
			name: "content of other types is its JSON", method: protocol.MethodCallTool,
			params: `{"name":"t"}`,
			result: `{"resultType":"complete","content":[{"type":"video","src":"x"}]}`,
			want:   `{"resultType":"complete","content":[{"type":"text","text":"{\"type\":\"video\",\"src\":\"x\"}"}]}`,
		},
		{
			name: "hints, icons, execution, schemas of no object", method: protocol.MethodListTools, params: `{}`,
			result: `{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[` +
				`{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"array"},"annotations":{},"icons":[{"src":"x:y"}],"_meta":{"a":1}}]}`,
			want: `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[` +
				`{"name":"a","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}}]}`,
		},
		{
			name: "zero is nothing", method: protocol.MethodListResources, params: `{}`,
			result: `{"resultType":"complete","ttlMs":0,"cacheScope":"private","resources":[{"uri":"x:1","name":"","size":0,"annotations":{"priority":0,"audience":[]}}]}`,
			want:   `{"resultType":"complete","ttlMs":0,"cacheScope":"private","resources":[{"uri":"x:1","annotations":{}}]}`,
		},
		{
			name: "a total of zero", method: protocol.MethodComplete,
			params: `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}`,
			result: `{"resultType":"complete","completion":{"values":[],"total":0,"hasMore":false}}`,
			want:   `{"resultType":"complete","completion":{"values":[]}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked string
			url, hc := serve(t, func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
				if r.Method == protocol.MethodDiscover {
					return nil, protocol.MethodNotFound(r.Method)
				}
				if r.Method != tt.method {
					t.Errorf("method %s", r.Method)
				}
				asked = string(r.Params)
				return result(tt.result), nil
			})
			got, err := ask(t.Context(), dial(t, hc, url, connectcall.ProtocolGRPC), tt.method, tt.params)
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "" {
				tt.want = tt.result
			}
			if !samejson.Equal([]byte(got), []byte(tt.want)) {
				t.Errorf(" got %s\nwant %s", got, tt.want)
			}
			if tt.asked == "" {
				tt.asked = tt.params
			}
			want := strings.TrimSuffix("{"+modernMeta+","+tt.asked[1:], ",}") // params may be empty
			if tt.asked == "{}" {
				want += "}"
			}
			if !samejson.Equal([]byte(asked), []byte(want)) {
				t.Errorf("asked %s\n want %s", asked, want)
			}
		})
	}
}

// result makes a result of its JSON.
func result(text string) *protocol.Result {
	var members struct {
		Type  protocol.ResultType `json:"resultType"`
		Meta  json.RawMessage     `json:"_meta"`
		TTL   *int64              `json:"ttlMs"`
		Scope string              `json:"cacheScope"`
	}
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		return nil
	}
	r := &protocol.Result{Type: members.Type, Meta: members.Meta, Body: json.RawMessage(text)}
	for _, name := range []string{"resultType", "_meta", "ttlMs", "cacheScope"} {
		r.Body = protocol.WithoutMember(r.Body, name)
	}
	if members.TTL != nil {
		r.Cache = &protocol.Cache{TTLMillis: *members.TTL, Private: members.Scope != "public"}
	}
	return r
}
