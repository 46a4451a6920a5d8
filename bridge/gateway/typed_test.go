package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/gateway"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/bridge/mux"
	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/gen/mcp/v1/mcpv1connect"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// weather is an MCP server with a tool, a prompt and a resource template, which say
// by which name they were asked for.
var weather = protocol.HandlerFunc(func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
	var p struct {
		Name, URI string
		Arguments json.RawMessage
	}
	_ = json.Unmarshal(r.Params, &p)
	body := ""
	switch r.Method {
	case protocol.MethodDiscover:
		body = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{}}}`
	case protocol.MethodListTools:
		body = `{"tools":[{"name":"get_weather","description":"Tells the weather.","inputSchema":{"type":"object",` +
			`"properties":{"city":{"type":"string"},"days":{"type":"integer"},"unit":{"type":"string","enum":["C","F"]}}}}]}`
	case protocol.MethodListPrompts:
		body = `{"prompts":[{"name":"plan","arguments":[{"name":"city","required":true}]}]}`
	case protocol.MethodListTemplates:
		body = `{"resourceTemplates":[{"uriTemplate":"weather:{city}","name":"city"}]}`
	case protocol.MethodCallTool:
		if p.Name != "get_weather" {
			return nil, protocol.Errorf(protocol.CodeInvalidParams, "there is no tool %s", p.Name)
		}
		text, err := json.Marshal(p.Name + " " + string(p.Arguments))
		if err != nil {
			return nil, err
		}
		body = `{"content":[{"type":"text","text":` + string(text) + `}]}`
	case protocol.MethodGetPrompt:
		body = `{"messages":[{"role":"user","content":{"type":"text","text":"prompt ` + p.Name + `"}}]}`
	case protocol.MethodReadResource:
		body = `{"contents":[{"uri":"` + p.URI + `","text":"resource ` + p.URI + `"}]}`
	default:
		return nil, protocol.MethodNotFound(r.Method)
	}
	return &protocol.Result{Body: json.RawMessage(body), Server: json.RawMessage(`{"name":"weather","version":"1"}`)}, nil
})

// overHTTP serves an MCP server over Streamable HTTP, and returns its URL.
func overHTTP(t *testing.T, h protocol.Handler) string {
	t.Helper()
	front, err := streamable.New(streamable.Config{Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(front)
	t.Cleanup(func() {
		front.Close()
		server.Close()
	})
	return server.URL
}

// export writes the export of an MCP server below a directory, and returns the
// service that it declares, as a client that has the files knows it.
func export(t *testing.T, url, dir string) protoreflect.ServiceDescriptor {
	t.Helper()
	c, err := streamable.NewClient(streamable.ClientConfig{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	made, err := bridge.ExportProto(t.Context(), c, bridge.ExportConfig{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range made.Files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o750), os.WriteFile(name, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	set, err := descriptor.ProtoSources([]string{filepath.Join(dir, filepath.FromSlash(made.Path))}, []string{dir}).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return set.Services()[0]
}

// stub calls a method as code does that was generated of it, and returns the
// response as JSON.
func stub(t *testing.T, conn *grpc.ClientConn, service protoreflect.ServiceDescriptor, name, request string) string {
	t.Helper()
	md := service.Methods().ByName(protoreflect.Name(name))
	if md == nil {
		t.Fatalf("the export has no RPC %s", name)
	}
	in, out := dynamicpb.NewMessage(md.Input()), dynamicpb.NewMessage(md.Output())
	if err := protojson.Unmarshal([]byte(request), in); err != nil {
		t.Fatal(err)
	}
	if err := conn.Invoke(t.Context(), "/"+string(service.FullName())+"/"+name, in, out); err != nil {
		return err.Error()
	}
	text, err := protojson.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// dial returns a connection of grpc-go.
func dial(t *testing.T, base string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(strings.TrimPrefix(base, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// watcher is a Guard that allows everything and remembers what it decided.
type watcher struct {
	mu   sync.Mutex
	seen []string
}

func (w *watcher) Decide(_ context.Context, a *protocol.Access) protocol.Decision {
	w.mu.Lock()
	defer w.mu.Unlock()
	arguments, err := a.Arguments()
	if err != nil {
		return protocol.Decision{}
	}
	w.seen = append(w.seen, strings.Join([]string{string(a.Target.Kind), a.Target.Upstream, a.Target.Name, a.Target.PublicName, string(arguments)}, " "))
	return protocol.Decision{Allow: a.Target.Name != "weather:Atlantis"}
}

func (w *watcher) Visible(ctx context.Context, p *protocol.Principal, targets []*protocol.Target) []bool {
	return protocol.AllowAll.Visible(ctx, p, targets)
}

func (w *watcher) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}

// TestTypedOwnNames: stubs of an MCP server work as they are when it is served as one
// of several upstreams, whatever its tools are called there. The guard sees each call
// once, by both names.
func TestTypedOwnNames(t *testing.T) {
	t.Parallel()
	direct, dir := overHTTP(t, weather), t.TempDir()
	service := export(t, direct, filepath.Join(dir, "sky"))
	for name, tools := range map[string]*configv1.Tools{
		"prefix": nil, "rename": {Rename: map[string]string{"get_weather": "forecast"}}, "filter": {Exclude: []string{"get_*"}},
	} {
		cfg := local()
		cfg.Server.Typed = dir
		cfg.Upstreams = map[string]*configv1.Upstream{"sky": {Url: direct, Tools: tools}, "other": {Url: overHTTP(t, weather)}}
		guard := &watcher{}
		g := newGateway(t, cfg, gateway.WithGuard(guard))
		if down := g.Ready(t.Context()); len(down) > 0 {
			t.Fatal(down)
		}
		base := serve(t, g)
		if got := g.TypedServices(); !slices.Equal(got, []string{string(service.FullName())}) {
			t.Fatalf("%s: services %q, faults %v", name, got, g.TypedFaults())
		}
		conn := dial(t, base)
		public := map[string]string{"prefix": "sky_get_weather", "rename": "sky_forecast"}[name]
		for _, tt := range []struct{ method, request, want, decided string }{
			{"GetWeather", `{"city":"Oslo","days":"3","unit":"UNIT_F"}`, `get_weather {\"city\":\"Oslo\",\"days\":3,\"unit\":\"F\"}`, `tool sky get_weather ` + public + ` {"city":"Oslo","days":3,"unit":"F"}`},
			{"GetPromptPlan", `{"city":"Oslo"}`, `prompt plan`, `prompt sky plan sky_plan {"city":"Oslo"}`},
			{"ReadCity", `{"city":"Oslo"}`, `resource weather:Oslo`, `resource sky weather:Oslo sky+weather:Oslo {}`},
			{"ReadCity", `{"city":"Atlantis"}`, `there is no resource`, `resource sky weather:Atlantis sky+weather:Atlantis {}`},
		} {
			decided := []string{tt.decided}
			if public == "" && tt.method == "GetWeather" { // it is not served at all
				tt.want, decided = "does not offer", nil
			}
			if got := stub(t, conn, service, tt.method, tt.request); !strings.Contains(strings.ReplaceAll(got, ", ", ","), tt.want) {
				t.Errorf("%s: %s: %s, want %s", name, tt.method, got, tt.want)
			}
			if got := guard.take(); !slices.Equal(got, decided) {
				t.Errorf("%s: %s: decided %q, want %q", name, tt.method, got, decided)
			}
		}
	}
}

