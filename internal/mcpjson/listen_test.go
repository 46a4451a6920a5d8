package mcpjson_test

import (
	"encoding/json"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
)

func TestAcknowledged(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		``:   "",
		`{}`: "",
		`{"notifications":{"toolsListChanged":true,"promptsListChanged":false,"resourceSubscriptions":1}}`: "notifications/tools/list_changed ",
		`{"notifications":{"resourcesListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["a:b"],"taskIds":["t"]}}`://
		`notifications/prompts/list_changed notifications/resources/list_changed notifications/resources/updated{"uri":"a:b"} `,
	} {
		got := ""
		for _, n := range mcpjson.Acknowledged(json.RawMessage(params)) {
			got += n.Method + string(n.Params) + " "
		}
		if got != want {
			t.Errorf("%s: %q, want %q", params, got, want)
		}
	}
}
