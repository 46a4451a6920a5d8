package tunnel

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectserve"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/tunnel"
)

// ServerConfig configures [NewHandler]. The zero value of every field but
// Server means its default.
type ServerConfig struct {
	// Server returns the server for a tunnel that a client opens with these
	// headers, or nil to refuse it. Several tunnels may share one server.
	Server func(header http.Header) *mcp.Server
	// Logger gets what goes wrong. The default discards.
	Logger *slog.Logger
	// MaxMessageBytes bounds one message. The default is
	// [DefaultMaxMessageBytes].
	MaxMessageBytes int
}

// NewHandler returns an HTTP handler that serves SDK servers, and its path. It
// speaks gRPC and Connect, over HTTP/2: a plaintext [http.Server] needs
// Protocols with unencrypted HTTP/2. A tunnel ends with its client, and where
// the server's session ends.
func NewHandler(cfg ServerConfig) (path string, h http.Handler, err error) {
	if cfg.Server == nil {
		return "", nil, errors.New("tunnel: ServerConfig.Server is nil")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxMessageBytes <= 0 {
		cfg.MaxMessageBytes = DefaultMaxMessageBytes
	}
	serve := func(ctx context.Context, s *tunnel.ServerStream, c *connectserve.Call) error {
		defer s.Close()
		server := cfg.Server(c.Header)
		if server == nil {
			return fault.New(code.Code_PERMISSION_DENIED, nil, "there is no MCP server for this client")
		}
		session, err := server.Connect(ctx, transport{s}, nil)
		if err != nil {
			return err
		}
		defer context.AfterFunc(ctx, func() { _ = session.Close() })() // nobody is left to tell
		if err := session.Wait(); err != nil && ctx.Err() == nil {
			cfg.Logger.DebugContext(ctx, "a tunnel has ended", "error", err)
		}
		return nil
	}
	return tunnel.Procedure, connectserve.Handler(tunnel.Method(serve), connectserve.Options{
		MaxMessageBytes: cfg.MaxMessageBytes, Logger: cfg.Logger,
	}), nil
}

// transport is one stream as a transport.
type transport struct{ stream *tunnel.ServerStream }

// Connect returns the stream.
func (t transport) Connect(context.Context) (mcp.Connection, error) {
	return newConnection(t.stream), nil
}
