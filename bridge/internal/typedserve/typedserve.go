// Package typedserve serves what answers MCP as a typed service: an RPC for
// each tool, prompt and resource template, over gRPC, gRPC-Web and Connect,
// without generated code.
//
// What the messages are is up to package typed, how values become JSON to
// package transcode, what errors become to package status, and how RPCs are
// served to package connectserve. Here they are put together, again each time
// that the server's lists change.
package typedserve

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/export"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typed"
	"github.com/mcp-bridge/mcp-bridge/internal/front"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Config configures a Server.
type Config struct {
	// Handler answers MCP.
	Handler protocol.Handler
	// Dir is the root of the .proto files of an export, by which the service is
	// served. If it is empty, names and numbers are hashed, and the service is
	// always that of what the server offers at the time.
	Dir string
	// Package is the protobuf package. If it is empty, it is that of the export,
	// or made of the server's name.
	Package string
	// Name stands for the server's own name, if it is not empty.
	Name string
	// Logger gets what goes wrong.
	Logger *slog.Logger
	// MaxMessageBytes bounds a request.
	MaxMessageBytes int
}

// Server serves a typed service. It is an HTTP handler of the paths below
// "/package.Service/". Close must be called to release it.
type Server struct {
	cfg     Config
	core    front.Core
	name    string          // what the service is called after
	written *export.Written // by what the service is served, or nil
	service protoreflect.FullName

	mu     sync.Mutex // held to make a new snapshot
	listed typed.Server
	now    atomic.Pointer[snapshot]

	cancel context.CancelFunc
	wg     sync.WaitGroup
}

var _ http.Handler = (*Server)(nil)

// New asks for what there is to serve. It fails where that, or the export,
// cannot be had; ctx bounds this only.
func New(ctx context.Context, cfg Config) (*Server, error) {
	s := &Server{cfg: cfg, core: front.Core{Handler: cfg.Handler, Log: cfg.Logger}}
	server, err := export.List(ctx, protocol.HandlerFunc(s.core.Contain), nil)
	if err != nil {
		return nil, err
	}
	s.name = server.Name
	if cfg.Name != "" {
		s.name = cfg.Name
	}
	if cfg.Dir != "" {
		if s.written, err = export.Read(ctx, typed.FileName(s.name), export.Options{Dir: cfg.Dir, Package: cfg.Package}); err != nil {
			return nil, err
		}
	}
	if err := s.update(ctx, server); err != nil {
		return nil, err
	}
	now := s.now.Load()
	if s.written != nil && len(now.served) == 0 {
		return nil, fmt.Errorf("the export %s is of another server: it knows nothing of what this one offers", s.written.Path)
	}
	s.service = now.service
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	s.wg.Go(func() { s.watch(watching) })
	return s, nil
}

// Close ends the watching of the server's lists, and waits for that. Calls end
// with their requests.
func (s *Server) Close() {
	s.cancel()
	s.wg.Wait()
}

// Service returns the full name of the service.
func (s *Server) Service() protoreflect.FullName { return s.service }

// Files returns a resolver of the service's file as it is now, and of nothing
// else.
func (s *Server) Files() protodesc.Resolver { return s.now.Load().files }

// ServeHTTP serves an RPC.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h, ok := s.now.Load().handlers[r.URL.Path]; ok {
		h().ServeHTTP(w, r)
		return
	}
	s.unknown(r.URL.Path).ServeHTTP(w, r)
}

// update serves what the server offers now. Calls under way go on with what
// there was before.
func (s *Server) update(ctx context.Context, server typed.Server) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	server.Name = s.name
	next, err := s.newSnapshot(server)
	if err != nil {
		return err
	}
	before := s.now.Swap(next)
	for _, w := range next.warnings {
		if before == nil || !before.warned(w) {
			s.cfg.Logger.WarnContext(ctx, w)
		}
	}
	s.listed = server
	return nil
}

// refresh asks for what there is, and serves that if it is something else.
func (s *Server) refresh(ctx context.Context) error {
	server, err := export.List(ctx, protocol.HandlerFunc(s.core.Contain), nil)
	if err != nil {
		return err
	}
	server.Name = s.name
	if s.same(server) {
		return nil
	}
	if err := s.update(ctx, server); err != nil {
		return err
	}
	s.cfg.Logger.InfoContext(ctx, "the typed service has followed a change of the server")
	return nil
}
