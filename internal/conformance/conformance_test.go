// Package conformance runs the official MCP conformance suite against the
// bridge: in front of a gRPC backend made for it, and in front of the reference
// server of the Go SDK.
package conformance

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/grpcgo"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// startBridge puts the bridge in front of a fixture and returns the URL of the
// MCP endpoint.
func startBridge(t *testing.T) string {
	t.Helper()
	var b *bridge.Bridge
	fixture := startFixture(t, func() {
		if changed, err := b.Refresh(context.Background()); err != nil || !changed {
			t.Errorf("refresh: changed %t, error %v", changed, err)
		}
	})
	caller, err := grpcgo.Dial("grpc://" + fixture.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = caller.Close() })
	b, err = bridge.New(t.Context(), []bridge.Upstream{{Caller: caller}}, bridge.WithServerInfo("conformance", "1"))
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := streamable.New(streamable.Config{Handler: b, StreamAfter: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(endpoint)
	t.Cleanup(func() {
		b.Close()
		server.CloseClientConnections()
		server.Close()
		endpoint.Close()
	})
	return server.URL + "/mcp"
}

// TestServer runs every server scenario of a revision. What cannot pass is
// listed, with the reason, in the baseline.
func TestServer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		suite, revision string
		atLeast         int // passed checks
	}{
		{"conformance-0.1", "2025-06-18", 6},
		{"conformance-0.1", "2025-11-25", 11},
		{"conformance-0.2", "2025-03-26", 3},
		{"conformance-0.2", "2025-06-18", 36},
		{"conformance-0.2", "2025-11-25", 45},
		{"conformance-0.2", "2026-07-28", 92},
	} {
		t.Run(tt.suite+"/"+tt.revision, func(t *testing.T) {
			passed, failed := runSuite(t, tt.suite, tt.revision, startBridge(t), tt.suite+"_"+tt.revision)
			if passed < tt.atLeast {
				t.Errorf("%d checks passed, want at least %d", passed, tt.atLeast)
			}
			t.Logf("%d passed, %d failed as listed", passed, failed)
		})
	}
}
