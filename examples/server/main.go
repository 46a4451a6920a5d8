// Command server is an MCP server that speaks nothing but gRPC: it implements
// mcp.v1.McpService with connect-go, and mcp-bridge gives it stdio and
// Streamable HTTP.
//
//	go run ./examples/server
//	mcp-bridge serve mcp+grpc://127.0.0.1:9090
//
// It offers what the official conformance suite of MCP asks of a server, whence
// the names of its tools.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"connectrpc.com/grpcreflect"

	"github.com/mcp-bridge/mcp-bridge/gen/mcp/v1/mcpv1connect"
)

func main() {
	address := flag.String("listen", "127.0.0.1:9090", "the address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *address); err != nil {
		slog.Error("the server has ended", "error", err)
		os.Exit(1)
	}
}

// shutdownTimeout bounds how long calls may go on when the server is stopped.
const shutdownTimeout = 5 * time.Second

// run serves until ctx ends.
func run(ctx context.Context, address string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	s := newServer(ctx)
	defer s.close()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	web := &http.Server{
		Handler:           s.handler(),
		Protocols:         protocols,
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	done := make(chan error, 1)
	go func() { done <- web.Serve(listener) }()
	slog.Info("listening", "upstream", fmt.Sprintf("mcp+grpc://%s", listener.Addr()))
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	err = web.Shutdown(grace)
	if served := <-done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// handler serves McpService, and the reflection by which tools such as grpcurl
// find it.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(mcpv1connect.NewMcpServiceHandler(s))
	reflector := grpcreflect.NewStaticReflector(mcpv1connect.McpServiceName)
	mux.Handle(grpcreflect.NewHandlerV1(reflector))
	mux.Handle(grpcreflect.NewHandlerV1Alpha(reflector))
	return mux
}
