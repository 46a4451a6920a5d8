package connectcall_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectcall"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/rpctest"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/rpctest/grpcserver"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

func ignore([]byte) error { return nil }

func TestNewErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		client *http.Client
		base   string
		opts   []connectcall.Option
		want   []string
	}{
		{http.DefaultClient, "localhost:1", nil, []string{`base URL "localhost:1" does not begin with http:// or https://`}},
		{http.DefaultClient, "http:///x", nil, []string{`base URL "http:///x" has no host`}},
		{http.DefaultClient, "http://a:b@h?c", nil, []string{"base URL of h has a user, a query or a fragment"}},
		{
			http.DefaultClient, "ftp://h", []connectcall.Option{
				connectcall.WithMaxReceiveBytes(0), connectcall.WithMaxSendBytes(-1), connectcall.WithHeader("te", "x"),
				connectcall.WithHeader("a b", "x"),
			},
			[]string{
				"does not begin with http://", "WithMaxReceiveBytes: 0 is not positive", "WithMaxSendBytes: -1 is not positive",
				`WithHeader: "te" belongs to the protocol`, `WithHeader: metadata key "a b"`,
			},
		},
	} {
		_, err := connectcall.New(test.client, test.base, connectcall.ProtocolConnect, test.opts...)
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("New(%q): error %v, want it to contain %q", test.base, err, want)
			}
		}
	}
	if _, err := connectcall.New(nil, "http://h", connectcall.ProtocolConnect); err == nil || err.Error() != "the HTTP client is nil" {
		t.Errorf("error %v", err)
	}
	if _, err := connectcall.NewInProcess(nil, connectcall.ProtocolConnect); err == nil || err.Error() != "the handler is nil" {
		t.Errorf("error %v", err)
	}
}

// TestHeaders also tests New and a path prefix.
func TestHeaders(t *testing.T) {
	t.Parallel()
	listener, b := listen(t)
	var got *http.Request
	rpctest.ServeHTTP(t, listener, http.StripPrefix("/api/a b", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Clone(context.WithoutCancel(r.Context()))
		b.Handler().ServeHTTP(w, r)
	})), nil)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	for _, protocol := range []connectcall.Protocol{connectcall.ProtocolConnect, connectcall.ProtocolGRPCWeb} {
		caller, err := connectcall.New(client, "http://"+listener.Addr().String()+"/api/a%20b/", protocol,
			connectcall.WithAuthority("api.example.com"), connectcall.WithUserAgent("test/1"),
			connectcall.WithHeader("x-one", "a"), connectcall.WithHeader("X-Two", "b", "c"))
		closing(t, caller, err)
		call := rpctest.NewCall("Echo", http.Header{"X-One": {"mine"}}, "hello")
		if _, err := caller.Call(t.Context(), call, ignore); err != nil {
			t.Fatal(err)
		}
		if got.Host != "api.example.com" || got.UserAgent() != "test/1" {
			t.Errorf("%v: host %q, user agent %q", protocol, got.Host, got.UserAgent())
		}
		if one, two := got.Header["X-One"], got.Header["X-Two"]; !slices.Equal(one, []string{"mine"}) || !slices.Equal(two, []string{"b", "c"}) {
			t.Errorf("%v: X-One %q, X-Two %q", protocol, one, two)
		}
	}
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

// TestAnswers are answers that no RPC server gives.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
		code   code.Code
		want   string
	}{
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/login", http.StatusFound)
		}, code.Code_UNKNOWN, "it answered HTTP 302 (Found) with"},
		{"unauthorized", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "who?", http.StatusUnauthorized)
		}, code.Code_UNAUTHENTICATED, "or a proxy before it, answered HTTP 401 (Unauthorized)"},
		{"bad gateway", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "gone", http.StatusBadGateway)
		}, code.Code_UNAVAILABLE, "or a proxy before it, answered HTTP 502 (Bad Gateway)"},
		{"nothing", func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
		}, code.Code_UNKNOWN, "it answered HTTP 200 (OK) with no content type"},
		{"endless", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/proto")
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}, code.Code_RESOURCE_EXHAUSTED, "is larger than the limit of 1000 bytes"},
		{"cut off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/proto")
			_, _ = w.Write([]byte("half"))
			http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, code.Code_UNAVAILABLE, "was lost before the call ended: unexpected EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			listener := rpctest.Listen(t, "tcp", "127.0.0.1:0")
			rpctest.ServeHTTP(t, listener, test.answer, nil)
			caller := dial(t, "connect+http://"+listener.Addr().String(), connectcall.WithMaxReceiveBytes(1000))
			_, err := caller.Call(t.Context(), rpctest.NewCall("Echo", nil, ""), ignore)
			rpctest.WantStatus(t, err, test.code, true, test.want)
		})
	}
}

// TestConnectToGRPC calls a server that speaks gRPC only by the wrong scheme.
func TestConnectToGRPC(t *testing.T) {
	t.Parallel()
	listener, b := listen(t)
	grpcserver.Serve(t, listener, grpcserver.New(b))
	address := listener.Addr().String()
	_, err := dial(t, "connect+http://"+address).Call(t.Context(), rpctest.NewCall("Echo", nil, ""), ignore)
	rpctest.WantStatus(t, err, code.Code_UNAVAILABLE, true, "it is probably a gRPC server, use grpc://"+address)
}

func BenchmarkCall(b *testing.B) {
	listener := rpctest.Listen(b, "tcp", "127.0.0.1:0")
	rpctest.ServeHTTP(b, listener, rpctest.NewBackend().Handler(), nil)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	remote, err := connectcall.New(client, "http://"+listener.Addr().String(), connectcall.ProtocolConnect)
	if err != nil {
		b.Fatal(err)
	}
	local, err := connectcall.NewInProcess(rpctest.NewBackend().Handler(), connectcall.ProtocolConnect)
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
