package bridge_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// TestRepeatedHeaders: neither an error nor the log shows the values of headers
// that an MCP server behind an RPC has been sent, and repeats.
func TestRepeatedHeaders(t *testing.T) {
	t.Parallel()
	const configured, forwarded = "configured-hunter2", "forwarded-hunter2"
	front, err := bridge.NewGRPCHandler(bridge.GRPCConfig{Handler: protocol.HandlerFunc(func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		if r.Method == protocol.MethodDiscover {
			return &protocol.Result{Body: []byte(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)}, nil
		}
		fault := protocol.Errorf(-31000, "bad token %s for %s", r.Caller.Header.Get("X-Token"), r.Caller.Header.Get("Authorization"))
		fault.Data = []byte(`{"seen":"` + r.Caller.Header.Get("X-Token") + `"}`)
		return nil, fault
	})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(front.Close)
	mux := http.NewServeMux()
	front.Mount(mux)
	server := httptest.NewUnstartedServer(mux)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	url := "grpc://" + server.Listener.Addr().String()
	header := http.Header{"X-Token": {configured}}
	for name, want := range map[string]string{
		bridge.GRPCService:   "bad token [redacted] for [redacted]",
		bridge.GoogleService: "bad token [redacted] for [redacted]",
		"Tunnel":             "bad token [redacted] for ", // a stream is everybody's
	} {
		var logged bytes.Buffer
		log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
		var client protocol.Handler
		if name == "Tunnel" {
			c, err := bridge.NewTunnelClient(bridge.TunnelClientConfig{URL: url, Connect: bridge.ConnectConfig{Header: header}, Logger: log})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.Close)
			client = c
		} else {
			caller, err := bridge.Connect(url, bridge.ConnectConfig{Header: header})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = caller.Close() })
			client, err = bridge.NewGRPCClient(bridge.GRPCClientConfig{Caller: caller, Service: name, ForwardHeaders: []string{"authorization"}, Logger: log})
			if err != nil {
				t.Fatal(err)
			}
		}
		r := request(protocol.MethodCallTool, `{"name":"a"}`)
		r.Caller = &protocol.Caller{Header: http.Header{"Authorization": {"Bearer " + forwarded}}}
		_, err := client.Handle(t.Context(), r, protocol.Discard)
		fault := protocol.AsError(err)
		if err == nil || fault.Message != want {
			t.Errorf("%s: error %v, want %s", name, err, want)
		}
		if all := fault.Message + string(fault.Data) + logged.String(); strings.Contains(all, "hunter2") {
			t.Errorf("%s shows %s", name, all)
		}
	}
}
