package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func (p *process) send(message string) {
	p.t.Helper()
	if _, err := io.WriteString(p.stdin, message+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// TestStdio speaks both eras over the pipes of a process.
func TestStdio(t *testing.T) {
	t.Parallel()
	p := start(t, "stdio", "--log-level", "debug", reflective(t))
	call := `"name":"Library_GetBook","arguments":` + demoArguments
	for _, step := range []struct {
		send string
		want []string
	}{
		{initialize, []string{`"id":1`, `"protocolVersion":"2025-11-25"`, `"serverInfo":{"name":"mcp-bridge"`}},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, []string{`"id":2`, `"name":"Library_GetBook"`}},
		{`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{` + call + `}}`, []string{`"id":"c"`, `"structuredContent":{"name":"shelves/1/books/1"`}},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{` + call + `,` + modernMeta + `}}`, []string{`"id":3`, `"resultType":"complete"`}},
		{`{"jsonrpc":"2.0","id":4,"method":"server/discover","params":{` + modernMeta + `}}`, []string{`"supportedVersions":["2026-07-28"`}},
		{`no JSON`, []string{`"code":-32700`}},
	} {
		p.send(step.send)
		if step.want == nil {
			continue
		}
		line := p.line()
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON on stdout: %s", line)
		}
		contains(t, line, step.want...)
	}
	if err := p.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(p.stdout)
	if err != nil || len(rest) > 0 {
		t.Errorf("after the end of input: %q, %v", rest, err)
	}
	p.ended()
	contains(t, p.stderr.String(), "level=DEBUG", "library.v1.Library.GetBook")
}

// TestStdioReload changes the configuration under a client, which hears of it.
func TestStdioReload(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "mcp-bridge.yaml")
	api := reflective(t)
	write := func(title string) {
		t.Helper()
		text := fmt.Sprintf("upstreams: {books: {url: %q, tools: {override: {Library_GetBook: {title: %q}}}}}\n", api, title)
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	write("first edition")
	p := start(t, "stdio", "--config", file)
	p.send(initialize)
	contains(t, p.line(), `"listChanged":true`)
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	list := func(id int) string {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id))
		for {
			if line := p.line(); strings.Contains(line, fmt.Sprintf(`"id":%d`, id)) {
				return line
			}
		}
	}
	contains(t, list(2), "first edition")
	write("second edition")
	p.signal(syscall.SIGHUP)
	for !strings.Contains(p.line(), "notifications/tools/list_changed") {
		continue
	}
	contains(t, list(3), "second edition")
	if err := p.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	p.ended()
}

func TestStdioSignals(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			g := newGate(t)
			p := start(t, "stdio", reflective(t, g.option()))
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Library_Reindex",%s}}`, modernMeta))
			<-g.entered
			p.signal(sig)
			p.ended()
			if p.stderr.Len() > 0 {
				t.Errorf("stderr: %s", p.stderr.String())
			}
		})
	}
}

// TestStdioInProcess holds that the end of input ends the server and that
// limits reach it.
func TestStdioInProcess(t *testing.T) {
	t.Parallel()
	long := `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 70_000) + `"}` + "\n"
	got := mcpBridgeIn(t, long+initialize+"\n", "stdio", "--max-message-bytes", "65536", "--descriptors", descriptorSet(t), reflective(t))
	contains(t, got.ok(t), "longer than 65536 bytes", `"protocolVersion":"2025-11-25"`)
	// An upstream that is down is served as down.
	down := mcpBridgeIn(t, initialize+"\n", "stdio", "--log-level", "error", "grpc://"+unreflective(t))
	contains(t, down.ok(t), `"protocolVersion":"2025-11-25"`)
}
