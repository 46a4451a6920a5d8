package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/gateway"
	"github.com/mcp-bridge/mcp-bridge/bridge/mux"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/demo"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// library opens the demo API in this process.
func library(ctx context.Context) (mux.Server, error) {
	return bridge.New(ctx, []bridge.Upstream{bridge.InProcess(demo.Handler(demo.New()), "library.v1.Library")})
}

// newGateway returns a Gateway that is closed with the test.
func newGateway(t *testing.T, cfg *configv1.Config, opts ...gateway.Option) *gateway.Gateway {
	t.Helper()
	g, err := gateway.New(t.Context(), cfg, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

// serve serves a Gateway on its own listeners until the test ends, and returns the
// base URL of the first.
func serve(t *testing.T, g *gateway.Gateway) (base string) {
	t.Helper()
	if err := g.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- g.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return "http://" + g.Addrs()[0].String()
}

// local is a Config that listens on a free port.
func local() *configv1.Config {
	return &configv1.Config{Server: &configv1.Server{Listen: []string{"127.0.0.1:0"}}}
}

// browser is an HTTP client of one test.
func browser(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// post sends a message, and returns the status and the body.
func post(t *testing.T, c *http.Client, url, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

const (
	listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	getBook   = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s","arguments":{"name":"shelves/1/books/1"}}}`
)

func TestMounted(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 10)
	cfg := local()
	cfg.Endpoints = map[string]*configv1.Endpoint{"read": {Tools: &configv1.EndpointTools{Include: []string{"*_Get*"}}}}
	g := newGateway(t, cfg, gateway.WithUpstream("library", library),
		gateway.WithTyped("library", bridge.TypedConfig{Name: "books"}),
		gateway.WithMiddleware(func(next protocol.Handler) protocol.Handler {
			return protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
				if r.Method == protocol.MethodCallTool {
					seen <- r.Caller.Principal.Subject
				}
				return next.Handle(ctx, r, n)
			})
		}))
	if down := g.Ready(t.Context()); len(down) > 0 {
		t.Fatal(down)
	}
	own := http.NewServeMux()
	own.Handle("/", g.Handler())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		me := protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthAPIKey, Subject: "me"})
		own.ServeHTTP(w, r.WithContext(protocol.WithPrincipal(r.Context(), me)))
	}))
	defer server.Close()
	c := browser(t)
	for _, tt := range []struct {
		path, body string
		status     int
		want, not  string
	}{
		{"/mcp", listTools, 200, `"name":"Library_GetBook"`, "nothing"},
		{"/mcp", fmt.Sprintf(getBook, "Library_GetBook"), 200, "Pride and Prejudice", "isError"},
		{"/mcp/read", listTools, 200, `"name":"Library_GetBook"`, "Library_CreateBook"},
		{"/mcp/write", listTools, 404, "the MCP endpoint is /mcp", "jsonrpc"},
		{"/mcp.v1.McpService/CallTool", `{"name":"Library_GetBook","arguments":{"name":"shelves/1/books/1"}}`, 200, "Pride and Prejudice", "nothing"},
		{"/" + g.TypedServices()[0] + "/LibraryGetBook", `{"name":"shelves/1/books/1"}`, 200, "Pride and Prejudice", "nothing"},
	} {
		status, body := post(t, c, server.URL+tt.path, tt.body)
		if status != tt.status || !strings.Contains(body, tt.want) || strings.Contains(body, tt.not) {
			t.Errorf("%s: %d %s, want %d with %q", tt.path, status, body, tt.status, tt.want)
		}
	}
	if status, body := post(t, c, server.URL+"/mcp.v1.McpService/ListTools", `{}`, gatewayHeader, "read"); status != 200 || strings.Contains(body, "Library_CreateBook") {
		t.Errorf("ListTools of an endpoint: %d %s", status, body)
	}
	if status, _ := post(t, c, server.URL+"/mcp.v1.McpService/ListTools", `{}`, gatewayHeader, "write"); status != 400 {
		t.Errorf("ListTools of an unknown endpoint: %d", status)
	}
	for range 3 {
		if who := <-seen; who != "me" {
			t.Errorf("the middleware saw %q", who)
		}
	}
	if len(seen) > 0 {
		t.Error("the middleware saw a request twice")
	}
	g.Drain(t.Context())
	if status, _ := post(t, c, server.URL+"/mcp", listTools); status != 200 {
		t.Errorf("while it drains: %d", status)
	}
}

