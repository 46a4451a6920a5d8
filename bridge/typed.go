package bridge

import (
	"context"
	"errors"
	"log/slog"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typedserve"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// TypedConfig configures a TypedService. The zero value of every field but
// Handler means its default.
type TypedConfig struct {
	// Handler answers the requests: the client of an MCP server, or a [Bridge].
	Handler protocol.Handler
	// Dir is the root of the .proto files that [ExportProto] has made of the
	// server, and that clients have. What the server offers beyond them has no
	// RPC. Without it, the service is always what the server offers at the time,
	// and numbers are made by hash: the same ones in every process, as far as they
	// do not collide.
	Dir string
	// Package is the protobuf package. The default is that of the export, or
	// mcp.gen.SERVER.v1.
	Package string
	// Name is what the service is called after. The default is what the server
	// calls itself.
	Name string
	// Logger gets what goes wrong, and what the types do not say of what the
	// server offers. The default discards.
	Logger *slog.Logger
	// MaxMessageBytes bounds a request. The default is
	// [DefaultGRPCMessageBytes].
	MaxMessageBytes int
}

// TypedService is what an MCP server offers as a service with an RPC for each
// tool, prompt and resource template. It is served by a [GRPCHandler], and
// follows the server when its lists change.
type TypedService struct{ server *typedserve.Server }

// NewTypedService asks the server for what it offers. An error of the server is
// returned as it is, wrapped; so is one of reading the export. The context bounds
// this only.
func NewTypedService(ctx context.Context, cfg TypedConfig) (*TypedService, error) {
	if cfg.Handler == nil {
		return nil, errors.New("bridge: TypedConfig.Handler is nil")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxMessageBytes <= 0 {
		cfg.MaxMessageBytes = DefaultGRPCMessageBytes
	}
	server, err := typedserve.New(ctx, typedserve.Config{
		Handler: cfg.Handler, Dir: cfg.Dir, Package: cfg.Package, Name: cfg.Name,
		Logger: cfg.Logger, MaxMessageBytes: cfg.MaxMessageBytes,
	})
	if err != nil {
		return nil, err
	}
	return &TypedService{server: server}, nil
}

// Name returns the full name of the service.
func (s *TypedService) Name() string { return string(s.server.Service()) }

// Close ends the subscription to changes of the server. Calls end with their
// requests.
func (s *TypedService) Close() { s.server.Close() }
