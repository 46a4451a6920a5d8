package connectserve_test

import (
	"context"
	"log/slog"
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectcall"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectserve"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/header"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/rpctest"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stream is a call as the test's backend has it.
type stream struct {
	*connectserve.Call
	ctx context.Context //nolint:containedctx // of one call
}

func (s stream) Context() context.Context { return s.ctx }
func (s stream) Header() http.Header      { return header.Decode(s.Call.Header) }
func (s stream) SetHeader(h http.Header)  { header.Encode(s.ResponseHeader(), h) }
func (s stream) SetTrailer(h http.Header) { header.Encode(s.ResponseTrailer(), h) }

// handler serves a backend.
func handler(b *rpctest.Backend) http.Handler {
	mux := http.NewServeMux()
	for method, kind := range rpctest.Kinds {
		mux.Handle(rpctest.Procedure(method), connectserve.Handler(&connectserve.Method{
			Procedure: rpctest.Procedure(method),
			Kind:      kind,
			Serve: func(ctx context.Context, c *connectserve.Call) error {
				return b.Serve(method, stream{c, ctx})
			},
		}, connectserve.Options{Logger: slog.New(slog.DiscardHandler)}))
	}
	return mux
}

// TestSuite holds this server to what callers expect of every other one. It is
// about gRPC: a stream of requests takes HTTP/2 here, and callers of the other
// protocols need none for it.
func TestSuite(t *testing.T) {
	t.Parallel()
	rpctest.Run(t, func(t *testing.T) (rpc.Caller, *rpctest.Backend) {
		listener := rpctest.Listen(t, "tcp", "127.0.0.1:0")
		b := rpctest.NewBackend()
		b.Kill = listener.Kill
		rpctest.ServeHTTP(t, listener, handler(b), nil)
		u, err := upstreamurl.Parse("grpc://" + listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		caller, err := connectcall.Dial(u, connectcall.WithMaxReceiveBytes(rpctest.MaxReceive))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = caller.Close() })
		return caller, b
	}, rpctest.Options{})
}
