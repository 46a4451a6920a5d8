package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	libraryv1 "github.com/mcp-bridge/mcp-bridge/gen/library/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/demo"
	"github.com/mcp-bridge/mcp-bridge/internal/demo/demogrpc"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// binary is the program, built for the tests that need a process.
var binary string

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	if len(os.Args) == 4 && os.Args[1] == fakeArgument {
		return beFakeServer(os.Args[2], os.Args[3])
	}
	dir, err := os.MkdirTemp("", "mcp-bridge")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "mcp-bridge")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	code := m.Run()
	http.DefaultClient.CloseIdleConnections()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// outcome is what a command did.
type outcome struct {
	status         int
	stdout, stderr string
}

// mcpBridge runs a command in this process.
func mcpBridge(t *testing.T, args ...string) outcome {
	t.Helper()
	return mcpBridgeIn(t, "", args...)
}

func mcpBridgeIn(t *testing.T, stdin string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), args, strings.NewReader(stdin), &stdout, &stderr)
	return outcome{status, stdout.String(), stderr.String()}
}

// ok fails the test where the command failed, and returns its output.
func (o outcome) ok(t *testing.T) string {
	t.Helper()
	if o.status != 0 {
		t.Fatalf("exit status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	return o.stdout
}

// contains fails the test where text lacks any of parts.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in:\n%s", part, text)
		}
	}
}

// serveGRPC serves s until the test ends, and returns its address.
func serveGRPC(t *testing.T, s *grpc.Server) string {
	t.Helper()
	l := listen(t)
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil && !errors.Is(err, grpc.ErrServerStopped) { // stopped before it served
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// reflective serves the demo library by grpc-go with reflection.
func reflective(t *testing.T, opts ...grpc.ServerOption) string {
	t.Helper()
	return "grpc://" + serveGRPC(t, demogrpc.NewServer(demo.New(), opts...))
}

// plainServer is the demo library without reflection.
type plainServer struct {
	libraryv1.UnimplementedLibraryServer

	library *demo.Library
}

func (s plainServer) GetBook(ctx context.Context, r *libraryv1.GetBookRequest) (*libraryv1.Book, error) {
	return s.library.GetBook(ctx, r)
}

func unreflective(t *testing.T) string {
	t.Helper()
	s := grpc.NewServer()
	libraryv1.RegisterLibraryServer(s, plainServer{library: demo.New()})
	return serveGRPC(t, s)
}

// gate holds calls of Reindex back until it is opened.
type gate struct {
	entered chan struct{}
	open    chan struct{}
	once    sync.Once
}

// newGate returns a gate that the end of the test opens.
func newGate(t *testing.T) *gate {
	t.Helper()
	g := &gate{entered: make(chan struct{}, 16), open: make(chan struct{})}
	t.Cleanup(g.release)
	return g
}

func (g *gate) release() { g.once.Do(func() { close(g.open) }) }

func (g *gate) option() grpc.ServerOption {
	return grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if strings.HasSuffix(info.FullMethod, "/Reindex") {
			g.entered <- struct{}{}
			select {
			case <-g.open:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return handler(ctx, req)
	})
}

// process is a run of the binary.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr bytes.Buffer
	once   sync.Once
	err    error
}

// start runs the binary. It is killed with the test, if it has not ended.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs signals")
	}
	p := &process{t: t, cmd: exec.CommandContext(context.Background(), binary, args...)}
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdout = bufio.NewReader(out)
	p.cmd.Stderr = &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // fails where it has ended
		_ = p.wait()
	})
	return p
}

// wait waits for the end. What is left of stdout is lost.
func (p *process) wait() error {
	p.once.Do(func() { p.err = p.cmd.Wait() })
	return p.err
}

// line reads the next line of stdout.
func (p *process) line() string {
	p.t.Helper()
	line, err := p.stdout.ReadString('\n')
	if err != nil {
		p.t.Fatalf("stdout: %v after %q\n%s", err, line, p.stderr.String())
	}
	return strings.TrimSuffix(line, "\n")
}

func (p *process) signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
}

// ended fails the test unless the process ends with status 0.
func (p *process) ended() {
	p.t.Helper()
	if err := p.wait(); err != nil {
		p.t.Errorf("ended with %v\n%s", err, p.stderr.String())
	}
}

// startServe runs `mcp-bridge serve` and returns the URL of its endpoint.
func startServe(t *testing.T, args ...string) (*process, string) {
	t.Helper()
	p := start(t, append([]string{"serve", "--json", "--listen", "127.0.0.1:0"}, args...)...)
	var started struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal([]byte(p.line()), &started); err != nil {
		t.Fatal(err)
	}
	return p, started.URL
}
