package grpcgo_test

import (
	"crypto/tls"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/mcp-bridge/mcp-bridge/bridge/grpcgo"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/rpctest"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/rpctest/grpcserver"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

func TestNetwork(t *testing.T) {
	t.Parallel()
	rpctest.RunNetwork(t, rpctest.Network{
		Plain:  "grpc://",
		Secure: "grpcs://",
		Serve: func(t *testing.T, listener net.Listener, b *rpctest.Backend, config *tls.Config) {
			var opts []grpc.ServerOption
			if config != nil {
				opts = append(opts, grpc.Creds(credentials.NewTLS(config)))
			}
			grpcserver.Serve(t, listener, grpcserver.New(b, opts...))
		},
		Dial: func(t *testing.T, url string, config *tls.Config, authority string) rpc.Caller {
			var opts []grpcgo.Option
			if config != nil {
				opts = append(opts, grpcgo.WithTLS(config))
			}
			return dial(t, url, append(opts, grpcgo.WithAuthority(authority))...)
		},
		Unix: true,
	})
}
