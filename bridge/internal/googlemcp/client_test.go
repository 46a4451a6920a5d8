package googlemcp_test

import (
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectcall"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func TestClient(t *testing.T) {
	t.Parallel()
	url, hc := serve(t, echo)
	c := dial(t, hc, url, connectcall.ProtocolGRPC)
	got, err := ask(t.Context(), c, protocol.MethodListTools, `{}`)
	if want := `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`; err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	got, err = ask(t.Context(), c, protocol.MethodCallTool, `{"name":"echo","arguments":{"a":[null,1]}}`)
	t.Log(got, err)
}
