package demo

import (
	"net/http"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	"connectrpc.com/validate"

	"github.com/mcp-bridge/mcp-bridge/gen/library/v1/libraryv1connect"
)

// maxRequestBytes bounds a request; the largest one that the rules of the API
// accept is far smaller.
const maxRequestBytes = 1 << 20

// Handler serves a library over Connect, gRPC and gRPC-Web, together with
// server reflection, v1 and v1alpha. gRPC needs HTTP/2: let the server speak it
// without TLS by setting UnencryptedHTTP2 in [http.Server.Protocols].
func Handler(l *Library) http.Handler {
	opts := []connect.HandlerOption{
		connect.WithInterceptors(validate.NewInterceptor()),
		connect.WithReadMaxBytes(maxRequestBytes),
	}
	reflector := grpcreflect.NewReflector(
		grpcreflect.NamerFunc(func() []string { return []string{libraryv1connect.LibraryName} }),
		grpcreflect.WithDescriptorResolver(Descriptors()),
	)
	mux := http.NewServeMux()
	mux.Handle(libraryv1connect.NewLibraryHandler(l, opts...))
	mux.Handle(grpcreflect.NewHandlerV1(reflector))
	mux.Handle(grpcreflect.NewHandlerV1Alpha(reflector))
	return mux
}
