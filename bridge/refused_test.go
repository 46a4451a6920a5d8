package bridge_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/grpcgo"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// TestRefused: a server that is none of MCP, or wants other callers, is not one
// that is down. Clients hear which, and the log more.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		status  int
		service string // none for a tunnel
		want    string
	}{
		{"no tunnel", http.StatusNotFound, "", "the server has no RPC mcp.v1.McpService/Tunnel"},
		{"no tunnel for us", http.StatusForbidden, "", "the MCP server refuses access"},
		{"no tunnel so", http.StatusUnauthorized, "", "the MCP server wants other credentials"},
		{"no service", http.StatusNotFound, bridge.GRPCService, "the server has no mcp.v1.McpService"},
		{"no service of Google's", http.StatusNotFound, bridge.GoogleService, "the server has no model_context_protocol.Mcp"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(tt.status) }))
			var protocols http.Protocols
			protocols.SetUnencryptedHTTP2(true)
			server.Config.Protocols = &protocols
			server.Start()
			t.Cleanup(server.Close)
			url := "grpc://" + server.Listener.Addr().String()
			var logged bytes.Buffer
			log := slog.New(slog.NewTextHandler(&logged, nil))
			var client protocol.Handler
			closeClient := func() {}
			if tt.service == "" {
				c, err := bridge.NewTunnelClient(bridge.TunnelClientConfig{URL: url, Logger: log})
				if err != nil {
					t.Fatal(err)
				}
				client, closeClient = c, c.Close
			} else {
				caller, err := grpcgo.Dial(url)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = caller.Close() })
				if client, err = bridge.NewGRPCClient(bridge.GRPCClientConfig{Caller: caller, Service: tt.service, Logger: log}); err != nil {
					t.Fatal(err)
				}
			}
			_, err := client.Handle(t.Context(), request(protocol.MethodListTools, `{}`), protocol.Discard)
			closeClient()
			if fault := protocol.AsError(err); err == nil || fault.Message != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
			if !bytes.Contains(logged.Bytes(), []byte(tt.want)) {
				t.Errorf("the log is %s", logged.Bytes())
			}
		})
	}
}
