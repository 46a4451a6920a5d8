package mirror

import (
	"context"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectserve"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	internaltunnel "github.com/mcp-bridge/mcp-bridge/bridge/internal/tunnel"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/tunnel"
)

// tunnel serves a client of any revision, whose messages the stream carries.
func (f *Front) tunnel(ctx context.Context, s *internaltunnel.ServerStream, c *connectserve.Call) error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		s.Close()
		return fault.New(code.Code_UNAVAILABLE, nil, "the server is shutting down")
	}
	f.wg.Add(1)
	f.mu.Unlock()
	defer f.wg.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(f.ctx, cancel)()
	err := tunnel.Serve(ctx, s, tunnel.Config{
		Handler: f.cfg.Handler, Logger: f.cfg.Logger, MaxMessageBytes: f.cfg.MaxMessageBytes,
		Caller: protocol.NewCaller(ctx, "tunnel", c.Header, c.RemoteAddr),
	})
	if f.ctx.Err() != nil {
		return fault.New(code.Code_UNAVAILABLE, nil, "the server is shutting down")
	}
	return err
}
