package googlemcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectcall"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/googlemcp"
	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// fail fails as the name of the tool says.
func fail(ctx context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
	var params struct{ Name string }
	if err := json.Unmarshal(r.Params, &params); err != nil {
		return nil, err
	}
	switch params.Name {
	case "parse":
		return nil, protocol.Errorf(protocol.CodeParseError, "parse")
	case "request":
		return nil, protocol.Errorf(protocol.CodeInvalidRequest, "request")
	case "params":
		return nil, &protocol.Error{Code: protocol.CodeInvalidParams, Message: "params", Data: json.RawMessage(`{"uri":"x:y"}`)}
	case "method":
		return nil, protocol.MethodNotFound("x")
	case "own":
		return nil, &protocol.Error{Code: 4711, Message: "own", Data: json.RawMessage(`[1.0]`)}
	case "resource":
		return nil, protocol.Errorf(protocol.CodeResourceNotFound, "resource")
	case "hidden":
		return nil, errors.New("a secret")
	case "down":
		return nil, &protocol.UpstreamError{Kind: protocol.UpstreamUnavailable, Message: "it is down"}
	case "throttled":
		return nil, &protocol.UpstreamError{Kind: protocol.UpstreamThrottled, Message: "too many"}
	case "token":
		return nil, &protocol.Error{Code: protocol.CodeInternalError, Message: "who?", Challenge: "Bearer"}
	case "scopes":
		return nil, &protocol.Error{Code: protocol.CodeInvalidRequest, Message: "more scopes", Scopes: []string{"a"}}
	case "nothing":
		return nil, nil
	case "panic":
		panic("the tool panics")
	case "malformed":
		return &protocol.Result{Body: json.RawMessage(`{"content":[],"content":[]}`)}, nil
	case "block":
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return nil, protocol.Errorf(protocol.CodeInternalError, "there is no tool %q", params.Name)
}

// grpcGo returns a connection of grpc-go.
func grpcGo(t *testing.T, url string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(strings.TrimPrefix(url, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func TestErrors(t *testing.T) {
	t.Parallel()
	url, hc := serve(t, fail)
	conn := grpcGo(t, url)
	client := dial(t, hc, url, connectcall.ProtocolGRPC)
	for _, tt := range []struct {
		name    string
		status  codes.Code
		trailer string
		message string
		back    int    // the code of JSON-RPC that a Client makes of it
		data    string // and its data
		kind    protocol.UpstreamKind
	}{
		{name: "parse", status: codes.InvalidArgument, trailer: "-32700", message: "parse", back: -32700},
		{name: "request", status: codes.InvalidArgument, trailer: "-32600", message: "request", back: -32600},
		{name: "params", status: codes.InvalidArgument, trailer: "-32602", message: "params", back: -32602, data: `{"uri":"x:y"}`},
		{name: "method", status: codes.Unimplemented, trailer: "-32601", message: `method "x" is not available`, back: -32601},
		{name: "own", status: codes.Internal, trailer: "4711", message: "own", back: 4711, data: `[1.0]`},
		{name: "resource", status: codes.InvalidArgument, trailer: "-32002", message: "resource", back: -32002},
		{name: "hidden", status: codes.Internal, trailer: "-32603", message: "internal error", back: -32603},
		{name: "nothing", status: codes.Internal, trailer: "-32603", message: "internal error", back: -32603},
		{name: "malformed", status: codes.Internal, trailer: "-32603", message: "what the MCP server said is no MCP", back: -32603},
		{name: "panic", status: codes.Internal, trailer: "-32603", message: "internal error", back: -32603},
		{name: "down", status: codes.Unavailable, message: "it is down", kind: protocol.UpstreamUnavailable},
		{name: "throttled", status: codes.ResourceExhausted, message: "too many", kind: protocol.UpstreamThrottled},
		{name: "scopes", status: codes.PermissionDenied, message: "more scopes", back: -32600},
		{name: "token", status: codes.Unauthenticated, message: "who?", back: -32603},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var header, trailer metadata.MD
			err := conn.Invoke(t.Context(), "/model_context_protocol.Mcp/CallTool", &googlepb.CallToolRequest{
				Request: &googlepb.CallToolRequest_Request{Name: tt.name},
			}, &googlepb.CallToolResponse{}, grpc.Header(&header), grpc.Trailer(&trailer))
			if s := status.Convert(err); s.Code() != tt.status || s.Message() != tt.message {
				t.Errorf("status %v", err)
			}
			if got := strings.Join(trailer.Get("mcp-error-code"), ","); got != tt.trailer {
				t.Errorf("trailer %q, want %q", got, tt.trailer)
			}
			if got := header.Get("mcp-protocol-version"); len(got) != 1 || got[0] != "2025-06-18" {
				t.Errorf("initial metadata %v", header)
			}
			_, err = ask(t.Context(), client, protocol.MethodCallTool, `{"name":"`+tt.name+`"}`)
			if upstream, ok := errors.AsType[*protocol.UpstreamError](err); ok {
				if tt.back != 0 || upstream.Kind != tt.kind {
					t.Errorf("%v of kind %v", err, upstream.Kind)
				}
				return
			}
			if tt.name == "token" && (protocol.AsError(err).Challenge != "Bearer" || header.Get("www-authenticate")[0] != "Bearer") {
				t.Errorf("challenge %+v, %v", err, header)
			}
			if fault, ok := errors.AsType[*protocol.Error](err); !ok || fault.Code != tt.back || fault.Message != tt.message || string(fault.Data) != tt.data {
				t.Errorf("%+v, want %d %q %s", err, tt.back, tt.message, tt.data)
			}
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	url, hc := serve(t, func(ctx context.Context, _ *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		close(arrived)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	c := dial(t, hc, url, connectcall.ProtocolGRPC)
	go func() {
		_, err := ask(ctx, c, protocol.MethodCallTool, `{"name":"block"}`)
		done <- err
	}()
	<-arrived
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// peer is a server of the service that is made with grpc-go.
type peer struct {
	call func(ctx context.Context, r *googlepb.CallToolRequest) (*googlepb.CallToolResponse, error)
	list func(ctx context.Context, r *googlepb.ListToolsRequest) (*googlepb.ListToolsResponse, error)
}

func unary[Request, Response any](method string, f func(context.Context, *Request) (*Response, error)) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: method, Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		r := new(Request)
		if err := decode(r); err != nil {
			return nil, err
		}
		return f(ctx, r)
	}}
}

func (p *peer) serve(t *testing.T, change ...func(*googlemcp.ClientConfig)) *googlemcp.Client {
	t.Helper()
	s := grpc.NewServer()
	desc := &grpc.ServiceDesc{ServiceName: "model_context_protocol.Mcp", HandlerType: (*any)(nil)}
	if p.call != nil {
		desc.Methods = append(desc.Methods, unary("CallTool", p.call))
	}
	if p.list != nil {
		desc.Methods = append(desc.Methods, unary("ListTools", p.list))
	}
	s.RegisterService(desc, nil)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(listener)
	}()
	t.Cleanup(func() {
		s.Stop()
		<-done
	})
	hc := h2c(t)
	return dial(t, hc, "http://"+listener.Addr().String(), connectcall.ProtocolGRPC, change...)
}

// TestStatuses: what servers say that are not made with this package.
func TestStatuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status  codes.Code
		trailer string
		back    int
		kind    protocol.UpstreamKind
	}{
		{status: codes.Internal, trailer: "-32001", back: -32001},
		{status: codes.Internal, trailer: "x", back: -32603},
		{status: codes.Internal, back: -32603},
		{status: codes.InvalidArgument, back: -32602},
		{status: codes.InvalidArgument, trailer: "-32600", back: -32600},
		{status: codes.Unimplemented, back: -32601},
		{status: codes.NotFound, back: -32602},
		{status: codes.Unavailable, kind: protocol.UpstreamUnavailable},
		{status: codes.PermissionDenied, kind: protocol.UpstreamPermissionDenied},
		{status: codes.ResourceExhausted, kind: protocol.UpstreamThrottled},
		{status: codes.Unknown, kind: protocol.UpstreamRejected},
	} {
		c := (&peer{call: func(ctx context.Context, _ *googlepb.CallToolRequest) (*googlepb.CallToolResponse, error) {
			if tt.trailer != "" {
				if err := grpc.SetTrailer(ctx, metadata.Pairs("mcp-error-code", tt.trailer)); err != nil {
					return nil, err
				}
			}
			return nil, status.Error(tt.status, "why")
		}}).serve(t)
		_, err := ask(t.Context(), c, protocol.MethodCallTool, `{"name":"t"}`)
		if upstream, ok := errors.AsType[*protocol.UpstreamError](err); ok {
			if tt.back != 0 || upstream.Kind != tt.kind {
				t.Errorf("%v %q: %v of kind %v", tt.status, tt.trailer, err, upstream.Kind)
			}
			continue
		}
		if fault, ok := errors.AsType[*protocol.Error](err); !ok || fault.Code != tt.back {
			t.Errorf("%v %q: %v, want %d", tt.status, tt.trailer, err, tt.back)
		}
	}
}