// TestTypedTwins: a typed service that two upstreams have is served by neither, and
// both say so.
func TestTypedTwins(t *testing.T) {
	t.Parallel()
	cfg := local()
	cfg.Upstreams = map[string]*configv1.Upstream{"a": {Url: overHTTP(t, weather)}, "b": {Url: overHTTP(t, weather)}, "c": {Url: overHTTP(t, weather)}}
	g := newGateway(t, cfg, gateway.WithTyped("a", bridge.TypedConfig{}), gateway.WithTyped("b", bridge.TypedConfig{}), gateway.WithTyped("c", bridge.TypedConfig{Name: "rain"}))
	if down := g.Ready(t.Context()); len(down) > 0 {
		t.Fatal(down)
	}
	if got, want := g.TypedServices(), []string{"mcp.gen.rain.v1.RainTools"}; !slices.Equal(got, want) {
		t.Errorf("services %q, want %q", got, want)
	}
	faults := g.TypedFaults()
	if got := slices.Sorted(maps.Keys(faults)); !slices.Equal(got, []string{"a", "b"}) || !strings.Contains(faults["a"].Error(), "the upstreams a and b have the same typed service mcp.gen.weather.v1.WeatherTools") {
		t.Errorf("faults %v", faults)
	}
}

// TestTypedLate: a typed service that comes late, because its upstream was down,
// leaves open streams alone.
func TestTypedLate(t *testing.T) {
	t.Parallel()
	up := make(chan struct{})
	g := newGateway(t, local(), gateway.WithTyped("library", bridge.TypedConfig{Name: "late"}), gateway.WithUpstream("other", library),
		gateway.WithUpstream("library", func(ctx context.Context) (mux.Server, error) {
			select {
			case <-up:
				return library(ctx)
			default:
				return nil, errors.New("nothing listens")
			}
		}))
	if down := g.Ready(t.Context()); down["library"] == nil {
		t.Fatal("it is up")
	}
	base := serve(t, g)
	conn := dial(t, base)
	const service = "mcp.gen.late.v1.LateTools"
	watch, err := healthpb.NewHealthClient(conn).Watch(t.Context(), &healthpb.HealthCheckRequest{Service: service})
	if err != nil {
		t.Fatal(err)
	}
	status := func(want healthpb.HealthCheckResponse_ServingStatus) {
		t.Helper()
		if got, err := watch.Recv(); err != nil || got.GetStatus() != want {
			t.Fatalf("health %v, %v, want %v", got, err, want)
		}
	}
	status(healthpb.HealthCheckResponse_SERVICE_UNKNOWN)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	web := browser(t)
	web.Transport.(*http.Transport).Protocols = protocols
	tunnel, err := mcpv1connect.NewMcpServiceClient(web, base, connect.WithGRPC()).Tunnel(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ping := func() {
		t.Helper()
		if err := tunnel.Send(&mcpv1.TunnelRequest{Message: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)}); err != nil {
			t.Fatal(err)
		}
		if got, err := tunnel.Receive(); err != nil || !strings.Contains(string(got.GetMessage()), `"id":1`) {
			t.Fatalf("tunnel: %s, %v", got.GetMessage(), err)
		}
	}
	ping()
	close(up)
	status(healthpb.HealthCheckResponse_SERVING)
	ping()
	if code, body := post(t, browser(t), base+"/"+service+"/LibraryGetBook", `{"name":"shelves/1/books/1"}`); code != http.StatusOK || !strings.Contains(body, "Pride and Prejudice") {
		t.Errorf("%d %s", code, body)
	}
	if got := g.TypedFaults(); len(got) > 0 {
		t.Errorf("faults %v", got)
	}
	if err := tunnel.CloseRequest(); err != nil {
		t.Error(err)
	}
	if err := tunnel.CloseResponse(); err != nil {
		t.Error(err)
	}
}
