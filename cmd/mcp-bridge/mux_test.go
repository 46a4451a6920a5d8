package main

import (
	"bytes"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
)

// TestServeSeveral serves an API, an MCP server that is a command, and one that
// is not there yet, as one.
func TestServeSeveral(t *testing.T) {
	t.Parallel()
	node := nodetools.Node(t)
	memory := nodetools.Module(t, "@modelcontextprotocol/server-memory", "dist/index.js")
	first := startInProcess(t, &bytes.Buffer{}, "demo", "--listen", "127.0.0.1:0")
	demo, ok := strings.CutPrefix(first, "Listening on http://")
	if !ok {
		t.Fatal(first)
	}
	demo = strings.TrimSuffix(demo, "/mcp")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	late := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	second := startInProcess(t, &bytes.Buffer{}, "serve", "--listen", "127.0.0.1:0", "--log-level", "error", "--tools-bytes", "0",
		"books=grpc://"+demo, "late=http://"+late+"/mcp", "--", node, memory)
	url, ok := strings.CutPrefix(second, "Listening on ")
	if !ok {
		t.Fatal(second)
	}
	client := web(t) // one connection for all that is asked below
	rpc := func(body string) string {
		t.Helper()
		status, text := do(t, client, request(t, http.MethodPost, url, body))
		if status != http.StatusOK {
			t.Fatalf("status %d: %s", status, text)
		}
		return text
	}
	list := rpc(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	contains(t, list, `"name":"books_Library_GetBook"`, `"name":"index_create_entities"`, `"io.github.mcp-bridge/unavailable":["late"]`)
	contains(t, rpc(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"books_Library_GetBook","arguments":{"name":"shelves/1/books/2"}}}`), "shelves/1/books/2")
	contains(t, rpc(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"index_read_graph","arguments":{}}}`), `entities`)
	contains(t, rpc(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"nothing"}}`), `"code":-32602`, "there is no tool")
	contains(t, rpc(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"books_Library_GetBok"}}`), `did you mean \"books_Library_GetBook\"?`)

	// The late one has the tools of the demo too.
	startInProcess(t, &bytes.Buffer{}, "demo", "--listen", late)
	for !strings.Contains(list, `"name":"late_Library_GetBook"`) {
		if t.Context().Err() != nil {
			t.Fatal(list)
		}
		list = rpc(`{"jsonrpc":"2.0","id":5,"method":"tools/list"}`)
	}
	contains(t, list, `"name":"books_Library_GetBook"`)
	contains(t, rpc(`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"late_Library_GetBook","arguments":{"name":"shelves/1/books/2"}}}`), "shelves/1/books/2")
}

func TestNameTargets(t *testing.T) {
	t.Parallel()
	var all []*target
	for _, arg := range []string{
		"grpc://localhost:1", "localhost=grpc://localhost:2", "https://mcp.example.com/mcp", "mcp+http://127.0.0.1:1/", "unix:/run/api.sock", "dns:///books.svc:443",
	} {
		one, err := parseTarget(arg)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	all = append(all, commandTarget([]string{"npx", "-y", "@modelcontextprotocol/server-everything"}), commandTarget([]string{"./ü"}))
	if err := nameTargets(all); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range all {
		names = append(names, one.name)
	}
	if got, want := strings.Join(names, " "), "localhost2 localhost mcp 127_0_0_1 api books server_everything upstream"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
