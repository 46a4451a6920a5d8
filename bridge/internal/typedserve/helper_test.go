package typedserve_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectcall"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/mirror"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typedserve"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve serves a handler's typed service beside McpService, as the binary does,
// and returns the URL without its scheme.
func serve(t *testing.T, cfg typedserve.Config) (*typedserve.Server, string) {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.MaxMessageBytes = 1 << 20
	s, err := typedserve.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	front, err := mirror.New(mirror.Config{Handler: cfg.Handler, Logger: cfg.Logger, MaxMessageBytes: cfg.MaxMessageBytes})
	if err != nil {
		t.Fatal(err)
	}
	if err := front.Add(mirror.Service{Name: s.Service(), Handler: s, Files: s.Files}); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	front.Mount(mux)
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := httptest.NewUnstartedServer(mux)
	server.Config.Protocols = &protocols
	server.Start()
	t.Cleanup(func() {
		s.Close()
		front.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return s, strings.TrimPrefix(server.URL, "http://")
}

// client calls RPCs by what reflection says of them.
type client struct {
	t       *testing.T
	caller  rpc.Caller
	service protoreflect.FullName
}

// connect returns a client for a URL such as grpc://host:port.
func connect(t *testing.T, url string, service protoreflect.FullName) *client {
	t.Helper()
	u, err := upstreamurl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	caller, err := connectcall.Dial(u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = caller.Close() })
	return &client{t, caller, service}
}

// find returns the service as reflection has it now.
func (c *client) find() protoreflect.ServiceDescriptor {
	c.t.Helper()
	set, err := descriptor.Reflection(c.caller).Load(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	services, err := set.Select([]string{string(c.service)})
	if err != nil {
		c.t.Fatal(err)
	}
	return services[0]
}

// call calls an RPC with the ProtoJSON of its request, and returns those of its
// responses.
func (c *client) call(ctx context.Context, md protoreflect.MethodDescriptor, request string, header http.Header) ([]string, *rpc.Trailer, error) {
	c.t.Helper()
	in := dynamicpb.NewMessage(md.Input())
	if err := protojson.Unmarshal([]byte(request), in); err != nil {
		c.t.Fatal(err)
	}
	wire, err := proto.Marshal(in)
	if err != nil {
		c.t.Fatal(err)
	}
	kind := rpc.Unary
	if md.IsStreamingServer() {
		kind = rpc.ServerStream
	}
	var responses []string
	trailer, err := c.caller.Call(ctx, &rpc.Call{
		Procedure: "/" + string(md.Parent().FullName()) + "/" + string(md.Name()), Kind: kind, Requests: [][]byte{wire}, Header: header,
	}, func(message []byte) error {
		out := dynamicpb.NewMessage(md.Output())
		if err := proto.Unmarshal(message, out); err != nil {
			return err
		}
		text, err := protojson.Marshal(out)
		if err != nil {
			return err
		}
		responses = append(responses, compact(c.t, text))
		return nil
	})
	return responses, trailer, err
}

// compact takes out the white space that protojson puts in at random.
func compact(t *testing.T, text []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// fake is an MCP server whose tools can change.
type fake struct {
	mu      sync.Mutex
	tools   string
	changed chan struct{} // closed after a change
	call    func(ctx context.Context, params json.RawMessage, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error)
}

func newFake(tools string) *fake { return &fake{tools: tools, changed: make(chan struct{})} }

// setTools changes the tools, and tells of it.
func (f *fake) setTools(tools string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tools = tools
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fake) now() (tools string, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tools, f.changed
}

// Handle answers.
func (f *fake) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	tools, changed := f.now()
	switch r.Method {
	case protocol.MethodListTools:
		return &protocol.Result{Body: json.RawMessage(`{"tools":` + tools + `}`), Server: json.RawMessage(`{"name":"fake"}`)}, nil
	case protocol.MethodListPrompts:
		return &protocol.Result{Body: json.RawMessage(`{"prompts":[{"name":"greet","arguments":[{"name":"who","required":true}]}]}`)}, nil
	case protocol.MethodListTemplates:
		return &protocol.Result{Body: json.RawMessage(`{"resourceTemplates":[{"name":"note","uriTemplate":"note://{id}{?part}"}]}`)}, nil
	case protocol.MethodListen:
		if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationAcknowledged}); err != nil {
			return nil, err
		}
		for {
			select {
			case <-changed:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			_, changed = f.now()
			if err := n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationToolsChanged}); err != nil {
				return nil, err
			}
		}
	default:
		return f.call(ctx, r.Params, r, n)
	}
}

func method(t *testing.T, service protoreflect.ServiceDescriptor, name string) protoreflect.MethodDescriptor {
	t.Helper()
	md := service.Methods().ByName(protoreflect.Name(name))
	if md == nil {
		t.Fatalf("%s has no RPC %s", service.FullName(), name)
	}
	return md
}

func quote(s string) string { return string(jsontok.AppendString(nil, s)) }
