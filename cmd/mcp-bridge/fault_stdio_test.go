package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

// TestKilledInACall: whoever has a call under way hears that the server has
// ended, and the next call is answered by a new process.
func TestKilledInACall(t *testing.T) {
	t.Parallel()
	const want = "the MCP server has ended: signal: killed"
	for mode, protocols := range map[string][]string{fakeLegacy: {"gRPC"}, fakeModern: {"gRPC-Web", "Connect"}} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			for _, name := range protocols {
				b := bridgeFake(t, mode)
				client, pid := b.rpc[name], b.pid()
				calls, err := client.StreamCallTool(t.Context(), &mcpv1.StreamCallToolRequest{Request: &mcpv1.CallToolRequest{Name: "hang"}})
				if err != nil {
					t.Fatal(err)
				}
				if !calls.Receive() || calls.Msg().GetProgress() == nil {
					t.Fatalf("%s: no progress but %v, %v", name, calls.Msg(), calls.Err())
				}
				kill(t, pid)
				if calls.Receive() {
					t.Errorf("%s: after the end, %v", name, calls.Msg())
				}
				wantStatus(t, calls.Err(), connect.CodeUnavailable, want)
				_ = calls.Close() // says the same
				if next := b.pid(); next == pid {
					t.Errorf("%s: process %d goes on", name, pid)
				}
				// The same over Streamable HTTP. The first time, the call is not
				// blamed for the end, and may be made again at once.
				pid = b.pid()
				events := b.open(modernCall(t, b.base+"/mcp", "hang"))
				if got := events.next(); !strings.Contains(got, `"notifications/progress"`) {
					t.Fatal(got)
				}
				kill(t, pid)
				if code, message := rpcError(t, events.next()); code != -32603 || message != want {
					t.Errorf("error %d %s", code, message)
				}
				if status, got := do(t, b.web, request(t, http.MethodPost, b.base+"/mcp", legacyCall("pid"))); status != http.StatusOK || !strings.Contains(got, `"text":"`) {
					t.Errorf("the next call: %d %s", status, got)
				}
				// The second time it is.
				_, err = b.call(t.Context(), "hang")
				wantStatus(t, err, connect.CodeUnavailable, "the MCP server's process has ended during requests for this tool by this caller; they are refused for another ")
				if delay := retryDelay(t, err); delay <= 0 {
					t.Errorf("retry after %v", delay)
				}
			}
		})
	}
}

// TestNoise: what a server writes that is no MCP does no harm, and a message
// that is too long ends it.
func TestNoise(t *testing.T) {
	t.Parallel()
	b := bridgeFake(t, fakeLegacy)
	pid := b.pid()
	for range 10 {
		if got := b.must("garbage"); got != "clean" {
			t.Error(got)
		}
	}
	if got := b.pid(); got != pid {
		t.Error("the server has been restarted")
	}
	_, err := b.call(t.Context(), "long")
	wantStatus(t, err, connect.CodeResourceExhausted, "the MCP server sent a message of more than 10485760 bytes")
	if got := b.pid(); got == pid {
		t.Error("the server goes on")
	}
	status, got := do(t, b.web, request(t, http.MethodPost, b.base+"/mcp", legacyCall("exit")))
	if code, message := rpcError(t, got); status != http.StatusOK || code != -32603 || message != "the MCP server has ended: exit status 3" {
		t.Errorf("status %d, error %d %s", status, code, message)
	}
}

