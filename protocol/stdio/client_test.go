//go:build unix

package stdio_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
)

// logged collects a log.
type logged struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	text  string // that is watched for
	found func()
}

// watch calls found once a text is in the log.
func (l *logged) watch(text string, found func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text, l.found = text, found
	l.look()
}

func (l *logged) look() {
	if l.found != nil && strings.Contains(l.buf.String(), l.text) {
		l.found()
		l.found = nil
	}
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.look()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// startServer returns a client of a server in a process of its own.
func startServer(t *testing.T, mode string, edit ...func(*stdio.ClientConfig)) (*stdio.Client, *logged) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := &logged{}
	cfg := stdio.ClientConfig{
		Command: self, Args: []string{"-test.run=^$"}, Env: []string{serverEnv + "=" + mode, "GOCOVERDIR=" + t.TempDir()},
		ClientConfig: protocol.ClientConfig{Logger: slog.New(slog.NewTextHandler(log, nil))},
	}
	for _, f := range edit {
		f(&cfg)
	}
	c, err := stdio.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, log
}

func call(tool string) *protocol.Request {
	return &protocol.Request{
		Method: "tools/call", Params: json.RawMessage(`{"name":"` + tool + `"}`),
		Meta: protocol.Meta{Revision: protocol.Revision20260728}, Caller: &protocol.Caller{Transport: "test"},
	}
}

func pid(t *testing.T, c *stdio.Client, tool string) int {
	t.Helper()
	res, err := c.Handle(t.Context(), call(tool), protocol.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var body struct{ PID int }
	if err := json.Unmarshal(res.Body, &body); err != nil || body.PID == 0 {
		t.Fatalf("result %s", res.Body)
	}
	return body.PID
}

// gone waits until there is no process pid. A zombie is one.
func gone(t *testing.T, pid int) {
	t.Helper()
	limit := time.NewTimer(10 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
		// Orphans are reaped by whoever adopts them, which need not be soon.
		if stat, err := os.ReadFile("/proc/" + itoa(pid) + "/stat"); err == nil && bytes.Contains(stat, []byte(") Z ")) && !bytes.Contains(stat, []byte(") Z "+itoa(os.Getpid())+" ")) {
			return
		}
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatalf("process %d is still there", pid)
		}
	}
}

func itoa(n int) string {
	b, _ := json.Marshal(n)
	return string(b)
}

func TestProcess(t *testing.T) {
	t.Parallel()
	c, log := startServer(t, "good")
	res, err := c.Handle(t.Context(), call("echo"), protocol.Discard)
	if err != nil || string(res.Body) != `{"content":[{"type":"text","text":""}]}` {
		t.Errorf("result %v, error %v", res, err)
	}
	c.Close()
	c.Close() // does nothing
	if s := log.String(); !strings.Contains(s, "stderr=ready") || strings.Contains(s, "WARN") {
		t.Errorf("log %s", s)
	}
	_, err = c.Handle(t.Context(), call("echo"), protocol.Discard)
	if err == nil || err.Error() != "the connection to the MCP server is closed: the connection is closed" {
		t.Errorf("closed: %v", err)
	}
}

// TestFaults: what a server's process does wrong becomes an error that says
// so, and the next request is answered by a new process.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mode, tool, want string
		kind             protocol.UpstreamKind
	}{
		"exits":       {"legacy", "exit", "the MCP server has ended: exit status 3: it said last: out of memory", protocol.UpstreamUnavailable},
		"is killed":   {"legacy", "kill", "the MCP server has ended: signal: killed: it wrote nothing to standard error", protocol.UpstreamUnavailable},
		"long line":   {"legacy", "long", "the MCP server sent a message of more than 10485760 bytes: too long a message", protocol.UpstreamTooLarge},
		"closes":      {"legacy", "close", "the MCP server has closed its output", protocol.UpstreamUnavailable},
		"with orphan": {"orphan", "exit", "the MCP server has ended: exit status 3: it said last: out of memory", protocol.UpstreamUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := startServer(t, tt.mode)
			first, orphan := pid(t, c, "pid"), 0
			if tt.mode == "orphan" {
				orphan = pid(t, c, "spawn")
			}
			_, err := c.Handle(t.Context(), call(tt.tool), protocol.Discard)
			fault, ok := errors.AsType[*protocol.UpstreamError](err)
			if !ok || fault.Kind != tt.kind || err.Error() != tt.want || fault.Unsent {
				t.Errorf("error %v, want %s", err, tt.want)
			}
			second := pid(t, c, "pid")
			if second == first {
				t.Error("the same process goes on")
			}
			gone(t, first)
			if orphan != 0 {
				gone(t, orphan)
			}
			c.Close()
			gone(t, second)
		})
	}
}

func TestGarbage(t *testing.T) {
	t.Parallel()
	c, log := startServer(t, "garbage")
	for range 20 {
		pid(t, c, "pid")
	}
	c.Close()
	if n := strings.Count(log.String(), "it was skipped"); n == 0 || n > 20 {
		t.Errorf("%d warnings", n)
	}
}

