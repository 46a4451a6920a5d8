package conformance

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"
)

// binaries is where programs are built.
var binaries string

func TestMain(m *testing.M) {
	if os.Getenv(bridgeEnv) != "" {
		os.Exit(runClient(os.Args[len(os.Args)-1]))
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binaries = dir
	return m.Run()
}

// build builds a program.
func build(args ...string) (path string, err error) {
	program := args[len(args)-1]
	cmd := exec.Command("go", append([]string{"build", "-o", binaries + string(filepath.Separator)}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", program, err, out)
	}
	return filepath.Join(binaries, filepath.Base(program)), nil
}

// buildOwn builds a command of this module, with the race detector where the
// test has it.
func buildOwn(command string) (string, error) {
	command = "github.com/mcp-bridge/mcp-bridge/" + command
	info, ok := debug.ReadBuildInfo()
	if ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return build("-race", command)
	}
	return build(command)
}

// buildBridge builds the bridge.
var buildBridge = sync.OnceValues(func() (string, error) { return buildOwn("cmd/mcp-bridge") })

// command is a program that does not wait a second before it ends, as those with
// the race detector do.
func command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = append(cmd.Environ(), "GORACE=atexit_sleep_ms=0")
	return cmd
}

// startListening starts a program that gets the address to listen on from its
// arguments, and returns that address once it listens. At the end of the test
// the program gets the signal, upon which it must end well unless it is killed.
func startListening(t *testing.T, end os.Signal, program string, args func(addr string) []string) string {
	t.Helper()
	var stderr *bytes.Buffer
	for range 3 { // somebody else may take the address first
		stderr = new(bytes.Buffer)
		addr := freeAddress(t)
		cmd := command(program, args(addr)...)
		cmd.Stderr = stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var err error
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			err = cmd.Wait()
		}()
		if !awaitListener(t, addr, ended) {
			_ = cmd.Process.Kill() // unless it has ended
			<-ended
			continue
		}
		t.Cleanup(func() {
			if err := cmd.Process.Signal(end); err != nil {
				t.Error(err)
			}
			<-ended
			if err != nil && end != os.Kill {
				t.Errorf("%s: %v", filepath.Base(program), err)
			}
			if t.Failed() {
				t.Logf("%s said:\n%s", filepath.Base(program), stderr.Bytes())
			}
		})
		return addr
	}
	t.Fatalf("%s does not listen:\n%s", program, stderr.Bytes())
	return ""
}

// freeAddress returns an address on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	lis, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lis.Close(); err != nil {
			t.Error(err)
		}
	}()
	return lis.Addr().String()
}

// awaitListener waits until something listens, and returns false where the
// program ends instead.
func awaitListener(t *testing.T, addr string, ended <-chan struct{}) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			_ = conn.Close() // it served its purpose
		}
		select {
		case <-ended:
			return false
		case <-ctx.Done():
			return false
		case <-again.C:
			if err == nil { // and the program goes on
				return true
			}
		}
	}
}

// serve runs `mcp-bridge serve` and returns the URL of its MCP endpoint.
func serve(t *testing.T, args ...string) string {
	t.Helper()
	program, err := buildBridge()
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(program, append([]string{"serve", "--json", "--listen", "127.0.0.1:0"}, args...)...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("serve: %v", err)
		}
		if t.Failed() {
			t.Logf("serve said:\n%s", stderr.Bytes())
		}
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		t.Fatalf("serve said nothing: %v", err)
	}
	var started struct{ URL string }
	if err := json.Unmarshal(line, &started); err != nil || started.URL == "" {
		t.Fatalf("serve said %q", line)
	}
	return started.URL
}