const gatewayHeader = "Mcp-Endpoint"

// TestFaults: everything that is wrong is reported at once, first with the rules
// and then with the files, and nothing of it is applied.
func TestFaults(t *testing.T) {
	t.Parallel()
	g := newGateway(t, local(), gateway.WithUpstream("library", library))
	for name, tt := range map[string]struct {
		bad   *configv1.Config
		wants []string
	}{
		"rules": {
			&configv1.Config{
				Server: &configv1.Server{Listen: []string{"8080"}, AllowedHosts: []string{"http://x"}, TrustedProxies: []string{"x"}, MaxConnections: -1},
				Upstreams: map[string]*configv1.Upstream{
					"a":       {Url: "h:1"},
					"b":       {Url: "grpc://h:1", Descriptors: "no.binpb", Proto: []string{"no.proto"}, Timeout: durationpb.New(-1)},
					"c":       {Command: []string{"x"}, Gzip: true},
					"library": {Url: "grpc://h:1"},
				},
				Endpoints: map[string]*configv1.Endpoint{"e": {Upstreams: []string{"d"}}},
			},
			[]string{
				"server.listen[0]: must be HOST:PORT", "server.allowedHosts[0]: must be a host name", "server.trustedProxies[0]: must be an IP address",
				"server.maxConnections: must be greater", "upstreams.a.url: upstream", "upstreams.b.proto: descriptors and proto exclude", "upstreams.b.timeout: must be greater",
				"upstreams.c.gzip: this key is only for", "upstreams.library: the program has an upstream of that name itself", `endpoints.e.upstreams[0]: there is no upstream "d"`,
			},
		},
		"files": {
			&configv1.Config{
				Server:    &configv1.Server{Tls: &configv1.ServerTls{Cert: "no.pem", Key: "no.pem"}},
				Upstreams: map[string]*configv1.Upstream{"a": {Url: "grpc://h:1", Descriptors: "no.binpb"}, "b": {Url: "grpc://h:1", OptionsFile: "no.yaml"}},
				Keys:      []*configv1.Key{{File: "no.key"}},
			},
			[]string{"server.tls: ", "upstreams.a: ", "no.binpb", "upstreams.b: optionsFile: open no.yaml", "keys[0]: open no.key"},
		},
	} {
		_, ofNew := gateway.New(t.Context(), tt.bad, gateway.WithUpstream("library", library))
		for _, err := range []error{ofNew, g.Apply(t.Context(), tt.bad)} {
			for _, want := range tt.wants {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: error %v, want it to contain %q", name, err, want)
				}
			}
		}
	}
	if down := g.Ready(t.Context()); len(down) > 0 {
		t.Error(down)
	}
}

// TestDownAndBack: an upstream that is down, also the only one, is served as down,
// and is there once it is up.
func TestDownAndBack(t *testing.T) {
	t.Parallel()
	up := make(chan struct{})
	g := newGateway(t, local(), gateway.WithUpstream("library", func(ctx context.Context) (mux.Server, error) {
		select {
		case <-up:
			return library(ctx)
		default:
			return nil, errors.New("nothing listens")
		}
	}))
	if down := g.Ready(t.Context()); down["library"] == nil || !strings.Contains(down["library"].Error(), "nothing listens") {
		t.Errorf("down: %v", down)
	}
	base := serve(t, g)
	c := browser(t)
	if status, body := post(t, c, base+"/mcp", fmt.Sprintf(getBook, "Library_GetBook")); status != 200 || !strings.Contains(body, `"error"`) {
		t.Errorf("%d %s", status, body)
	}
	close(up)
	if down := g.Wait(t.Context()); len(down) > 0 {
		t.Errorf("down: %v", down)
	}
	if status, body := post(t, c, base+"/mcp", fmt.Sprintf(getBook, "Library_GetBook")); status != 200 || !strings.Contains(body, "Pride and Prejudice") {
		t.Errorf("%d %s", status, body)
	}
}