// TestBrokenResponse: a response that cannot be read is the error of its call,
// at once.
func TestBrokenResponse(t *testing.T) {
	t.Parallel()
	c, _ := startServer(t, "legacy")
	for _, tool := range []string{"broken", "cut"} {
		_, err := c.Handle(t.Context(), call(tool), protocol.Discard)
		const want = "the MCP server's response to the request is no valid JSON-RPC message: invalid JSON: "
		if fault, ok := errors.AsType[*protocol.UpstreamError](err); !ok || fault.Kind != protocol.UpstreamMalformed || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %s...", tool, err, want)
		}
	}
	pid(t, c, "pid") // it goes on
}

// TestFlood: what a program says of itself fills no log, and its end is in the
// error.
func TestFlood(t *testing.T) {
	t.Parallel()
	c, log := startServer(t, "legacy")
	_, err := c.Handle(t.Context(), call("flood"), protocol.Discard)
	exit, ok := errors.AsType[*stdio.ExitError](err)
	if !ok || exit.Status != "exit status 3" || len(exit.Stderr) != 20 || exit.Stderr[19] != "the end" || exit.Stderr[18] != "line 99999 "+strings.Repeat("x", 100) {
		t.Fatalf("%q", exit)
	}
	if fault, ok := errors.AsType[*protocol.UpstreamError](err); !ok || fault.Message != "the MCP server has ended: exit status 3" {
		t.Errorf("clients are told %v", fault)
	}
	c.Close()
	if n := strings.Count(log.String(), "the MCP server says"); n < 200 || n > 1000 || len(log.String()) > 1<<20 {
		t.Errorf("%d lines, %d bytes", n, len(log.String()))
	}
	if !strings.Contains(log.String(), "the MCP server says more than is logged") || !strings.Contains(log.String(), "lines_dropped=9") || strings.Contains(log.String(), "x1b") {
		t.Errorf("log %.2000s", log)
	}
}

// TestSecretsOfTheEnvironment: a program that repeats its environment tells
// nobody.
func TestSecretsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	c, log := startServer(t, "legacy", func(cfg *stdio.ClientConfig) { cfg.Env = append(cfg.Env, "TEST_API_TOKEN="+secret) })
	_, err := c.Handle(t.Context(), call("tells"), protocol.Discard)
	fault, ok := errors.AsType[*protocol.Error](err)
	if !ok || fault.Message != "bad token [redacted]" || string(fault.Data) != `{"token":"[redacted]"}` {
		t.Errorf("error %v", err)
	}
	c.Close()
	if s := log.String(); strings.Contains(s, secret) || strings.Count(s, "the token is [redacted]") != 2 {
		t.Errorf("log %s", s)
	}
}

func TestHung(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"stubborn", "deaf"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c, log := startServer(t, mode, func(cfg *stdio.ClientConfig) {
				cfg.StopTimeout = 50 * time.Millisecond
				cfg.ProbeTimeout = 50 * time.Millisecond
				cfg.HandshakeTimeout = 2 * time.Second
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			log.watch(stubborn, cancel)
			_, err := c.Handle(ctx, call("hang"), protocol.Discard)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			c.Close()
			if s := log.String(); !strings.Contains(s, "it is told to") || !strings.Contains(s, "it is killed") {
				t.Errorf("log %s", s)
			}
		})
	}
}

// TestDeaf: a server that reads nothing holds up nobody for longer than they
// want to wait.
func TestDeaf(t *testing.T) {
	t.Parallel()
	c, _ := startServer(t, "deaf", func(cfg *stdio.ClientConfig) {
		cfg.StopTimeout = 10 * time.Millisecond
		cfg.ProbeTimeout = 10 * time.Millisecond
	})
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			r := call("echo")
			r.Params = json.RawMessage(`{"name":"echo","arguments":"` + strings.Repeat("x", 1<<20) + `"}`)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			if _, err := c.Handle(ctx, r, protocol.Discard); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
		})
	}
	wg.Wait()
}

// TestNeverAnswers: the error of a program that does not answer has what it has
// said.
func TestNeverAnswers(t *testing.T) {
	t.Parallel()
	c, _ := startServer(t, "deaf", func(cfg *stdio.ClientConfig) {
		cfg.StopTimeout = 10 * time.Millisecond
		cfg.ProbeTimeout = 10 * time.Millisecond
		cfg.HandshakeTimeout = 3 * time.Second
	})
	_, err := c.Handle(t.Context(), call("echo"), protocol.Discard)
	fault, ok := errors.AsType[*protocol.UpstreamError](err)
	if !ok || fault.Kind != protocol.UpstreamTimeout || err.Error() != "the MCP server did not answer initialize in time: it said last: "+stubborn {
		t.Errorf("error %v", err)
	}
}

