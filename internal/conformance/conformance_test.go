// Package conformance runs the official MCP conformance suite against the
// bridge, in front of a gRPC backend made for it.
package conformance

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/grpcgo"
	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
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
	endpoint, err := b.HTTPHandler(streamable.Config{StreamAfter: 50 * time.Millisecond})
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

// summary matches the line in which the suite sums up.
var summary = regexp.MustCompile(`(?m)^Total: (\d+) passed, (\d+) failed`)

// TestServer runs every server scenario of a revision. What cannot pass is
// listed, with the reason, in the baseline: a failure that is not in it fails
// the test, and so does an entry of it that passes.
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
			node := nodetools.Node22(t)
			suite := nodetools.Module(t, tt.suite, "dist/index.js")
			baseline, err := filepath.Abs(filepath.Join("testdata", fmt.Sprintf("%s_%s.yaml", tt.suite, tt.revision)))
			if err != nil {
				t.Fatal(err)
			}
			args := []string{
				suite, "server", "--url", startBridge(t), "--suite", "all",
				"--spec-version", tt.revision, "--output-dir", t.TempDir(),
			}
			if _, err := os.Stat(baseline); err == nil {
				args = append(args, "--expected-failures", baseline)
			}
			cmd := exec.CommandContext(t.Context(), node, args...)
			cmd.Dir = t.TempDir()
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Run(); err != nil {
				t.Errorf("the suite found what the baseline does not expect: %v\n%s", err, out.Bytes())
				return
			}
			m := summary.FindSubmatch(out.Bytes())
			if m == nil {
				t.Fatalf("the suite did not sum up:\n%s", out.Bytes())
			}
			passed, err := strconv.Atoi(string(m[1]))
			if err != nil || passed < tt.atLeast {
				t.Errorf("%s checks passed, want at least %d", m[1], tt.atLeast)
			}
			t.Logf("%s passed, %s failed as listed", m[1], m[2])
		})
	}
}
