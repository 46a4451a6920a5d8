package main

import (
	"strings"
	"testing"
)

// TestToolSearch holds that --tools-bytes lists three tools in place of more bytes,
// that they work, and that the commands find the others through them.
func TestToolSearch(t *testing.T) {
	t.Parallel()
	url := reflective(t)
	search := []string{"--tools-bytes", "5000"}
	run := func(command string, args ...string) string {
		t.Helper()
		return mcpBridge(t, append(append([]string{command}, search...), append([]string{url}, args...)...)...).ok(t)
	}
	got := run("tools")
	contains(t, got, "search_tools ", "describe_tool ", "call_tool ")
	if strings.Contains(got, "Library_GetBook") {
		t.Errorf("lists what it should not:\n%s", got)
	}
	contains(t, run("tools", "search_tools"), "Search tools", `"query"`)
	contains(t, run("tools", "Library_GetBook"), "library.v1.Library.GetBook", "Input:")
	contains(t, run("call", "search_tools", `{"query":"get a book","limit":1}`), `"name": "Library_GetBook"`)
	contains(t, run("call", "call_tool", `{"name":"Library_GetBook","arguments":`+demoArguments+`}`), `"name": "shelves/1/books/1"`)
	contains(t, run("call", "Library_GetBook", demoArguments), `"name": "shelves/1/books/1"`)

	// The demo's tools are not too long, and these commands list all by default.
	contains(t, mcpBridge(t, "tools", "--tools-bytes=100000", url).ok(t), "Library_GetBook")
	contains(t, mcpBridge(t, "tools", url).ok(t), "Library_GetBook")

	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--tools-bytes=-1"}, "--tools-bytes is -1, want a number from 0 to 2147483647"},
		{[]string{"--tools-bytes=2147483648"}, "--tools-bytes is 2147483648, want a number from 0 to 2147483647"},
	} {
		got := mcpBridge(t, append(append([]string{"tools"}, tt.args...), url)...)
		if got.status != 2 || !strings.Contains(got.stderr, tt.want) {
			t.Errorf("%q: exit status %d, %s; want %s", tt.args, got.status, got.stderr, tt.want)
		}
	}
	got = mcpBridge(t, append(append([]string{"tools"}, search...), url, "Library_GetBok")...).stderr
	contains(t, got, `there is no tool "Library_GetBok"`)
}

// TestToolSearchStdio speaks to the process that a host starts.
func TestToolSearchStdio(t *testing.T) {
	t.Parallel()
	p := start(t, "stdio", "--tools-bytes=1", reflective(t))
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`)
	line := p.line()
	contains(t, line, `"name":"search_tools"`, `"name":"call_tool"`)
	if strings.Contains(line, "Library_") {
		t.Errorf("lists what it should not: %s", line)
	}
	p.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"call_tool","arguments":{"name":"Library_GetBook","arguments":` + demoArguments + `},` + modernMeta + `}}`)
	contains(t, p.line(), `"structuredContent":{"name":"shelves/1/books/1"`)
	if err := p.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	p.ended()
}
