package mcpjson_test

import (
	"encoding/json"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func TestCompleteMeta(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		revision protocol.Revision
		want     string // the data of the fault
	}{
		{"", ""},
		{protocol.Revision20260728, ""},
		{protocol.Revision20251125, `{"supported":["2026-07-28"],"requested":"2025-11-25"}`},
		{"2030-01-01", `{"supported":["2026-07-28"],"requested":"2030-01-01"}`},
	} {
		m := protocol.Meta{Revision: tt.revision}
		switch fault := mcpjson.CompleteMeta(&m); {
		case fault != nil:
			if fault.Code != protocol.CodeUnsupportedProtocolVersion || string(fault.Data) != tt.want {
				t.Errorf("%q: %v, %s", tt.revision, fault, fault.Data)
			}
		case tt.want != "" || m.Revision != protocol.Revision20260728 || string(m.Capabilities) != "{}":
			t.Errorf("%q: %+v", tt.revision, m)
		}
	}
}

func TestCheckName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ method, params, want string }{
		{protocol.MethodCallTool, `{"arguments":{}}`, "name is missing, or empty"},
		{protocol.MethodReadResource, `{}`, "uri is missing, or empty"},
		{protocol.MethodCallTool, `{"name":""}`, ""},
		{protocol.MethodCallTool, `{"name":1}`, ""},
		{protocol.MethodListTools, `{}`, ""},
		{"x/y", `{}`, ""},
	} {
		got := ""
		if fault := mcpjson.CheckName(tt.method, json.RawMessage(tt.params)); fault != nil {
			got = fault.Message
		}
		if got != tt.want {
			t.Errorf("%s %s: got %q, want %q", tt.method, tt.params, got, tt.want)
		}
	}
}
