package bridge_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// TestForwardToMCPServers: headers of a caller reach the MCP server behind a
// URL, and behind McpService, if they are named.
func TestForwardToMCPServers(t *testing.T) {
	t.Parallel()
	server := protocol.HandlerFunc(func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		if r.Method != protocol.MethodCallTool {
			return &protocol.Result{Body: json.RawMessage(`{"supportedVersions":["2026-07-28"],"capabilities":{},"tools":[]}`)}, nil
		}
		text, err := json.Marshal(r.Caller.Header.Get("Authorization") + " " + r.Caller.Header.Get("X-Tenant-Id") + " " + r.Caller.Header.Get("X-Other"))
		return &protocol.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":` + string(text) + `}]}`)}, err
	})
	endpoint, err := streamable.New(streamable.Config{Handler: server})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(endpoint.Close)
	web := httptest.NewServer(endpoint)
	t.Cleanup(web.Close)
	forward, err := bridge.ForwardHeaders("authorization", "x-tenant-*")
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	overHTTP, err := streamable.NewClient(streamable.ClientConfig{URL: web.URL, Forward: forward, HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(overHTTP.Close)

	front, err := bridge.NewGRPCHandler(bridge.GRPCConfig{Handler: server})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(front.Close)
	mux := http.NewServeMux()
	front.Mount(mux)
	caller, err := bridge.InProcessCaller(mux)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = caller.Close() })
	overRPC, err := bridge.NewGRPCClient(bridge.GRPCClientConfig{Caller: caller, ForwardHeaders: []string{"authorization", "x-tenant-*"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, client := range map[string]protocol.Handler{"Streamable HTTP": overHTTP, "McpService": overRPC} {
		res, err := client.Handle(t.Context(), &protocol.Request{
			Method: protocol.MethodCallTool, Params: json.RawMessage(`{"name":"whoami"}`),
			Meta: protocol.Meta{Revision: protocol.Revision20260728, Capabilities: json.RawMessage(`{}`)},
			Caller: &protocol.Caller{Header: http.Header{
				"Authorization": {"Bearer x"}, "X-Tenant-Id": {"7"}, "X-Other": {"secret"},
			}},
		}, protocol.Discard)
		if err != nil || string(res.Body) != `{"content":[{"type":"text","text":"Bearer x 7 "}]}` {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	if _, err := bridge.ForwardHeaders("*"); err == nil {
		t.Error("all headers may be forwarded")
	}
	if _, err := bridge.NewGRPCClient(bridge.GRPCClientConfig{Caller: caller, ForwardHeaders: []string{"mcp-method"}}); err == nil {
		t.Error("headers of the protocol may be forwarded")
	}
}