func TestSilentIsLegacy(t *testing.T) {
	t.Parallel()
	c, log := startServer(t, "silent", func(cfg *stdio.ClientConfig) { cfg.ProbeTimeout = 500 * time.Millisecond })
	pid(t, c, "pid")
	if !strings.Contains(log.String(), "it is taken for one before 2026-07-28") {
		t.Errorf("log %s", log)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("STDIO_TEST_SECRET", "s3cret")
	dir := t.TempDir()
	c, _ := startServer(t, "legacy", func(cfg *stdio.ClientConfig) {
		cfg.Env = append(cfg.Env, "OWN=1")
		cfg.Dir = dir
	})
	res, err := c.Handle(t.Context(), call("env"), protocol.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var body struct{ Env []string }
	if err := json.Unmarshal(res.Body, &body); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(body.Env, "OWN=1") || strings.Contains(string(res.Body), "s3cret") || !strings.Contains(string(res.Body), `"PATH=`) {
		t.Errorf("environment %s", res.Body)
	}
	res, err = c.Handle(t.Context(), call("pwd"), protocol.Discard)
	if err != nil || !strings.Contains(string(res.Body), dir) {
		t.Errorf("directory %v, %v", res, err)
	}
}

func TestCannotStart(t *testing.T) {
	t.Parallel()
	c, err := stdio.NewClient(stdio.ClientConfig{Command: "/nonexistent/program"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Handle(t.Context(), call("echo"), protocol.Discard)
	fault, ok := errors.AsType[*protocol.UpstreamError](err)
	if !ok || !fault.Unsent || err.Error() != "the MCP server could not be started: fork/exec /nonexistent/program: no such file or directory" {
		t.Errorf("error %v", err)
	}
	if rpc := protocol.AsError(err); rpc.Message != "the MCP server could not be started" {
		t.Errorf("clients are told %q", rpc.Message)
	}
	dies, _ := startServer(t, "dies")
	_, err = dies.Handle(t.Context(), call("echo"), protocol.Discard)
	if err == nil || err.Error() != "the MCP server has ended: exit status 2: it said last: no configuration" {
		t.Errorf("error %v", err)
	}
}

// broken is a server that ends as soon as it is asked.
type broken struct{ done chan struct{} }

func (b *broken) Read([]byte) (int, error) {
	<-b.done
	return 0, io.EOF
}

func (b *broken) Write(p []byte) (int, error) {
	b.Close()
	return len(p), nil
}

func (b *broken) Close() error {
	select {
	case <-b.done:
	default:
		close(b.done)
	}
	return nil
}

// TestBackoff: restarts come with growing pauses. Requests wait for a short
// one, and fail where it is long, with the time that is left.
func TestBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var starts []time.Duration
		begin := time.Now()
		c, err := stdio.NewClient(stdio.ClientConfig{Dial: func(context.Context) (io.ReadWriteCloser, error) {
			starts = append(starts, time.Since(begin))
			return &broken{done: make(chan struct{})}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for len(starts) < 10 {
			_, err := c.Handle(t.Context(), call("echo"), protocol.Discard)
			fault, ok := errors.AsType[*protocol.UpstreamError](err)
			if !ok || fault.Kind != protocol.UpstreamUnavailable {
				t.Fatalf("error %v", err)
			}
			if fault.RetryAfter > 0 {
				if err.Error() != "the MCP server has ended, and is started again after a pause: the MCP server has ended the connection" {
					t.Errorf("error %v", err)
				}
				<-time.After(fault.RetryAfter)
			}
		}
		var pauses []time.Duration
		for i := 1; i < len(starts); i++ {
			pauses = append(pauses, starts[i]-starts[i-1])
		}
		const ms = time.Millisecond
		want := []time.Duration{250 * ms, 500 * ms, 1000 * ms, 2000 * ms, 4000 * ms, 8000 * ms, 16000 * ms, 30000 * ms, 30000 * ms}
		if !slices.Equal(pauses, want) {
			t.Errorf("pauses %v, want %v", pauses, want)
		}
	})
}

// mute is a server that has closed its input and goes on.
type mute struct{ done chan struct{} }

func (m *mute) Read([]byte) (int, error) {
	<-m.done
	return 0, io.EOF
}

func (m *mute) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func (m *mute) Close() error {
	close(m.done)
	return nil
}

// TestInputClosed: a server that takes nothing any more is started anew by the
// next request.
func TestInputClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		starts := 0
		c, err := stdio.NewClient(stdio.ClientConfig{Dial: func(context.Context) (io.ReadWriteCloser, error) {
			starts++
			return &mute{done: make(chan struct{})}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for attempt := range 2 {
			_, err = c.Handle(t.Context(), call("echo"), protocol.Discard)
			fault, ok := errors.AsType[*protocol.UpstreamError](err)
			if !ok || !fault.Unsent || err.Error() != "the MCP server takes no messages any more: stdio: write: io: read/write on closed pipe" {
				t.Errorf("error %v", err)
			}
			if starts != attempt+1 {
				t.Errorf("started %d times", starts)
			}
		}
	})
}

func TestClientConfig(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]stdio.ClientConfig{
		"stdio: one of Command and Dial must be set":                                                         {},
		"stdio: environment variable \"A\" must be NAME=VALUE\nenvironment variable \"\" must be NAME=VALUE": {Command: "x", Env: []string{"A", "=1"}},
	} {
		if cfg.Env != nil {
			cfg.Env[0] = "A\x00=1"
			want = strings.Replace(want, `"A"`, `"A\x00"`, 1)
		}
		if _, err := stdio.NewClient(cfg); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
