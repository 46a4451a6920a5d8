package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
)

// buildReference and buildReferenceClient build the reference server and client
// that the module tools/reference pins.
var (
	buildReference       = sync.OnceValues(func() (string, error) { return buildPinned(goSDK + "everything-server") })
	buildReferenceClient = sync.OnceValues(func() (string, error) { return buildPinned(goSDK + "everything-client") })
)

const goSDK = "github.com/modelcontextprotocol/go-sdk/conformance/"

// buildPinned belongs to the working directory of the tests, to find the module.
func buildPinned(program string) (string, error) {
	return build("-modfile="+filepath.Join("..", "..", "tools", "reference", "go.mod"), program)
}

// reference returns the path of a program that the module tools/reference pins.
func reference(t *testing.T, build func() (string, error)) string {
	t.Helper()
	program, err := build()
	if err != nil {
		nodetools.Missing(t, "a program of tools/reference cannot be had: "+err.Error())
	}
	return program
}

// startReference runs the reference server and returns its URL. A legacy one
// refuses requests of 2026-07-28, a modern one has no sessions.
func startReference(t *testing.T, modern bool) string {
	t.Helper()
	return "http://" + startListening(t, os.Kill, reference(t, buildReference), func(addr string) []string {
		return []string{"-http", addr, fmt.Sprintf("-stateless=%t", modern)}
	})
}

// TestReference runs the suite through the bridge in front of the reference
// server, of the era of the suite's revision and of the other one; and through
// two bridges with McpService between them, over gRPC, gRPC-Web and Connect, so
// that every message is one of mcp.v1 on its way, and with the Tunnel.
//
// By itself the server passes 26 and 44 checks of the first suite, 56, 82 and
// 153 of the second. Not all of them are made here: the bridge answers with JSON
// what does not take long, and then the suite does not look at event streams,
// which is one check, and another one where there is server-sse-polling; and what
// has failed is not looked at further.
func TestReference(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		suite, revision string
		era             string // of the server
		passed, failed  int    // checks
	}{
		{"conformance-0.1", "2025-06-18", "legacy", 26, 0},
		{"conformance-0.1", "2025-06-18", "modern", 24, 2},
		{"conformance-0.1", "2025-11-25", "legacy", 43, 0},
		{"conformance-0.1", "2025-11-25", "modern", 31, 4},
		{"conformance-0.2", "2025-06-18", "legacy", 56, 0},
		{"conformance-0.2", "2025-06-18", "modern", 54, 2},
		{"conformance-0.2", "2025-11-25", "legacy", 80, 0},
		{"conformance-0.2", "2025-11-25", "modern", 68, 4},
		{"conformance-0.2", "2026-07-28", "legacy", 147, 2},
		{"conformance-0.2", "2026-07-28", "modern", 152, 0},
	} {
		between := []string{"http", "mcp+grpc"} // what asks the bridge that asks the server: the suite by http
		if tt.revision == "2026-07-28" {
			between = append(between, "mcp+grpcweb+http", "mcp+connect+http", "tunnel+grpc")
		}
		for _, scheme := range between {
			t.Run(fmt.Sprintf("%s/%s/%s/%s", tt.suite, tt.revision, tt.era, scheme), func(t *testing.T) {
				t.Parallel()
				url := serve(t, startReference(t, tt.era == "modern"))
				if scheme != "http" { // or another bridge
					url = serve(t, scheme+strings.TrimSuffix(strings.TrimPrefix(url, "http"), "/mcp"))
				}
				passed, failed := runSuite(t, tt.suite, tt.revision, url, fmt.Sprintf("reference_%s_%s_%s", tt.suite, tt.revision, tt.era))
				if passed != tt.passed || failed != tt.failed {
					t.Errorf("%d checks passed, %d failed; want %d and %d", passed, failed, tt.passed, tt.failed)
				}
			})
		}
	}
}

// TestReferenceOnStdio: the way to the server makes no difference.
func TestReferenceOnStdio(t *testing.T) {
	t.Parallel()
	passed, failed := runSuite(t, "conformance-0.2", "2026-07-28", serve(t, "--", reference(t, buildReference)), "")
	if passed != 152 || failed != 0 {
		t.Errorf("%d checks passed, %d failed; want 152 and 0", passed, failed)
	}
}
