package connectcall_test

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectcall"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/rpctest"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

func TestNetwork(t *testing.T) {
	t.Parallel()
	for _, schemes := range [][2]string{
		{"grpc://", "grpcs://"},
		{"grpcweb+http://", "grpcweb+https://"},
		{"connect+http://", "connect+https://"},
	} {
		t.Run(strings.TrimSuffix(schemes[0], "://"), func(t *testing.T) {
			t.Parallel()
			rpctest.RunNetwork(t, rpctest.Network{
				Plain:  schemes[0],
				Secure: schemes[1],
				Serve: func(t *testing.T, listener net.Listener, b *rpctest.Backend, config *tls.Config) {
					rpctest.ServeHTTP(t, listener, b.Handler(), config)
				},
				Dial: func(t *testing.T, url string, config *tls.Config, authority string) rpc.Caller {
					var opts []connectcall.Option
					if config != nil {
						opts = append(opts, connectcall.WithTLS(config))
					}
					return dial(t, url, append(opts, connectcall.WithAuthority(authority))...)
				},
				Unix: schemes[0] == "grpc://",
			})
		})
	}
}

// tlsPair returns configurations of a server on the loopback interface and of
// a client that trusts it.
func tlsPair(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	authority := rpctest.NewAuthority(t)
	server = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{authority.Pair(t, "127.0.0.1")}}
	client = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authority.Pool()}
	return server, client
}
