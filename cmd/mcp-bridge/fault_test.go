package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/gen/mcp/v1/mcpv1connect"
)

// bridged is `mcp-bridge serve` in front of an MCP server, and its clients.
type bridged struct {
	t    *testing.T
	base string
	web  *http.Client
	rpc  map[string]mcpv1connect.McpServiceClient // by protocol
	dir  string                                   // of a fake server
}

// bridgeTo serves upstreams, until the test ends.
func bridgeTo(t *testing.T, upstreams ...string) *bridged {
	t.Helper()
	line := startInProcess(t, &bytes.Buffer{}, append([]string{"serve", "--listen", "127.0.0.1:0", "--log-level", "error"}, upstreams...)...)
	url, ok := strings.CutPrefix(line, "Listening on ")
	if !ok {
		t.Fatal(line)
	}
	b := &bridged{t: t, base: strings.TrimSuffix(url, "/mcp"), web: web(t)}
	h2 := http2(t)
	b.rpc = map[string]mcpv1connect.McpServiceClient{
		"gRPC":     mcpv1connect.NewMcpServiceClient(h2, b.base, connect.WithGRPC()),
		"gRPC-Web": mcpv1connect.NewMcpServiceClient(b.web, b.base, connect.WithGRPCWeb()),
		"Connect":  mcpv1connect.NewMcpServiceClient(b.web, b.base, connect.WithProtoJSON()),
	}
	return b
}

// fakeCommand is the command of a fake server. No process of it may be left
// when the test ends.
func fakeCommand(t *testing.T, mode string) (dir string, command []string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	t.Cleanup(func() {
		if left := processes(t, dir); len(left) > 0 {
			t.Errorf("the processes %v are left", left)
			for _, pid := range left {
				kill(t, pid)
			}
		}
	})
	return dir, []string{"--", self, fakeArgument, mode, dir}
}

// bridgeFake serves a fake server.
func bridgeFake(t *testing.T, mode string) *bridged {
	t.Helper()
	dir, command := fakeCommand(t, mode)
	b := bridgeTo(t, command...)
	b.dir = dir
	return b
}

// processes returns the processes that have an argument, as far as the system
// tells.
func processes(t *testing.T, argument string) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(line, []byte("\x00"+argument+"\x00")) {
			continue // it may have ended meanwhile
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// kill kills a process.
func kill(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// call calls a tool over gRPC and returns the text of its result.
func (b *bridged) call(ctx context.Context, tool string) (string, error) {
	return textOf(b.rpc["gRPC"].CallTool(ctx, &mcpv1.CallToolRequest{Name: tool}))
}

func textOf(res *mcpv1.CallToolResponse, err error) (string, error) {
	if err != nil {
		return "", err
	}
	content := res.GetComplete().GetContent()
	if len(content) != 1 {
		return "", fmt.Errorf("result %v", res)
	}
	return content[0].GetText().GetText(), nil
}

// must is call where it may not fail.
func (b *bridged) must(tool string) string {
	b.t.Helper()
	text, err := b.call(b.t.Context(), tool)
	if err != nil {
		b.t.Fatalf("%s: %v", tool, err)
	}
	return text
}

// hang makes a call that has no answer, with a deadline, and once more with a
// later one where that has passed before the server heard of the call. calls
// says how many calls the server has heard of.
func (b *bridged) hang(client mcpv1connect.McpServiceClient, calls func() string) {
	b.t.Helper()
	for before, limit := calls(), 100*time.Millisecond; calls() == before; limit *= 2 {
		ctx, cancel := context.WithTimeout(b.t.Context(), limit)
		_, err := client.CallTool(ctx, &mcpv1.CallToolRequest{Name: "hang"})
		cancel()
		wantStatus(b.t, err, connect.CodeDeadlineExceeded, "")
	}
}

func (b *bridged) pid() int {
	b.t.Helper()
	pid, err := strconv.Atoi(b.must("pid"))
	if err != nil {
		b.t.Fatal(err)
	}
	return pid
}

// modernCall is a tools/call of 2026-07-28 with further params, and the headers
// that go with it.
func modernCall(t *testing.T, url, tool string, params ...string) *http.Request {
	t.Helper()
	members := append([]string{`"name":"` + tool + `"`, strings.Replace(modernMeta, `Capabilities":{}`, `Capabilities":{"elicitation":{}},"progressToken":7`, 1)}, params...)
	return request(t, http.MethodPost, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+strings.Join(members, ",")+`}}`,
		"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool)
}

// legacyCall is a tools/call without a session.
func legacyCall(tool string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `"}}`
}

// stream is the events of a response.
type stream struct {
	t    *testing.T
	resp *http.Response
	in   *bufio.Scanner
}

// open begins a request whose response is a stream.
func (b *bridged) open(r *http.Request) *stream {
	b.t.Helper()
	resp, err := b.web.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = resp.Body.Close() })
	return &stream{b.t, resp, bufio.NewScanner(resp.Body)}
}

// next returns the next event that has data.
func (s *stream) next() string {
	s.t.Helper()
	for s.in.Scan() {
		if data, ok := strings.CutPrefix(s.in.Text(), "data:"); ok && strings.TrimSpace(data) != "" {
			return strings.TrimSpace(data)
		}
	}
	s.t.Fatalf("status %d, and the stream ends: %v", s.resp.StatusCode, s.in.Err())
	return ""
}

// wantStatus fails the test unless err is a status.
func wantStatus(t *testing.T, err error, code connect.Code, message string) {
	t.Helper()
	fault, ok := errors.AsType[*connect.Error](err)
	if !ok || fault.Code() != code || !strings.Contains(fault.Message(), message) {
		t.Errorf("error %v, want %v: %s", err, code, message)
	}
}

// retryDelay returns what a status says about another attempt.
func retryDelay(t *testing.T, err error) time.Duration {
	t.Helper()
	fault, ok := errors.AsType[*connect.Error](err)
	if !ok {
		return 0
	}
	for _, detail := range fault.Details() {
		value, err := detail.Value()
		if err != nil {
			t.Fatal(err)
		}
		if info, ok := value.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration()
		}
	}
	return 0
}

// rpcError returns the error of a JSON-RPC response.
func rpcError(t *testing.T, response string) (code int, message string) {
	t.Helper()
	if i := strings.LastIndex(response, "data: {"); i >= 0 { // after notifications
		response = response[i+len("data: "):]
	}
	var m struct {
		Error struct {
			Code    int
			Message string
		}
	}
	if err := json.NewDecoder(strings.NewReader(response)).Decode(&m); err != nil {
		t.Errorf("%v in %s", err, response)
	}
	return m.Error.Code, m.Error.Message
}