func TestEdge(t *testing.T) {
	t.Parallel()
	type caller struct{ key, quota, addr string }
	seen := make(chan caller, 1)
	cfg := local()
	cfg.Server.TrustedProxies = []string{"127.0.0.0/8", "10.0.0.0/8"}
	cfg.Server.AllowedHosts = []string{"mcp.example.com"}
	cfg.Server.Reflection = configv1.Reflection_REFLECTION_OFF
	cfg.Upstreams = map[string]*configv1.Upstream{"down": {Url: "grpc://127.0.0.1:1", ForwardHeaders: []string{"x-tenant", "x-more-*"}}}
	g := newGateway(t, cfg, gateway.WithMiddleware(func(protocol.Handler) protocol.Handler {
		return protocol.HandlerFunc(func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
			seen <- caller{r.Caller.Key(), r.Caller.Principal.Quota(), r.Caller.RemoteAddr}
			return &protocol.Result{Body: json.RawMessage(`{"tools":[]}`)}, nil
		})
	}))
	base := serve(t, g)
	c := browser(t)
	ask := func(header ...string) caller {
		t.Helper()
		if status, body := post(t, c, base+"/mcp", listTools, header...); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		return <-seen
	}
	plain := ask()
	for _, header := range []string{"Authorization", "X-Tenant", "X-More-Things"} {
		if got := ask(header, "a"); got.key == plain.key || got.key == ask(header, "b").key {
			t.Errorf("%s does not tell callers apart", header)
		}
	}
	if ask("X-Other", "a").key != plain.key {
		t.Error("a header that nobody gets tells callers apart")
	}
	for header, want := range map[string]string{
		"X-Forwarded-For: 192.0.2.1":                          "192.0.2.1",
		"X-Forwarded-For: 6.6.6.6, 192.0.2.1, 10.1.1.1":       "192.0.2.1",
		"X-Forwarded-For: 192.0.2.1, unknown, 10.1.1.1":       "10.1.1.1",
		"X-Forwarded-For: 10.2.2.2, 10.1.1.1":                 "10.2.2.2",
		`Forwarded: for=192.0.2.9;proto=http, for="10.0.0.1"`: "192.0.2.9",
		`Forwarded: for="[2001:db8::1]:4711"`:                 "[2001:db8::1]:4711",
	} {
		name, value, _ := strings.Cut(header, ": ")
		if got := ask(name, value); got.addr != want || got.quota == plain.quota {
			t.Errorf("%s: address %s, quota %s, want %s", header, got.addr, got.quota, want)
		}
	}
	for _, tt := range []struct {
		path   string
		header []string
		status int
	}{
		{"/mcp", []string{"Host", "evil.example.com"}, 403},
		{"/mcp", []string{"Origin", "https://evil.example.com"}, 403},
		{"/mcp.v1.McpService/ListTools", []string{"Host", "evil.example.com"}, 403},
		{"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", nil, 404},
	} {
		if status, body := post(t, c, base+tt.path, listTools, tt.header...); status != tt.status {
			t.Errorf("%s %q: %d %s, want %d", tt.path, tt.header, status, body, tt.status)
		}
	}
}

// TestUnixSocket: a socket that a process has left behind is no obstacle, and one
// that is in use is.
func TestUnixSocket(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "s")
	cfg := &configv1.Config{Server: &configv1.Server{Listen: []string{"unix:" + name, "127.0.0.1:0"}, MaxConnections: 2}}
	g := newGateway(t, cfg, gateway.WithUpstream("library", library))
	if err := g.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := newGateway(t, cfg, gateway.WithUpstream("library", library))
	if _, ok := errors.AsType[*gateway.ListenError](other.Listen(t.Context())); !ok {
		t.Error("a socket that is in use is taken over")
	}
	if len(g.Addrs()) != 2 || g.Addrs()[0].Network() != "unix" {
		t.Errorf("addresses %v", g.Addrs())
	}
}
