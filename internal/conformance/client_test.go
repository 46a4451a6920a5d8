package conformance

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
)

// bridgeEnv and clientEnv make the test binary a client for the suite: the
// program that clientEnv names, behind the bridge that bridgeEnv names.
const (
	bridgeEnv = "CONFORMANCE_TEST_BRIDGE"
	clientEnv = "CONFORMANCE_TEST_CLIENT"
)

// runClient is that client, of the server at the URL. It returns the client's
// exit status.
func runClient(url string) (status int) {
	err := func() error {
		bridge := command(os.Getenv(bridgeEnv), "serve", "--json", "--listen", "127.0.0.1:0", url)
		bridge.Stderr = os.Stderr
		stdout, err := bridge.StdoutPipe()
		if err != nil {
			return err
		}
		if err := bridge.Start(); err != nil {
			return err
		}
		err = func() error {
			line, err := bufio.NewReader(stdout).ReadBytes('\n')
			if err != nil {
				return fmt.Errorf("the bridge said nothing: %w", err)
			}
			var started struct{ URL string }
			if err := json.Unmarshal(line, &started); err != nil {
				return err
			}
			client := exec.Command(os.Getenv(clientEnv), started.URL)
			client.Stdout, client.Stderr = os.Stdout, os.Stderr
			err = client.Run()
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				status = exit.ExitCode() // some scenarios want it to fail
				return nil
			}
			return err
		}()
		return errors.Join(err, bridge.Process.Signal(os.Interrupt), bridge.Wait())
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}

// TestReferenceClient runs the suite's scenarios for clients, but for those of
// authorization and of extensions, with the reference client behind the bridge.
// So the bridge is judged, which is the client that the suite sees.
func TestReferenceClient(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bridge, err := buildBridge()
	if err != nil {
		t.Fatal(err)
	}
	client := reference(t, buildReferenceClient)
	const modern = "2026-07-28"
	for _, tt := range []struct {
		scenario, revision string
		passed             int // checks
	}{
		// The bridge lists tools on its own account, in a session of its own.
		{"initialize", "2025-06-18", 3}, {"initialize", "2025-11-25", 3},
		{"tools_call", "2025-06-18", 2}, {"tools_call", "2025-11-25", 2}, {"tools_call", modern, 2},
		{"sse-retry", "2025-11-25", 3},
		{"elicitation-sep1034-client-defaults", "2025-11-25", 5},
		{"request-metadata", modern, 8},
		{"sep-2322-client-request-state", modern, 5},
		{"http-standard-headers", modern, 10}, {"http-custom-headers", modern, 18}, {"http-invalid-tool-headers", modern, 12},
		{"json-schema-ref-no-deref", modern, 1},
		{"json-schema-2020-12-preservation", "2025-11-25", 9}, {"json-schema-2020-12-preservation", modern, 9},
	} {
		t.Run(tt.scenario+"/"+tt.revision, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), nodetools.Node22(t), nodetools.Module(t, "conformance-0.2", "dist/index.js"), "client",
				"--command", self, "--scenario", tt.scenario, "--spec-version", tt.revision, "--output-dir", t.TempDir())
			cmd.Dir = t.TempDir()
			cmd.Env = append(cmd.Environ(), bridgeEnv+"="+bridge, clientEnv+"="+client)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			m := passedFailed.FindSubmatch(out)
			if m == nil || string(m[1]) != strconv.Itoa(tt.passed) || string(m[2]) != "0" {
				t.Errorf("%s, want %d passed and none failed\n%s", m, tt.passed, out)
			}
		})
	}
}
