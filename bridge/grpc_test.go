package bridge_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/grpcgo"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// TestGRPCServices: both services are on one port, reflection lists them, and
// both can be asked.
func TestGRPCServices(t *testing.T) {
	t.Parallel()
	handler, err := bridge.NewGRPCHandler(bridge.GRPCConfig{Handler: protocol.HandlerFunc(func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		if r.Method != protocol.MethodCallTool {
			return nil, protocol.MethodNotFound(r.Method)
		}
		text, err := json.Marshal(string(r.Params))
		return &protocol.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":` + string(text) + `}]}`)}, err
	})})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	handler.Mount(mux)
	server := httptest.NewUnstartedServer(mux)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	server.Config.Protocols = &protocols
	server.Start()
	caller, err := grpcgo.Dial("grpc://" + server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = caller.Close()
		handler.Close()
		server.Close()
	})
	services, err := bridge.Services(t.Context(), caller)
	if want := []string{bridge.GRPCService, bridge.GoogleService}; err != nil || !slices.Equal(services, want) {
		t.Errorf("%v, %v, want %v", services, err, want)
	}
	for _, service := range append(services, "") {
		client, err := bridge.NewGRPCClient(bridge.GRPCClientConfig{Caller: caller, Service: service})
		if err != nil {
			t.Fatal(err)
		}
		got, err := client.Handle(t.Context(), request(protocol.MethodCallTool, `{"name":"t","arguments":{"a":"x"}}`), protocol.Discard)
		if err != nil || !strings.Contains(string(got.Body), `\"arguments\":{\"a\":\"x\"}`) {
			t.Errorf("%s: %+v, %v", service, got, err)
		}
	}
	_, err = bridge.NewGRPCClient(bridge.GRPCClientConfig{Caller: caller, Service: "a.B"})
	if want := `bridge: GRPCClientConfig.Service is "a.B"; it can be mcp.v1.McpService or model_context_protocol.Mcp`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
