package mcpjson_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func TestReadResult(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method, raw string
		modern      bool
		want        protocol.Result
		err         string
	}{
		{method: "x", raw: `{}`, modern: true, want: protocol.Result{Body: json.RawMessage(`{}`)}},
		{
			method: "tools/list", modern: true,
			raw: `{"resultType":"complete","ttlMs":5,"cacheScope":"public","_meta":{"a":1.0,"io.modelcontextprotocol/serverInfo":{"name":"s"},"io.modelcontextprotocol/subscriptionId":1},"tools":[ ]}`,
			want: protocol.Result{
				Type: "complete", Body: json.RawMessage(`{"tools":[ ]}`), Meta: json.RawMessage(`{"a":1.0}`),
				Server: json.RawMessage(`{"name":"s"}`), Cache: &protocol.Cache{TTLMillis: 5},
			},
		},
		{method: "tools/list", raw: `{"ttlMs":-5,"cacheScope":7}`, modern: true, want: protocol.Result{Body: json.RawMessage(`{}`), Cache: &protocol.Cache{Private: true}}},
		{method: "tools/list", raw: `{"ttlMs":5,"resultType":"task"}`, want: protocol.Result{Body: json.RawMessage(`{}`), Cache: &protocol.Cache{Private: true}}},
		{method: "tools/call", raw: `{"resultType":"task","taskId":"x"}`, modern: true, want: protocol.Result{Type: "task", Body: json.RawMessage(`{"taskId":"x"}`)}},
		{method: "tools/call", raw: `{"resultType":"task","ttlMs":5}`, modern: true, want: protocol.Result{Type: "task", Body: json.RawMessage(`{"ttlMs":5}`)}},
		{method: "tasks/get", raw: `{"status":"working","ttlMs":null}`, modern: true, want: protocol.Result{Body: json.RawMessage(`{"status":"working","ttlMs":null}`)}},
		{method: "x", raw: `{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}`, modern: true, want: protocol.Result{Body: json.RawMessage(`{}`)}},
		{method: "x", raw: `{"_meta":7}`, want: protocol.Result{Body: json.RawMessage(`{}`)}},
		{method: "x", raw: `[]`, err: "the MCP server's result is no JSON object: at byte 0: want an object, got '['"},
		{method: "x", raw: `{"_meta":{"a":1,"a":2}}`, err: `the _meta of the MCP server's result cannot be read: at byte 7: member "a" occurs twice`},
	} {
		got, err := mcpjson.ReadResult(tt.method, json.RawMessage(tt.raw), tt.modern)
		if err != nil || tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%s: error %v, want %s", tt.raw, err, tt.err)
			}
			continue
		}
		if !reflect.DeepEqual(*got, tt.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tt.raw, *got, tt.want)
		}
	}
}

// FuzzReadResult: what a server says is what a client hears, but for what
// belongs to the hop.
func FuzzReadResult(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[],"_meta":{"a":{"b":[]}}}`,
		`{"_meta":{},"x":null}`, `{"resultType":"input_required","requestState":"é"}`, `{"a\u0062":1}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		res, err := mcpjson.ReadResult("tools/call", json.RawMessage(raw), true)
		if err != nil {
			return
		}
		out := protocol.AppendResult(nil, res, protocol.Revision20260728)
		var in, back map[string]any
		if err := json.Unmarshal([]byte(raw), &in); err != nil {
			return // encoding/json refuses more, such as deep nesting
		}
		if err := json.Unmarshal(out, &back); err != nil {
			t.Fatalf("%s becomes %s: %v", raw, out, err)
		}
		for _, m := range []map[string]any{in, back} {
			if s, ok := m["resultType"].(string); !ok || s == "" {
				m["resultType"] = "complete"
			}
			meta, _ := m["_meta"].(map[string]any)
			delete(meta, protocol.MetaSubscriptionID)
			if len(meta) == 0 {
				delete(m, "_meta")
			}
		}
		if !reflect.DeepEqual(in, back) {
			t.Fatalf("%s becomes %s", raw, out)
		}
	})
}

func TestSet(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ raw, want string }{
		{``, `{"b":7}`},
		{`{}`, `{"b":7}`},
		{`{"a":1.0}`, `{"a":1.0,"b":7}`},
		{`{"b":{"b":1},"a":[]}`, `{"b":7,"a":[]}`},
	} {
		if got := string(mcpjson.Set(json.RawMessage(tt.raw), "b", []byte("7"))); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.raw, got, tt.want)
		}
	}
}

func TestArray(t *testing.T) {
	t.Parallel()
	var a mcpjson.Array
	if !a.Empty() || string(a.JSON()) != `[]` {
		t.Errorf("empty: %s", a.JSON())
	}
	a.Add([]byte(`1`))
	a.AddString("a\"b")
	a.Add([]byte(`[]`))
	if got := string(a.JSON()); a.Empty() || got != `[1,"a\"b",[]]` {
		t.Errorf("got %s", got)
	}
}
