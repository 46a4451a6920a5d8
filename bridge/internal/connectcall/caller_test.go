package connectcall_test

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectcall"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/rpctest"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/rpctest/grpcserver"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) {
	t.Parallel()
	limit := connectcall.WithMaxReceiveBytes(rpctest.MaxReceive)
	onConnect := func(scheme string, opts ...connectcall.Option) rpctest.Setup {
		return func(t *testing.T) (rpc.Caller, *rpctest.Backend) {
			listener, b := listen(t)
			rpctest.ServeHTTP(t, listener, b.Handler(), nil)
			return dial(t, scheme+listener.Addr().String(), append(opts, limit)...), b
		}
	}
	onTLS := func(scheme string) rpctest.Setup {
		return func(t *testing.T) (rpc.Caller, *rpctest.Backend) {
			listener, b := listen(t)
			server, client := tlsPair(t)
			rpctest.ServeHTTP(t, listener, b.Handler(), server)
			return dial(t, scheme+listener.Addr().String(), limit, connectcall.WithTLS(client)), b
		}
	}
	inProcess := func(protocol connectcall.Protocol) rpctest.Setup {
		return func(t *testing.T) (rpc.Caller, *rpctest.Backend) {
			b := rpctest.NewBackend()
			caller, err := connectcall.NewInProcess(b.Handler(), protocol, limit)
			return closing(t, caller, err), b
		}
	}
	connect := rpctest.Options{UnaryTrailersInHeader: true}
	connectInProcess := rpctest.Options{UnaryTrailersInHeader: true, NoKill: true}
	for _, test := range []struct {
		name    string
		options rpctest.Options
		setup   rpctest.Setup
	}{
		{"connect", connect, onConnect("connect+http://")},
		{"connect, gzip", connect, onConnect("connect+http://", connectcall.WithGzip())},
		{"connect, TLS", connect, onTLS("connect+https://")},
		{"gRPC-Web", rpctest.Options{}, onConnect("grpcweb+http://")},
		{"gRPC-Web, TLS", rpctest.Options{}, onTLS("grpcweb+https://")},
		{"gRPC", rpctest.Options{}, onConnect("grpc://")},
		{"gRPC, gzip", rpctest.Options{}, onConnect("grpc://", connectcall.WithGzip())},
		{"gRPC, TLS", rpctest.Options{}, onTLS("grpcs://")},
		{"gRPC, grpc-go server", rpctest.Options{}, func(t *testing.T) (rpc.Caller, *rpctest.Backend) {
			listener, b := listen(t)
			grpcserver.Serve(t, listener, grpcserver.New(b))
			return dial(t, "grpc://"+listener.Addr().String(), limit), b
		}},
		{"connect, in-process", connectInProcess, inProcess(connectcall.ProtocolConnect)},
		{"gRPC-Web, in-process", rpctest.Options{NoKill: true}, inProcess(connectcall.ProtocolGRPCWeb)},
		{"gRPC, in-process", rpctest.Options{NoKill: true}, inProcess(connectcall.ProtocolGRPC)},
		{"gRPC, in-process grpc-go server", rpctest.Options{NoKill: true}, func(t *testing.T) (rpc.Caller, *rpctest.Backend) {
			b := rpctest.NewBackend()
			server := grpcserver.New(b)
			t.Cleanup(server.Stop)
			caller, err := connectcall.NewInProcess(http.HandlerFunc(server.ServeHTTP), connectcall.ProtocolGRPC, limit)
			return closing(t, caller, err), b
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			rpctest.Run(t, test.setup, test.options)
		})
	}
}

func TestConfiguredHeader(t *testing.T) {
	t.Parallel()
	listener, b := listen(t)
	rpctest.ServeHTTP(t, listener, b.Handler(), nil)
	const token = "hunter2-and-more"
	rpctest.ConfiguredHeader(t, dial(t, "connect+http://"+listener.Addr().String(), connectcall.WithHeader("x-token", token)), token)
}

func listen(t *testing.T) (*rpctest.Listener, *rpctest.Backend) {
	t.Helper()
	b := rpctest.NewBackend()
	listener := rpctest.Listen(t, "tcp", "127.0.0.1:0")
	b.Kill = listener.Kill
	return listener, b
}

func dial(t *testing.T, target string, opts ...connectcall.Option) *connectcall.Caller {
	t.Helper()
	u, err := upstreamurl.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	caller, err := connectcall.Dial(u, opts...)
	return closing(t, caller, err)
}

func closing(t *testing.T, caller *connectcall.Caller, err error) *connectcall.Caller {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := caller.Close(); err != nil {
			t.Error(err)
		}
	})
	return caller
}