// TestHung: the client's deadline ends a call that hangs, and the server is
// told.
func TestHung(t *testing.T) {
	t.Parallel()
	b := bridgeFake(t, fakeLegacy)
	pid := b.pid()
	for name, client := range b.rpc {
		b.hang(client, func() string { return b.must("calls") })
		if got := b.must("cancelled"); got != "cancelled" {
			t.Errorf("%s: %s", name, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	events := b.open(modernCall(t, b.base+"/mcp", "hang").WithContext(ctx))
	events.next()
	cancel()
	if got := b.must("cancelled"); got != "cancelled" {
		t.Error(got)
	}
	if got := b.pid(); got != pid {
		t.Error("the server has been restarted")
	}
}

// TestEndsAgainAndAgain: a server that ends whenever it is started is started
// with growing pauses, and is there again once it works.
func TestEndsAgainAndAgain(t *testing.T) {
	t.Parallel()
	b := bridgeFake(t, fakeBroken)
	pid := b.pid()
	file := filepath.Join(b.dir, brokenFile)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	kill(t, pid)
	var ended, paused bool
	var delay time.Duration
	for !ended || !paused {
		_, err := b.call(t.Context(), "pid")
		fault, ok := errors.AsType[*connect.Error](err)
		if !ok || fault.Code() != connect.CodeUnavailable {
			t.Fatal(err)
		}
		switch message := fault.Message(); {
		case message == "the MCP server has ended: exit status 2":
			ended = true
		case message == "the MCP server has ended, and is started again after a pause":
			paused = true
			if delay = retryDelay(t, err); delay <= time.Second || delay > 30*time.Second {
				t.Errorf("retry after %v", delay)
			}
		case strings.HasPrefix(message, "the MCP server has ended: signal: killed"):
		default:
			t.Fatal(err)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	<-time.After(delay)
	b.pid()
}

// TestFlood: a client that does not take what its call says holds up nobody
// else, and what it leaves behind is freed.
func TestFlood(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{fakeLegacy, fakeModern} {
		b := bridgeFake(t, mode)
		for name, client := range b.rpc {
			ctx, cancel := context.WithCancel(t.Context())
			calls, err := client.StreamCallTool(ctx, &mcpv1.StreamCallToolRequest{Request: &mcpv1.CallToolRequest{Name: "flood"}})
			if err != nil {
				t.Fatal(err)
			}
			if !calls.Receive() {
				t.Fatalf("%s: %v", name, calls.Err())
			}
			b.pid()
			cancel()
			if got := b.must("cancelled"); got != "cancelled" {
				t.Errorf("%s: %s", name, got)
			}
			_ = calls.Close() // it is cancelled
		}
	}
}

// TestManyCallersOfOneThatIsKilled: of many calls at a time every one is
// answered, or fails in a way that says why, when the server is killed meanwhile.
func TestManyCallersOfOneThatIsKilled(t *testing.T) {
	t.Parallel()
	b := bridgeFake(t, fakeLegacy)
	// Each kill hits calls of another tool, because one that has been under way
	// alone before is refused for a while.
	for _, tool := range []string{"pid", "calls", "env"} {
		ctx, cancel := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		for name, client := range b.rpc {
			for range 4 {
				callers.Go(func() {
					for ctx.Err() == nil {
						_, err := textOf(client.CallTool(t.Context(), &mcpv1.CallToolRequest{Name: tool}))
						if fault, ok := errors.AsType[*connect.Error](err); err != nil && (!ok || fault.Code() != connect.CodeUnavailable || !ended(fault.Message())) {
							t.Errorf("%s: %v", name, err)
							return
						}
					}
				})
			}
		}
		kill(t, b.pid())
		for b.eventually(tool) == "" {
			continue
		}
		cancel()
		callers.Wait()
	}
	if left := processes(t, b.dir); len(left) != 1 {
		t.Errorf("there are %d servers", len(left))
	}
}

// ended reports whether an error says that the server has ended, or that calls
// wait because it has.
func ended(message string) bool {
	return strings.HasPrefix(message, "the MCP server has ended") || strings.HasPrefix(message, "the MCP server's process has ended during a request like this one")
}

// eventually calls a tool of a server that may be about to be started again.
// It returns "" where it is not there yet.
func (b *bridged) eventually(tool string) string {
	b.t.Helper()
	text, err := b.call(b.t.Context(), tool)
	if err != nil && connect.CodeOf(err) != connect.CodeUnavailable {
		b.t.Fatal(err)
	}
	return text
}

// TestHostEndsStdio: a host that ends `mcp-bridge stdio` as the official SDKs
// do leaves no process of a server behind, even of one that does not end by
// itself.
func TestHostEndsStdio(t *testing.T) {
	t.Parallel()
	for name, hang := range map[string]bool{"idle": false, "in a call": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, command := fakeCommand(t, fakeStays)
			p := start(t, append([]string{"stdio", "--log-level", "error"}, command...)...)
			p.send(initialize)
			contains(t, p.line(), `"id":1`)
			p.send(strings.Replace(legacyCall("pid"), `"id":1`, `"id":2`, 1))
			contains(t, p.line(), `"id":2`)
			if hang {
				p.send(strings.Replace(legacyCall("hang"), `"name"`, `"_meta":{"progressToken":3},"name"`, 1))
				contains(t, p.line(), `"progressToken":3`)
			}
			p.endAsHost()
		})
	}
}

// TestInterrupted: a command that is told to end while a server does not answer
// ends, and leaves nothing behind.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mode string
		args []string
	}{
		"serve that has not started": {fakeDeaf, []string{"serve", "--listen", "127.0.0.1:0"}},
		"stdio that has not started": {fakeDeaf, []string{"stdio"}},
		"tools that hangs":           {fakeDeaf, []string{"tools"}},
		"call that hangs":            {fakeStays, []string{"call", "hang"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, command := fakeCommand(t, tt.mode)
			p := start(t, append(tt.args, command...)...)
			for len(processes(t, dir)) == 0 {
				if tt.args[0] == "stdio" { // nobody is asked before the host asks
					p.send(initialize)
				}
				if t.Context().Err() != nil {
					t.Fatal("no server is started")
				}
			}
			p.signal(syscall.SIGINT)
			_ = p.wait() // the status differs
		})
	}
}

// endAsHost ends the process as the official TypeScript SDK does.
func (p *process) endAsHost() {
	_ = p.stdin.Close() // it may have gone
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = p.wait()
	}()
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Kill} {
		timer := time.NewTimer(2 * time.Second)
		select {
		case <-ended:
			timer.Stop()
			return
		case <-timer.C:
			_ = p.cmd.Process.Signal(signal) // it may have ended
		}
	}
	<-ended
}
