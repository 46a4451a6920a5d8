package bridge

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/googlemcp"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/mirror"
	"github.com/mcp-bridge/mcp-bridge/internal/guard"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// DefaultGRPCMessageBytes bounds a request of a [GRPCHandler].
const DefaultGRPCMessageBytes = 4 << 20

// GRPCConfig configures a GRPCHandler. The zero value of every field but Handler
// means its default.
type GRPCConfig struct {
	// Handler answers the requests: a [Bridge], or the client of an MCP server.
	Handler protocol.Handler
	// Endpoint returns the Handler of an endpoint, which callers of McpService,
	// Google's service and Tunnel choose by the metadata [EndpointHeader], and
	// false if there is none of that name. Without it there are no endpoints.
	Endpoint func(name string) (protocol.Handler, bool)
	// Logger gets what goes wrong. The default discards.
	Logger *slog.Logger
	// MaxMessageBytes bounds a request.
	MaxMessageBytes int
	// AllowedOrigins are the values of the Origin header that browsers may
	// send, such as "https://app.example.com", beside those of loopback hosts
	// and of the very host that is called; "*" allows any.
	AllowedOrigins []string
	// AllowedHosts are the host names that requests of gRPC-Web and Connect may
	// be addressed to, beside loopback ones; "*" allows any. By default,
	// connections on a loopback address need a loopback name, and others may
	// name any. gRPC, which no web page can speak, may always name any.
	AllowedHosts []string
	// Typed are served beside McpService. Whoever has made them closes them.
	Typed []*TypedService
}

// GRPCHandler serves what answers MCP as mcp.v1.McpService, and as Google's
// model_context_protocol.Mcp, over gRPC, gRPC-Web and Connect, with server
// reflection and health checks (grpc.health.v1). gRPC needs HTTP/2: see
// [http.Server.Protocols].
type GRPCHandler struct{ front *mirror.Front }

// NewGRPCHandler returns a GRPCHandler.
func NewGRPCHandler(cfg GRPCConfig) (*GRPCHandler, error) {
	if cfg.Handler == nil {
		return nil, errors.New("bridge: GRPCConfig.Handler is nil")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxMessageBytes <= 0 {
		cfg.MaxMessageBytes = DefaultGRPCMessageBytes
	}
	cfg.Handler = endpoints{all: cfg.Handler, lookup: cfg.Endpoint}
	front, err := mirror.New(mirror.Config{
		Handler: cfg.Handler, Logger: cfg.Logger, MaxMessageBytes: cfg.MaxMessageBytes,
		Policy: guard.Policy{Origins: cfg.AllowedOrigins, Hosts: cfg.AllowedHosts},
	})
	if err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	google, err := googlemcp.NewFront(googlemcp.FrontConfig{Handler: cfg.Handler, Logger: cfg.Logger, MaxMessageBytes: cfg.MaxMessageBytes})
	if err != nil {
		return nil, err
	}
	if err := front.Add(mirror.Service{Name: googlemcp.ServiceName, Handler: google}); err != nil {
		return nil, err
	}
	h := &GRPCHandler{front: front}
	if err := h.SetTyped(cfg.Typed...); err != nil {
		front.Close()
		return nil, err
	}
	return h, nil
}

// SetTyped replaces the typed services. Calls and streams under way go on, of typed
// services that are not served any more, too. It is an error if two of them have one
// name; then nothing changes.
func (h *GRPCHandler) SetTyped(typed ...*TypedService) error {
	services := make([]mirror.Service, len(typed))
	for i, t := range typed {
		services[i] = mirror.Service{Name: t.server.Service(), Handler: t.server, Files: t.server.Files}
	}
	if err := h.front.Set(services...); err != nil {
		return fmt.Errorf("bridge: %w", err)
	}
	return nil
}

// Mount adds the paths of the services to a mux: those of the typed services that
// there are now. Use [GRPCHandler.Handler] if they change.
func (h *GRPCHandler) Mount(mux *http.ServeMux) { h.front.Mount(mux) }

// Handler returns what serves the RPC with a path, such as
// "/mcp.v1.McpService/CallTool", or nil if the path is none of a service.
func (h *GRPCHandler) Handler(path string) http.Handler { return h.front.Handler(path) }

// Drain says to health checks that nothing is served any more, so that load
// balancers send no more calls here. Those that come all the same are answered,
// until Close.
func (h *GRPCHandler) Drain() { h.front.Drain() }

// Close ends the streams of Tunnel and of health checks and waits for them;
// health is NOT_SERVING from then on. Other calls end with their requests: shut
// the HTTP server down.
func (h *GRPCHandler) Close() { h.front.Close() }
