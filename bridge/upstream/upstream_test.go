package upstream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/upstream"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/demo"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/httpsse"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// fakeArgument, as the first argument, makes the test binary an MCP server on
// standard input and output, whose tool "pid" returns its process id, "hang" never
// returns, and "exit" ends it.
const fakeArgument = "fake-mcp-server"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == fakeArgument {
		fakeServer()
		return
	}
	goleak.VerifyTestMain(m)
}

func fakeServer() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil || m.ID == nil {
			continue
		}
		result := fmt.Sprintf(`{"resultType":"complete","content":[{"type":"text","text":"%d"}]}`, os.Getpid())
		switch {
		case m.Method == "server/discover":
			result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1"}}}`
		case m.Params.Name == "hang":
			continue
		case m.Params.Name == "exit":
			os.Exit(1)
		}
		fmt.Fprintf(os.Stdout, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

func fakeCommand(t *testing.T) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{self, fakeArgument}
}

// call calls a tool as a caller with a key of its own.
func call(ctx context.Context, h protocol.Handler, who, params string) (*protocol.Result, error) {
	return h.Handle(ctx, &protocol.Request{
		Method: protocol.MethodCallTool, Params: json.RawMessage(params),
		Meta:   protocol.Meta{Revision: protocol.Revision20260728, Capabilities: json.RawMessage(`{}`)},
		Caller: &protocol.Caller{Transport: "test", Principal: protocol.AnonymousPrincipal("", who)},
	}, protocol.Discard)
}

