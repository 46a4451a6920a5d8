package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
)

// summary matches the line in which the suite sums up.
var summary = regexp.MustCompile(`(?m)^Total: (\d+) passed, (\d+) failed`)

// runSuite runs every server scenario of a revision against a URL, and returns
// how many checks passed and failed. The file testdata/BASELINE.yaml, if there
// is one, lists what may fail: a failure that is not in it fails the test, and
// so does an entry of it that passes.
func runSuite(t *testing.T, suite, revision, url, baseline string) (passed, failed int) {
	t.Helper()
	args := []string{"--suite", "all", "--spec-version", revision}
	listed, err := filepath.Abs(filepath.Join("testdata", baseline+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(listed); err == nil {
		args = append(args, "--expected-failures", listed)
	}
	return runScenarios(t, suite, url, args...)
}

// runScenarios runs the server scenarios that args choose.
func runScenarios(t *testing.T, suite, url string, args ...string) (passed, failed int) {
	t.Helper()
	out, err := outputOf(t, suite, url, args...)
	if err != nil {
		t.Fatalf("the suite found what is not expected: %v\n%s", err, out)
	}
	m := summary.FindSubmatch(out)
	if m == nil {
		t.Fatalf("the suite did not sum up:\n%s", out)
	}
	return number(t, m[1]), number(t, m[2])
}

// outputOf returns what the suite says of the server scenarios that args choose. The
// error is for checks that fail and are not expected to.
func outputOf(t *testing.T, suite, url string, args ...string) ([]byte, error) {
	t.Helper()
	args = append([]string{nodetools.Module(t, suite, "dist/index.js"), "server", "--url", url, "--output-dir", t.TempDir()}, args...)
	cmd := exec.CommandContext(t.Context(), nodetools.Node22(t), args...)
	cmd.Dir = t.TempDir()
	return cmd.CombinedOutput()
}

func number(t *testing.T, text []byte) int {
	t.Helper()
	n, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
