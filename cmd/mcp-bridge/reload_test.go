package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// TestReload: a hundred reloads under load lose no call, and keep a legacy
// session, its stream and the process of a command. A configuration that is wrong
// changes nothing.
func TestReload(t *testing.T) {
	t.Parallel()
	dir, command := fakeCommand(t, fakeLegacy)
	file := filepath.Join(t.TempDir(), "mcp-bridge.yaml")
	write := func(text string) {
		t.Helper()
		// By renaming, as editors do, so that nobody reads half of it.
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	api := reflective(t)
	config := func(n int) string {
		return fmt.Sprintf(`server: {listen: "127.0.0.1:0", path: /mcp}
telemetry: {log: {level: info}}
upstreams:
  books: {url: "%s", tools: {override: {Library_GetBook: {title: "edition %d"}}}}
  fake: {command: ["%s", "%s", "%s", "%s"]}
`, api, n, command[1], fakeArgument, fakeLegacy, dir)
	}
	write(config(0))
	p := start(t, "serve", "--config", file)
	url := strings.TrimPrefix(p.line(), "Listening on ")
	client := web(t)

	opened, err := client.Do(request(t, http.MethodPost, url, initialize))
	if err != nil {
		t.Fatal(err)
	}
	_ = opened.Body.Close()
	session := []string{"Mcp-Session-Id", opened.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version", "2025-11-25"}
	stream, err := client.Do(request(t, http.MethodGet, url, "", session...))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	call := func(tool, arguments string, header ...string) string {
		status, body := do(t, client, request(t, http.MethodPost, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":`+arguments+`}}`, header...))
		if status != http.StatusOK {
			t.Errorf("%s: status %d: %s", tool, status, body)
		}
		return body
	}
	pid := call("fake_pid", "{}", session...)

	var (
		stop    = make(chan struct{})
		calls   atomic.Int64
		callers sync.WaitGroup
	)
	for range 4 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got := call("books_Library_GetBook", demoArguments); !strings.Contains(got, "Pride and Prejudice") {
					t.Errorf("a call is lost: %s", got)
					return
				}
				calls.Add(1)
			}
		})
	}
	titled := func(n int) bool {
		_, list := do(t, client, request(t, http.MethodPost, url, listTools, session...))
		return strings.Contains(list, fmt.Sprintf(`"title":"edition %d"`, n))
	}
	for n := 1; n <= 100; n++ {
		write(config(n))
		p.signal(syscall.SIGHUP)
		for !titled(n) {
			if t.Context().Err() != nil {
				t.Fatalf("edition %d is never served\n%s", n, p.stderr.String())
			}
		}
	}
	write("upstreams: {books: {url: nowhere}}\n")
	p.signal(syscall.SIGHUP)
	close(stop)
	callers.Wait()
	if calls.Load() == 0 {
		t.Error("there was no load")
	}
	if !titled(100) {
		t.Error("a configuration that is wrong has been applied")
	}
	if got := call("fake_pid", "{}", session...); got != pid {
		t.Errorf("the process was %s and is %s", pid, got)
	}
	if left := processes(t, dir); len(left) != 1 {
		t.Errorf("%d processes", len(left))
	}
	// The stream still lives: it tells of the changes.
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() && !bytes.Contains(lines.Bytes(), []byte("notifications/tools/list_changed")) {
		continue
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the stream: %v", err)
	}
	p.signal(syscall.SIGTERM)
	p.ended()
	contains(t, p.stderr.String(), "the configuration is not applied, and the one before stays", "nowhere")
}

// TestConfigErrors: every fault of a file is reported at once, with its place, and
// flags that the file takes the place of are refused.
func TestConfigErrors(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "bad.yaml", []byte("server: {listne: x}\nupstreams:\n  a: {url: nowhere}\n  b: {}\n"))
	for _, command := range []string{"serve", "stdio", "tools"} {
		got := mcpBridge(t, command, "--config", file)
		if got.status != exitUsage {
			t.Errorf("%s: exit status %d", command, got.status)
		}
		contains(t, got.stderr, "bad.yaml:1:", "listen", "bad.yaml:3:", "nowhere", "bad.yaml:4:")
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"serve", "--config", file, "grpc://h:1"}, `--config has the upstreams, and "grpc://h:1" is one more`},
		{[]string{"serve", "--config", file, "--listen", ":1"}, "--listen does not go with --config"},
		{[]string{"call", "--config", file}, "the name of the tool is missing"},
		{[]string{"tools", "--config", file + ".missing"}, "bad.yaml.missing"},
	} {
		got := mcpBridge(t, tt.args...)
		if got.status != exitUsage {
			t.Errorf("%q: exit status %d", tt.args, got.status)
		}
		contains(t, got.stderr, tt.want)
	}
}