func open(t *testing.T, spec *configv1.Upstream) upstream.Server {
	t.Helper()
	server, err := upstream.Open(t.Context(), "test", spec, upstream.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

// h2c serves HTTP/1.1 and HTTP/2 without TLS.
func h2c(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// TestKinds opens every kind of upstream and asks it something.
func TestKinds(t *testing.T) {
	t.Parallel()
	api := h2c(t, demo.Handler(demo.New()))
	b, err := bridge.New(t.Context(), []bridge.Upstream{bridge.InProcess(demo.Handler(demo.New()), "library.v1.Library")}, bridge.WithServerInfo("library", "1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	mux := http.NewServeMux()
	web, err := streamable.New(streamable.Config{Handler: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(web.Close)
	sse, err := httpsse.New(httpsse.Config{Handler: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sse.Close)
	rpcs, err := bridge.NewGRPCHandler(bridge.GRPCConfig{Handler: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rpcs.Close)
	rpcs.Mount(mux)
	mux.Handle("/mcp", web)
	mux.Handle("/sse", sse)
	mcp := h2c(t, mux)

	for _, tt := range []struct {
		spec *configv1.Upstream
		kind upstream.Kind
	}{
		{&configv1.Upstream{Url: "grpc://" + api}, upstream.KindAPI},
		{&configv1.Upstream{Url: "connect+http://" + api}, upstream.KindAPI},
		{&configv1.Upstream{Url: "grpcweb+http://" + api, Services: []string{"library.*"}}, upstream.KindAPI},
		{&configv1.Upstream{Url: "connect+http://" + api, Proto: []string{filepath.Join("..", "..", "proto", "library")}}, upstream.KindAPI},
		{&configv1.Upstream{Url: "grpc://" + mcp}, upstream.KindMCPService},
		{&configv1.Upstream{Url: "mcp+connect+http://" + mcp}, upstream.KindMCPService},
		{&configv1.Upstream{Url: "google+grpc://" + mcp}, upstream.KindGoogle},
		{&configv1.Upstream{Url: "tunnel+grpc://" + mcp}, upstream.KindTunnel},
		{&configv1.Upstream{Url: "http://" + mcp + "/mcp"}, upstream.KindStreamableHTTP},
		{&configv1.Upstream{Url: "sse+http://" + mcp + "/sse"}, upstream.KindSSE},
		{&configv1.Upstream{Command: fakeCommand(t)}, upstream.KindCommand},
		{&configv1.Upstream{Command: fakeCommand(t), Process: configv1.Process_PROCESS_PRINCIPAL}, upstream.KindCommand},
	} {
		t.Run(string(tt.kind)+" "+tt.spec.GetUrl(), func(t *testing.T) {
			t.Parallel()
			server := open(t, tt.spec)
			status := server.Status()
			if status.Kind != tt.kind || status.Address == "" {
				t.Errorf("status %+v, want kind %s", status, tt.kind)
			}
			if tt.kind == upstream.KindAPI && status.Tools != 9 || tt.kind != upstream.KindAPI && tt.kind != upstream.KindGoogle && status.Server == nil {
				t.Errorf("status %+v", status)
			}
			res, err := call(t.Context(), server, "", `{"name":"Library_GetBook","arguments":{"name":"shelves/1/books/1"}}`)
			if err != nil || !strings.Contains(string(res.Body), `"text"`) {
				t.Errorf("result %+v, error %v", res, err)
			}
			var want []protocol.Revision
			switch tt.kind {
			case upstream.KindSSE:
				want = []protocol.Revision{protocol.LatestLegacy}
			case upstream.KindTunnel, upstream.KindStreamableHTTP, upstream.KindCommand:
				want = []protocol.Revision{protocol.Revision20260728}
			case upstream.KindAPI, upstream.KindMCPService, upstream.KindGoogle: // are not MCP on the wire
			}
			if status := server.Status(); !slices.Equal(status.Revisions, want) || status.Restarts != 0 {
				t.Errorf("revisions %q, want %q; %d restarts", status.Revisions, want, status.Restarts)
			}
		})
	}
}

// TestRestarts: a process that is started again is counted.
func TestRestarts(t *testing.T) {
	t.Parallel()
	for _, process := range []configv1.Process{configv1.Process_PROCESS_SHARED, configv1.Process_PROCESS_PRINCIPAL} {
		server := open(t, &configv1.Upstream{Command: fakeCommand(t), Process: process})
		if _, err := call(t.Context(), server, "a", `{"name":"exit"}`); err == nil {
			t.Error("a process that has ended has answered")
		}
		if _, err := call(t.Context(), server, "a", `{"name":"pid"}`); err != nil {
			t.Error(err)
		}
		if got := server.Status(); got.Restarts != 1 || !slices.Equal(got.Revisions, []protocol.Revision{protocol.Revision20260728}) {
			t.Errorf("%v: %+v, want one restart", process, got)
		}
	}
}

// TestDown: an upstream that is not there is no fault of the configuration.
func TestDown(t *testing.T) {
	t.Parallel()
	for _, spec := range []*configv1.Upstream{
		{Url: "grpc://127.0.0.1:1"}, {Url: "connect+http://127.0.0.1:1"}, {Url: "tunnel+grpc://127.0.0.1:1"},
		{Url: "http://127.0.0.1:1/mcp"}, {Url: "sse+http://127.0.0.1:1/sse"}, {Command: []string{"/no/such/program"}},
	} {
		_, err := upstream.Open(t.Context(), "test", spec, upstream.Options{})
		if _, ok := errors.AsType[*upstream.ConfigError](err); ok || err == nil {
			t.Errorf("%v: error %v, want one that is no ConfigError", spec, err)
		}
	}
	_, err := upstream.Open(t.Context(), "", &configv1.Upstream{Url: "connect+http://" + h2c(t, http.NotFoundHandler())}, upstream.Options{})
	if _, ok := errors.AsType[*upstream.NoReflectionError](err); !ok {
		t.Errorf("error %v, want a NoReflectionError", err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	truth := true
	for _, tt := range []struct {
		spec *configv1.Upstream
		want []string
	}{
		{&configv1.Upstream{}, []string{"one of url, command must be set"}},
		{&configv1.Upstream{Url: "grpc://h:1", Command: []string{"x"}}, []string{"only one of url, command can be set"}},
		{&configv1.Upstream{Url: "h:1"}, []string{"did you mean grpc://h:1?"}},
		{
			&configv1.Upstream{Command: []string{"x"}, Gzip: true, Services: []string{"a"}, ForwardHeaders: []string{"a"}},
			[]string{"gzip: this key is only for the URL of an RPC server", "services: this key is only for an API", "forwardHeaders: this key is only for a URL"},
		},
		{&configv1.Upstream{Url: "http://h/", Env: map[string]string{"A": "b"}, Dir: "/"}, []string{"env: this key is only for a command", "dir: this key is only for a command"}},
		{&configv1.Upstream{Url: "http://h/", Authority: "x", Validate: &truth}, []string{"authority: this key is only for the URL of an RPC server", "validate: this key is only for an API"}},
		{&configv1.Upstream{Url: "tunnel+grpc://h:1", ForwardHeaders: []string{"x"}}, []string{"forwardHeaders: this key is only for a URL that is no tunnel"}},
		{
			&configv1.Upstream{Url: "grpc://h:1", Tls: &configv1.UpstreamTls{Ca: "x"}, Descriptors: "a", Proto: []string{"b"}, MaxMessageBytes: -1, Timeout: durationpb.New(-1)},
			[]string{"tls: the URL does not use TLS", "proto: descriptors and proto exclude each other", "maxMessageBytes: must be greater", "timeout: must be greater"},
		},
		{&configv1.Upstream{Url: "grpcs://h:1", Tls: &configv1.UpstreamTls{Cert: "x"}}, []string{"tls.key: the certificate needs its private key"}},
		{&configv1.Upstream{Url: "grpc://h:1", Descriptors: "nope.binpb"}, []string{"nope.binpb"}},
		{&configv1.Upstream{Url: "grpc://h:1", ProtoPath: []string{"x"}}, []string{"protoPath: is for the imports of proto"}},
		{&configv1.Upstream{Url: "grpc://h:1", OptionsFile: "nope.yaml"}, []string{"optionsFile: open nope.yaml"}},
		{
			&configv1.Upstream{Url: "grpc://h:1", Headers: map[string]*configv1.HeaderValues{"x-bin": {Values: []string{"hunter2%"}}}, ForwardHeaders: []string{"*"}},
			[]string{"headers.x-bin[0]: the value is not base64", "forwardHeaders[0]: "},
		},
	} {
		err := upstream.Check("test", tt.spec, upstream.Options{})
		if _, ok := errors.AsType[*upstream.ConfigError](err); !ok {
			t.Errorf("%v: error %v, want a ConfigError", tt.spec, err)
			continue
		}
		for _, want := range tt.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: error %q, want it to contain %q", tt.spec, err, want)
			}
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%v: error %q shows a value", tt.spec, err)
		}
	}
}

// TestTimeout: the time of calls to an MCP server is bounded.
func TestTimeout(t *testing.T) {
	t.Parallel()
	server := open(t, &configv1.Upstream{Command: fakeCommand(t), Timeout: durationpb.New(time.Second)})
	_, err := call(t.Context(), server, "", `{"name":"hang"}`)
	if fault, ok := errors.AsType[*protocol.UpstreamError](err); !ok || fault.Kind != protocol.UpstreamTimeout || fault.Message != "the MCP server did not answer within 1s" {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = call(ctx, server, "", `{"name":"hang"}`); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a caller who left", err)
	}
}

// TestProcessForEach: principals that differ never share a process.
func TestProcessForEach(t *testing.T) {
	t.Parallel()
	server := open(t, &configv1.Upstream{Command: fakeCommand(t), Process: configv1.Process_PROCESS_PRINCIPAL})
	pid := func(who string) string {
		res, err := call(t.Context(), server, who, `{"name":"pid"}`)
		if err != nil {
			t.Fatal(err)
		}
		return string(res.Body)
	}
	a, b := pid("a"), pid("b")
	if a == b || a != pid("a") || b != pid("b") {
		t.Errorf("a has %s, and b %s", a, b)
	}
	if got := server.Status().Processes; got != 3 { // one is asked for lists
		t.Errorf("%d processes", got)
	}
}

// TestVersion: the names of tools are in the texts of an API, which is opened again
// when they change, and in no text of an MCP server.
func TestVersion(t *testing.T) {
	t.Parallel()
	for url, depends := range map[string]bool{"grpc://h:1": true, "connect+http://h:1": true, "http://h/mcp": false, "mcp+grpc://h:1": false} {
		version := func(prefix string, tools *configv1.Tools) string {
			return upstream.Version("test", &configv1.Upstream{Url: url, Tools: tools}, upstream.Options{ToolPrefix: prefix})
		}
		plain := version("", nil)
		for name, other := range map[string]string{
			"prefix":  version("test_", nil),
			"rename":  version("", &configv1.Tools{Rename: map[string]string{"a": "b"}}),
			"exclude": version("", &configv1.Tools{Exclude: []string{"a"}}),
		} {
			if (other != plain) != depends {
				t.Errorf("%s: %s makes another version: %t", url, name, !depends)
			}
		}
		if version("", &configv1.Tools{Override: map[string]*configv1.Override{"a": {Title: "A"}}}) != plain {
			t.Errorf("%s: an override makes another version", url)
		}
	}
}
