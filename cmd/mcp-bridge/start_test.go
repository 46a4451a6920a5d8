package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
)

// TestCommandThatEnds: a command that ends at the start shows what it has said,
// in every command of this program.
func TestCommandThatEnds(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	server := []string{"--", "sh", "-c", `for i in $(seq 30); do printf '\033[31mline %s\033[0m\n' $i >&2; done; echo 'API_KEY is not set' >&2; exit 3`}
	for name, args := range map[string][]string{
		"tools": {"tools"}, "call": {"call", "x"}, "export": {"export", "-o", t.TempDir()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := mcpBridge(t, append(args, server...)...)
			if got.status != 1 {
				t.Errorf("exit status %d", got.status)
			}
			contains(t, got.stderr, "the MCP server has ended: exit status 3: it said last:\n  line 12\n", "\n  line 30\n  API_KEY is not set\n", "pass others with --env NAME")
			if !strings.HasPrefix(got.stderr, "mcp-bridge: ") || strings.ContainsAny(got.stderr, "\x1b") || strings.Contains(got.stderr, "line 11\n") {
				t.Errorf("%q", got.stderr)
			}
		})
	}
}

// TestWrongURLs: a URL where there is no MCP server is one line with the cause,
// and a hint.
func TestWrongURLs(t *testing.T) {
	t.Parallel()
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<h1>Log in</h1>")
	})
	plain := httptest.NewServer(page)
	t.Cleanup(plain.Close)
	secure := httptest.NewTLSServer(page)
	t.Cleanup(secure.Close)
	slash := httptest.NewServer(http.RedirectHandler("/mcp/", http.StatusMovedPermanently))
	t.Cleanup(slash.Close)
	login := httptest.NewServer(http.RedirectHandler("https://login.example.com/?next=x&token=secret", http.StatusFound))
	t.Cleanup(login.Close)
	nothing := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(nothing.Close)
	wants := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(wants.Close)
	l := listen(t)
	closed := l.Addr().String()
	_ = l.Close()
	for name, tt := range map[string]struct{ url, cause, hint string }{
		"web page":        {plain.URL + "/mcp", "the MCP server answered neither JSON nor an event stream", "it answers with a web page, such as a login page"},
		"login":           {login.URL + "/mcp", "redirects to where requests are not sent", "it redirects to https://login.example.com/, such as a login page"},
		"trailing slash":  {slash.URL + "/mcp", "redirects to where requests are not sent", "it is about the slash at the end: write " + slash.URL + "/mcp/"},
		"missing path":    {nothing.URL, "the MCP server answered HTTP 404 Not Found", "the URL has no path: many servers answer at " + nothing.URL + "/mcp"},
		"wrong path":      {nothing.URL + "/x", "the MCP server answered HTTP 404 Not Found", "nothing at " + nothing.URL + "/x takes MCP"},
		"self-signed":     {secure.URL + "/mcp", "failed to verify certificate", "the certificate is self-signed or of a private authority: name that with --ca"},
		"https for http":  {strings.Replace(plain.URL, "http:", "https:", 1), "could not be reached", "the server speaks HTTP without TLS there: write " + plain.URL},
		"http for https":  {strings.Replace(secure.URL, "https:", "http:", 1), "HTTP 400 Bad Request", "the server speaks TLS there: write " + secure.URL},
		"wrong port":      {"http://" + closed + "/mcp", "could not be reached", "nothing listens at " + closed + ": is the server running"},
		"wrong name":      {"https://nothing.invalid/mcp", "could not be reached", "the host is unknown: is the name right?"},
		"without a token": {wants.URL + "/mcp", "HTTP 401 Unauthorized", "send them with --header 'authorization: Bearer TOKEN'"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := mcpBridge(t, "tools", tt.url)
			if got.status != 1 || !strings.HasPrefix(got.stderr, "mcp-bridge: ") {
				t.Fatalf("exit status %d\n%s", got.status, got.stderr)
			}
			lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
			if len(lines) != 2 || !strings.Contains(lines[0], tt.cause) || !strings.Contains(lines[1], tt.hint) || strings.Contains(got.stderr, "secret") {
				t.Errorf("%s\nwant %s\n%s", strings.Join(lines, "\n"), tt.cause, tt.hint)
			}
		})
	}
}
