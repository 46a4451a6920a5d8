package grpcgo_test

import (
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/mcp-bridge/mcp-bridge/bridge/grpcgo"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/rpctest"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/rpctest/grpcserver"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) {
	t.Parallel()
	limit := grpcgo.WithMaxReceiveBytes(rpctest.MaxReceive)
	for _, test := range []struct {
		name    string
		options rpctest.Options
		setup   rpctest.Setup
	}{
		{name: "grpc-go server", setup: func(t *testing.T) (rpc.Caller, *rpctest.Backend) {
			listener, b := listen(t)
			grpcserver.Serve(t, listener, grpcserver.New(b))
			return dial(t, "grpc://"+listener.Addr().String(), limit), b
		}},
		{name: "grpc-go server, gzip", setup: func(t *testing.T) (rpc.Caller, *rpctest.Backend) {
			listener, b := listen(t)
			grpcserver.Serve(t, listener, grpcserver.New(b))
			return dial(t, "grpc://"+listener.Addr().String(), limit, grpcgo.WithGzip()), b
		}},
		{name: "connect-go server", setup: func(t *testing.T) (rpc.Caller, *rpctest.Backend) {
			listener, b := listen(t)
			rpctest.ServeHTTP(t, listener, b.Handler(), nil)
			return dial(t, "grpc://"+listener.Addr().String(), limit), b
		}},
		{name: "in-process server", options: rpctest.Options{NoKill: true}, setup: func(t *testing.T) (rpc.Caller, *rpctest.Backend) {
			b := rpctest.NewBackend()
			server := grpcserver.New(b)
			t.Cleanup(server.Stop)
			return inProcess(t, server, limit), b
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
	grpcserver.Serve(t, listener, grpcserver.New(b))
	const token = "hunter2-and-more"
	rpctest.ConfiguredHeader(t, dial(t, "grpc://"+listener.Addr().String(), grpcgo.WithHeader("x-token", token)), token)
}

func listen(t *testing.T) (*rpctest.Listener, *rpctest.Backend) {
	t.Helper()
	b := rpctest.NewBackend()
	listener := rpctest.Listen(t, "tcp", "127.0.0.1:0")
	b.Kill = listener.Kill
	return listener, b
}

func dial(t *testing.T, target string, opts ...grpcgo.Option) *grpcgo.Caller {
	t.Helper()
	caller, err := grpcgo.Dial(target, opts...)
	return closing(t, caller, err)
}

func inProcess(t *testing.T, server *grpc.Server, opts ...grpcgo.Option) *grpcgo.Caller {
	t.Helper()
	caller, err := grpcgo.Server(server, opts...)
	return closing(t, caller, err)
}

func closing(t *testing.T, caller *grpcgo.Caller, err error) *grpcgo.Caller {
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
