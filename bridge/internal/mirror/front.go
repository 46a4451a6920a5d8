package mirror

import (
	"context"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectserve"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/health"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/tunnel"
	"github.com/mcp-bridge/mcp-bridge/internal/front"
	"github.com/mcp-bridge/mcp-bridge/internal/guard"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Config configures a Front.
type Config struct {
	// Handler answers the requests.
	Handler protocol.Handler
	// Logger gets what goes wrong.
	Logger *slog.Logger
	// MaxMessageBytes bounds a request.
	MaxMessageBytes int
	// Policy says which web pages may call, and by which host names.
	Policy guard.Policy
}

// Front is McpService in front of a Handler, with what is served beside it.
type Front struct {
	cfg    Config
	core   front.Core
	fixed  []Service               // known before the first request
	other  map[string]http.Handler // reflection, by paths
	table  atomic.Pointer[table]
	health *health.Server

	setting sync.Mutex // one Set at a time

	ctx    context.Context //nolint:containedctx // ends the tunnels
	cancel context.CancelFunc
	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup // tunnels
}

// New returns a Front. Close it to end its tunnels.
func New(cfg Config) (*Front, error) {
	if err := cfg.Policy.Validate(); err != nil {
		return nil, err
	}
	f := &Front{cfg: cfg, core: front.Core{Handler: cfg.Handler, Log: cfg.Logger}, other: make(map[string]http.Handler)}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	compilers := newCompilers(func(text string) { cfg.Logger.Warn("requests are not checked in full", "reason", text) })
	methods, err := compilers.methods()
	if err != nil {
		return nil, err
	}
	options := connectserve.Options{MaxMessageBytes: cfg.MaxMessageBytes, Logger: cfg.Logger}
	mux := http.NewServeMux()
	for _, m := range methods {
		mux.Handle(m.procedure, connectserve.Handler(&connectserve.Method{
			Procedure: m.procedure, Kind: m.kind, Types: m.types,
			Serve: func(ctx context.Context, c *connectserve.Call) error { return f.serve(ctx, m, c) },
		}, options))
	}
	tunnels := tunnel.Method(f.tunnel)
	tunnels.Types = compilers.json.Types(service().Methods().ByName("Tunnel"))
	mux.Handle(tunnels.Procedure, connectserve.Handler(tunnels, options))
	if f.health, err = health.New(options); err != nil {
		return nil, err
	}
	if err := f.Add(Service{Name: health.ServiceName, Handler: f.health, Files: f.health.Files, quiet: true}); err != nil {
		return nil, err
	}
	if err := f.Add(Service{Name: ServiceName, Handler: mux}); err != nil {
		return nil, err
	}
	reflector := f.newReflector()
	for _, h := range []func(*grpcreflect.Reflector, ...connect.HandlerOption) (string, http.Handler){grpcreflect.NewHandlerV1, grpcreflect.NewHandlerV1Alpha} {
		path, reflection := h(reflector)
		f.other[path] = f.guard(reflection)
	}
	return f, f.Set()
}

// Mount adds the services that there are now, their reflection and health to a mux.
func (f *Front) Mount(mux *http.ServeMux) {
	for path, h := range f.table.Load().routes {
		mux.Handle(path, h)
	}
}

// Handler returns what serves an RPC by its path, which is that of a service that
// there is now, and nil for any other path.
func (f *Front) Handler(path string) http.Handler {
	if len(path) == 0 {
		return nil
	}
	service, _, ok := strings.Cut(path[1:], "/")
	if !ok {
		return nil
	}
	return f.table.Load().routes[path[:len(service)+2]]
}

// Drain says to health checks that nothing is served any more. Calls go on.
func (f *Front) Drain() { f.health.Drain() }

// Close ends the tunnels and waits for them, and says to health checks that
// nothing is served any more. Calls end with their requests.
func (f *Front) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.cancel()
	f.health.Close()
	f.wg.Wait()
}

// guard refuses the requests of web pages that are not allowed to call. A GET
// tells of no origin. gRPC itself cannot be spoken by a page, so it may name any
// host.
func (f *Front) guard(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "use POST", http.StatusMethodNotAllowed)
			return
		}
		if !isGRPC(r) || r.Header.Get("Origin") != "" {
			if reason := f.cfg.Policy.Refuse(r); reason != "" {
				http.Error(w, reason, http.StatusForbidden)
				return
			}
		}
		h.ServeHTTP(w, r)
	})
}

// isGRPC reports whether a request is one of gRPC, not gRPC-Web.
func isGRPC(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && r.ProtoMajor >= 2 && (kind == "application/grpc" || kind == "application/grpc+proto")
}
