package grpcgo_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/mcp-bridge/mcp-bridge/bridge/grpcgo"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/rpctest"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/rpctest/grpcserver"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

func ignore([]byte) error { return nil }

func TestDialErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		target string
		opts   []grpcgo.Option
		want   []string
	}{
		{"localhost:50051", nil, []string{"did you mean grpc://localhost:50051?"}},
		{"connect+http://h", nil, []string{`upstream "connect+http://h" speaks Connect: grpcgo only speaks gRPC`}},
		{
			"grpc://h", []grpcgo.Option{
				grpcgo.WithMaxReceiveBytes(0), grpcgo.WithMaxSendBytes(-1), grpcgo.WithKeepalive(0, 0),
				grpcgo.WithHeader("content-type", "x"), grpcgo.WithHeader("a b", "x"),
			},
			[]string{
				"the port is missing", "WithMaxReceiveBytes: 0 is not positive", "WithMaxSendBytes: -1 is not positive",
				"WithKeepalive: 0s and 0s must both be positive", `WithHeader: "content-type" belongs to the protocol`,
				`WithHeader: metadata key "a b"`,
			},
		},
	} {
		_, err := grpcgo.Dial(test.target, test.opts...)
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Dial(%q): error %v, want it to contain %q", test.target, err, want)
			}
		}
	}
}

func TestServerErrors(t *testing.T) {
	t.Parallel()
	if _, err := grpcgo.Server(nil); err == nil || err.Error() != "the server is nil" {
		t.Errorf("error %v", err)
	}
	server := grpc.NewServer()
	if _, err := grpcgo.Server(server); err == nil || err.Error() != "the server has no services: register them before it is bridged" {
		t.Errorf("error %v", err)
	}
}

func TestServer(t *testing.T) {
	t.Parallel()
	server := grpcserver.New(rpctest.NewBackend())
	if got := grpcgo.Services(server); !slices.Equal(got, []string{rpctest.Service}) {
		t.Errorf("services %q", got)
	}
	caller := inProcess(t, server)
	call := rpctest.NewCall("Echo", nil, "hello")
	if _, err := caller.Call(t.Context(), call, ignore); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	_, err := caller.Call(t.Context(), call, ignore)
	rpctest.WantStatus(t, err, code.Code_UNAVAILABLE, true, "the in-process server")
}

func TestClosed(t *testing.T) {
	t.Parallel()
	listener, b := listen(t)
	grpcserver.Serve(t, listener, grpcserver.New(b))
	caller := dial(t, "grpc://"+listener.Addr().String())
	for range 2 {
		if err := caller.Close(); err != nil {
			t.Error(err)
		}
	}
	_, err := caller.Call(t.Context(), rpctest.NewCall("Echo", nil, "hello"), ignore)
	rpctest.WantStatus(t, err, code.Code_UNAVAILABLE, true, "the caller of "+listener.Addr().String()+" is closed")
}

func TestExactStatus(t *testing.T) {
	t.Parallel()
	listener, b := listen(t)
	grpcserver.Serve(t, listener, grpcserver.New(b))
	want := &status.Status{Code: 9, Message: "m", Details: []*anypb.Any{{TypeUrl: "example.com/types/a.B", Value: []byte{1, 2}}}}
	request, err := proto.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	_, err = dial(t, "grpc://"+listener.Addr().String()).Call(t.Context(), rpctest.NewCall("Fail", nil, string(request)), ignore)
	if failure, ok := err.(*rpc.StatusError); !ok || !proto.Equal(failure.Status, want) { //nolint:errorlint // it is not wrapped
		t.Errorf("error %v, want %v", err, want)
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	listener, b := listen(t)
	var got *http.Request
	rpctest.ServeHTTP(t, listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(context.WithoutCancel(r.Context()))
		b.Handler().ServeHTTP(w, r)
	}), nil)
	caller := dial(t, "grpc://"+listener.Addr().String(), grpcgo.WithAuthority("api.example.com"), grpcgo.WithUserAgent("test/1"),
		grpcgo.WithHeader("x-one", "a"), grpcgo.WithHeader("X-Two", "b", "c"))
	call := rpctest.NewCall("Echo", http.Header{"X-One": {"mine"}}, "hello")
	if _, err := caller.Call(t.Context(), call, ignore); err != nil {
		t.Fatal(err)
	}
	if got.Host != "api.example.com" || !strings.HasPrefix(got.UserAgent(), "test/1 grpc-go/") {
		t.Errorf("host %q, user agent %q", got.Host, got.UserAgent())
	}
	if one, two := got.Header["X-One"], got.Header["X-Two"]; !slices.Equal(one, []string{"mine"}) || !slices.Equal(two, []string{"b", "c"}) {
		t.Errorf("X-One %q, X-Two %q", one, two)
	}
}

// TestRoundRobin wants calls to reach all addresses of a name.
func TestRoundRobin(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	reached := map[string]int{}
	var addresses []resolver.Address
	for range 3 {
		listener, b := listen(t)
		address := listener.Addr().String()
		addresses = append(addresses, resolver.Address{Addr: address})
		rpctest.ServeHTTP(t, listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			reached[address]++
			mu.Unlock()
			b.Handler().ServeHTTP(w, r)
		}), nil)
	}
	names := manual.NewBuilderWithScheme("dns")
	names.InitialState(resolver.State{Addresses: addresses})
	caller := dial(t, "dns:///several.example.com:1", grpcgo.WithDialOptions(grpc.WithResolvers(names)))
	for {
		if _, err := caller.Call(t.Context(), rpctest.NewCall("Echo", nil, ""), ignore); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		n := len(reached)
		mu.Unlock()
		if n == len(addresses) {
			return
		}
	}
}

func BenchmarkCall(b *testing.B) {
	listener := rpctest.Listen(b, "tcp", "127.0.0.1:0")
	grpcserver.Serve(b, listener, grpcserver.New(rpctest.NewBackend()))
	remote, err := grpcgo.Dial("grpc://" + listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = remote.Close() }()
	server := grpcserver.New(rpctest.NewBackend())
	defer server.Stop()
	local, err := grpcgo.Server(server)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = local.Close() }()
	for name, caller := range map[string]rpc.Caller{"loopback": remote, "in-process": local} {
		b.Run(name, func(b *testing.B) {
			call := rpctest.NewCall("Echo", nil, strings.Repeat("x", 200))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := caller.Call(b.Context(), call, ignore); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
