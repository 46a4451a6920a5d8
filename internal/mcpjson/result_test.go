package mcpjson_test

import (
	"encoding/json"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// TestResultWrittenAgain: what has been read is written as a result of
// 2026-07-28, and no member is there twice.
func TestResultWrittenAgain(t *testing.T) {
	t.Parallel()
	const list, call = protocol.MethodListTools, protocol.MethodCallTool
	for _, tt := range []struct {
		method string
		modern bool
		in     string
		want   string
	}{
		{call, true, `{"resultType":"complete","content":[]}`, `{"resultType":"complete","content":[]}`},
		{call, true, `{"content":[],"new":1}`, `{"resultType":"complete","content":[],"new":1}`},
		{call, true, `{"resultType":"task","taskId":"1","ttlMs":null}`, `{"resultType":"task","taskId":"1","ttlMs":null}`},
		{list, true, `{"resultType":"complete","ttlMs":5,"cacheScope":"public","tools":[]}`, `{"resultType":"complete","ttlMs":5,"cacheScope":"public","tools":[]}`},
		{list, true, `{"tools":[]}`, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[]}`},
		{list, true, `{"tools":[],"ttlMs":-1,"cacheScope":"public"}`, `{"resultType":"complete","ttlMs":0,"cacheScope":"public","tools":[]}`},
		{
			list, true, `{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"},"a":1},"tools":[]}`,
			`{"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"a":1,"io.modelcontextprotocol/serverInfo":{"name":"s"}},"tools":[]}`,
		},
		// Servers of two eras give legacy clients what they do not know.
		{list, false, `{"tools":[],"ttlMs":5,"cacheScope":"public"}`, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[]}`},
		{call, false, `{"resultType":"input_required","content":[]}`, `{"resultType":"complete","content":[]}`},
		{call, false, `{"content":[],"ttlMs":5}`, `{"resultType":"complete","content":[],"ttlMs":5}`},
	} {
		res, err := mcpjson.ReadResult(tt.method, json.RawMessage(tt.in), tt.modern)
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if got := protocol.AppendResult(nil, res, protocol.Revision20260728); string(got) != tt.want {
			t.Errorf("%s, modern %t: %s\nwant %s", tt.in, tt.modern, got, tt.want)
		}
	}
}
