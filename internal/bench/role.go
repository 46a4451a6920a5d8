package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"runtime"
	"strconv"
	"time"

	"google.golang.org/grpc"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/grpcgo"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// roleEnv makes this program one of the processes that are measured. They
// listen on a free port of the loopback address, say on their first line of
// output where, and end with SIGTERM.
const roleEnv = "MCP_BRIDGE_BENCH_ROLE"

// Roles.
const (
	roleBackend = "backend" // the gRPC server that is called
	roleCatalog = "catalog" // METHODS: a gRPC server with reflection for many methods
	roleFloor   = "floor"   // BACKEND: the hand-written bridge
	roleLibrary = "library" // BACKEND: the bridge as a library, with profiles
	roleServer  = "server"  // an MCP server
	roleProxy   = "proxy"   // SERVER: a proxy of JSON-RPC
)

// play plays a role until ctx ends.
func play(ctx context.Context, args []string, out io.Writer) error {
	role := os.Getenv(roleEnv)
	if alone := role == roleBackend || role == roleServer; alone == (len(args) == 1) {
		return fmt.Errorf("role %q with arguments %q", role, args)
	}
	switch role {
	case roleBackend:
		return serveGRPC(ctx, newBackend(), out)
	case roleCatalog:
		methods, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		s, err := newCatalogServer(methods)
		if err != nil {
			return err
		}
		return serveGRPC(ctx, s, out)
	case roleFloor:
		return serveHTTP(ctx, newFloor(args[0]), out)
	case roleServer:
		s, err := newServer()
		if err != nil {
			return err
		}
		defer s.Close()
		return serveHTTP(ctx, s, out)
	case roleProxy:
		return serveHTTP(ctx, newProxy(args[0]), out)
	case roleLibrary:
		return serveLibrary(ctx, args[0], out)
	default:
		return fmt.Errorf("there is no role %q", role)
	}
}

func listen(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(ctx, "tcp", "127.0.0.1:0")
}

func serveGRPC(ctx context.Context, s *grpc.Server, out io.Writer) error {
	l, err := listen(ctx)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, s.Stop)()
	fmt.Fprintln(out, l.Addr())
	return s.Serve(l)
}

const readHeaderTimeout = 10 * time.Second

// serveHTTP serves mcp on /mcp, beside what the harness wants to know.
func serveHTTP(ctx context.Context, mcp http.Handler, out io.Writer) error {
	l, err := listen(ctx)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", mcp)
	mux.HandleFunc("GET "+allocationsPath, serveAllocations)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.Handle("GET /debug/pprof/allocs", pprof.Handler("allocs"))
	s := &http.Server{Handler: mux, ReadHeaderTimeout: readHeaderTimeout}
	defer context.AfterFunc(ctx, func() { _ = s.Close() })() // there is nobody to tell
	fmt.Fprintf(out, "Listening on http://%s/mcp\n", l.Addr())
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// serveLibrary serves the bridge as programs use it that have it as a library.
func serveLibrary(ctx context.Context, backend string, out io.Writer) error {
	caller, err := grpcgo.Dial("grpc://" + backend)
	if err != nil {
		return err
	}
	defer func() { _ = caller.Close() }() // the process ends
	b, err := bridge.New(ctx, []bridge.Upstream{{Caller: caller}})
	if err != nil {
		return err
	}
	defer b.Close()
	// All sessions of the benchmark come from one address.
	handler, err := streamable.New(streamable.Config{Handler: b, MaxSessionsPerCaller: streamable.DefaultMaxSessions})
	if err != nil {
		return err
	}
	defer handler.Close()
	return serveHTTP(ctx, handler, out)
}

// allocationsPath is where a role says how much it has allocated.
const allocationsPath = "/allocations"

// allocations is what a process has allocated since it started, or for a call.
type allocations struct {
	Objects float64 `json:"objects"`
	Bytes   float64 `json:"bytes"`
}

func serveAllocations(w http.ResponseWriter, _ *http.Request) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	_ = json.NewEncoder(w).Encode(allocations{float64(m.Mallocs), float64(m.TotalAlloc)}) // the client is gone
}
