package eraclient_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/nodetools"
	"github.com/mcp-bridge/mcp-bridge/internal/ways"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// startTypeScript runs a ways.Modern server of the TypeScript SDK, and returns a
// client of it.
func startTypeScript(t *testing.T, transport string) ways.Client {
	t.Helper()
	node := nodetools.Node(t)
	nodetools.Module(t, "@modelcontextprotocol/server", "package.json")
	main := filepath.Join(nodetools.Root(t), "tools", "peers", "server.mjs")
	if transport == "stdio" {
		c, err := stdio.NewClient(stdio.ClientConfig{Command: node, Args: []string{main, "stdio"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	cmd := exec.Command(node, main, "http")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hc := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		hc.CloseIdleConnections()
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // killed
	})
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	c, err := streamable.NewClient(streamable.ClientConfig{URL: strings.TrimSpace(url), HTTPClient: hc, DisableSSE: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestTypeScript(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			c := startTypeScript(t, transport)
			all := capabilities(anything)
			res, err := c.Handle(t.Context(), request("server/discover", "", all), protocol.Discard)
			if err != nil || !strings.Contains(string(res.Server), `"typescript"`) || !strings.Contains(string(res.Body), `"2026-07-28"`) {
				t.Errorf("discover: %v, %v", res, err)
			}
			in, key := wantInput(t, c, request("tools/call", `{"name":"greet"}`, all), protocol.Discard)
			got, _ := ask(t, c, request("tools/call", retry("greet", in.State, key, `{"action":"accept","content":{"name":"Ann"}}`), all))
			if want := `complete {"content":[{"type":"text","text":"accept Ann"}]}`; got != want {
				t.Errorf("%s, want %s", got, want)
			}
			token := func(m *protocol.Meta) { m.ProgressToken = json.RawMessage(`"p"`) }
			got, progress := ask(t, c, request("tools/call", `{"name":"count"}`, all, token))
			if got != `complete {"content":[{"type":"text","text":"two"}]}` || strings.Count(progress, `"progressToken":"p"`) != 2 {
				t.Errorf("%s, %s", got, progress)
			}
			if got, _ = ask(t, c, request("example/unknown", "", all)); !strings.Contains(got, "(code -32601)") {
				t.Errorf("unknown method: %s", got)
			}
		})
	}
}
