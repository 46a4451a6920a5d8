package conformance

import (
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"
)

var buildExample = sync.OnceValues(func() (string, error) { return buildOwn("examples/server") })

// startExample runs the example of a server that is only gRPC, and returns its
// address.
func startExample(t *testing.T) string {
	t.Helper()
	program, err := buildExample()
	if err != nil {
		t.Fatal(err)
	}
	return startListening(t, os.Interrupt, program, func(addr string) []string { return []string{"-listen", addr} })
}

// TestNative runs all that the revisions require, and what the suite runs with
// it without a score, the extension for tasks among it, through the bridge in
// front of a server that implements McpService and knows no other transport.
func TestNative(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		revision string
		schemes  []string // of the upstreams of the bridges, the one next to the server first
		passed   int      // checks
	}{
		{"2025-11-25", []string{"grpc"}, 80},
		{"2026-07-28", []string{"mcp+grpc"}, 196},
		{"2026-07-28", []string{"mcp+grpc", "mcp+grpc"}, 196},
	} {
		t.Run(fmt.Sprintf("%s/%d", tt.revision, len(tt.schemes)), func(t *testing.T) {
			t.Parallel()
			addr, endpoint := startExample(t), ""
			for _, scheme := range tt.schemes {
				endpoint = serve(t, scheme+"://"+addr)
				u, err := url.Parse(endpoint)
				if err != nil {
					t.Fatal(err)
				}
				addr = u.Host
			}
			passed, failed := runScenarios(t, "conformance-0.2", endpoint, "--requirements", tt.revision)
			if passed != tt.passed || failed != 0 {
				t.Errorf("%d checks passed, %d failed; want %d and none", passed, failed, tt.passed)
			}
		})
	}
}
