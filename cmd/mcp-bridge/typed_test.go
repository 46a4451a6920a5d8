package main

import (
	"bytes"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
)

// TestServeTyped serves an official MCP server as a typed service, without files
// and by those of an export.
func TestServeTyped(t *testing.T) {
	t.Parallel()
	node := nodetools.Node(t)
	everything := nodetools.Module(t, "@modelcontextprotocol/server-everything", "dist/index.js")
	auto := strings.TrimPrefix(startInProcess(t, &bytes.Buffer{}, "serve", "--listen", "127.0.0.1:0", "--log-level", "error", "--typed=auto", "--", node, everything), "Listening on ")
	dir := t.TempDir()
	mcpBridge(t, "export", "--package", "acme.everything.v1", "-o", dir, auto).ok(t)
	byFiles := strings.TrimPrefix(startInProcess(t, &bytes.Buffer{}, "serve", "--listen", "127.0.0.1:0", "--log-level", "error", "--typed", dir, auto), "Listening on ")
	for _, tt := range []struct{ url, service, method, request, want string }{
		{auto, "mcp.gen.everything.v1.EverythingTools", "Echo", `{"message":"hi"}`, `"text":"Echo: hi"`},
		{auto, "mcp.gen.everything.v1.EverythingTools", "ReadDynamicTextResource", `{"resourceId":"1"}`, `"uri":"demo://resource/dynamic/text/1"`},
		{byFiles, "acme.everything.v1.EverythingTools", "GetStructuredContent", `{"location":"LOCATION_CHICAGO"}`, `"structured":{"temperature":`},
		{byFiles, "acme.everything.v1.EverythingTools", "GetPromptArgsPrompt", `{"city":"Oslo"}`, `"text":"What's weather in Oslo?"`},
	} {
		url := strings.TrimSuffix(tt.url, "/mcp") + "/" + tt.service + "/" + tt.method
		if status, body := do(t, web(t), request(t, http.MethodPost, url, tt.request)); status != http.StatusOK || !strings.Contains(body, tt.want) {
			t.Errorf("%s: %d %s", tt.method, status, body)
		}
	}
	for _, tt := range []struct{ dir, want string }{
		{filepath.Join(dir, "mcp"), "there is no export of the server below"},
		{filepath.Join(dir, "nowhere"), "there is no export of the server below"},
	} {
		o := mcpBridge(t, "serve", "--listen", "127.0.0.1:0", "--typed", tt.dir, auto)
		if o.status != exitFailure {
			t.Errorf("exit status %d", o.status)
		}
		contains(t, o.stderr, tt.want)
	}
}
