package bridge

import (
	"context"
	"io"

	"github.com/mcp-bridge/mcp-bridge/protocol/httpsse"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// HTTPHandler returns the MCP endpoint of b, Streamable HTTP in every revision
// that has it, to be mounted on one path. Handler and Logger of cfg are set
// from b where they are nil; the rest may be left zero. Close the endpoint
// after b.
func (b *Bridge) HTTPHandler(cfg streamable.Config) (*streamable.Handler, error) {
	if cfg.Handler == nil {
		cfg.Handler = b
	}
	if cfg.Logger == nil {
		cfg.Logger = b.cfg.log
	}
	return streamable.New(cfg)
}

// SSEHandler returns an endpoint of b for clients that know only the HTTP+SSE
// transport of revision 2024-11-05. Handler and Logger are set as in
// [Bridge.HTTPHandler].
func (b *Bridge) SSEHandler(cfg httpsse.Config) (*httpsse.Handler, error) {
	if cfg.Handler == nil {
		cfg.Handler = b
	}
	if cfg.Logger == nil {
		cfg.Logger = b.cfg.log
	}
	return httpsse.New(cfg)
}

// ServeStdio serves b on in and out, one JSON-RPC message a line, until in
// ends or ctx does. See [stdio.Serve].
func (b *Bridge) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return stdio.Serve(ctx, in, out, stdio.Config{Handler: b, Logger: b.cfg.log})
}
