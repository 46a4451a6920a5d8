package conformance

import (
	"os"
	"regexp"
	"slices"
	"sync"
	"testing"
)

var buildMCPGo = sync.OnceValues(func() (string, error) { return buildPinned("github.com/mark3labs/mcp-go/examples/conformance") })

// startMCPGo runs the conformance server of mcp-go and returns its URL. It speaks
// 2026-07-28, in which it asks nothing of clients, and older revisions, in which it
// does.
func startMCPGo(t *testing.T) string {
	t.Helper()
	server := reference(t, buildMCPGo)
	return "http://" + startListening(t, os.Kill, "env", func(addr string) []string {
		return []string{"CONFORMANCE_ADDR=" + addr, server}
	}) + "/mcp"
}

// checks are how many checks of a scenario passed and failed.
type checks struct{ passed, failed int }

var scenario = regexp.MustCompile(`(?m)^[✓✗] ([a-z0-9-]+): (\d+) passed, (\d+) failed`)

// checksOf runs every server scenario of a revision against a URL.
func checksOf(t *testing.T, revision, url string) map[string]checks {
	t.Helper()
	out, _ := outputOf(t, "conformance-0.2", url, "--suite", "all", "--spec-version", revision) // some fail directly
	all := make(map[string]checks)
	for _, m := range scenario.FindAllSubmatch(out, -1) {
		all[string(m[1])] = checks{number(t, m[2]), number(t, m[3])}
	}
	if len(all) == 0 {
		t.Fatalf("the suite did not sum up:\n%s", out)
	}
	return all
}

// racy are scenarios that fail now and then without a bridge: the server drops
// notifications that it has not sent when it answers.
var racy = []string{"tools-call-with-logging", "tools-call-with-progress"}

// TestOwnEra: a server that speaks both eras passes through one bridge and through two
// what it passes directly, because each client is heard in its own revision.
func TestOwnEra(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		revision string
		passed   int // directly, whatever the racy scenarios do
	}{
		{"2025-06-18", 53},
		{"2025-11-25", 70},
		{"2026-07-28", 108},
	} {
		t.Run(tt.revision, func(t *testing.T) {
			t.Parallel()
			server := startMCPGo(t)
			one := serve(t, server)
			two := serve(t, one)
			direct := checksOf(t, tt.revision, server)
			for name, url := range map[string]string{"one bridge": one, "two bridges": two} {
				passed := 0
				for scenario, got := range checksOf(t, tt.revision, url) {
					passed += got.passed
					want := direct[scenario]
					if slices.Contains(racy, scenario) {
						continue
					}
					if got.passed < want.passed || got.failed > want.failed {
						t.Errorf("%s through %s: %d checks passed, %d failed; directly %d and %d", scenario, name, got.passed, got.failed, want.passed, want.failed)
					}
				}
				if passed < tt.passed {
					t.Errorf("%d checks passed through %s, want %d", passed, name, tt.passed)
				}
			}
		})
	}
}
