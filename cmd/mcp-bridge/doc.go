// Command mcp-bridge makes a gRPC, gRPC-Web or Connect service an MCP server.
//
//	mcp-bridge demo                          a service to try it with
//	mcp-bridge serve grpc://localhost:50051  MCP over Streamable HTTP
//	mcp-bridge stdio grpc://localhost:50051  MCP over standard input and output
//	mcp-bridge tools grpc://localhost:50051  what the tools are
//	mcp-bridge call grpc://localhost:50051 Library_GetBook '{"name": "shelves/1/books/2"}'
//
// It is a thin layer over package gateway: a file for each subcommand.
//
// root.go finds the subcommand, such as serve.go or call.go. Its arguments are
// upstreams (target.go), and its flags (flags.go, scoped.go, header.go, env.go,
// http.go) say more of them; spec.go checks that each flag fits an upstream. open.go
// makes a configuration of these, or takes that of a file, and a gateway of it. The
// subcommand serves that gateway, or asks it by client.go. What it prints is laid
// out by style.go; an error gets its hints and exit code in errors.go, and names
// that may have been meant in suggest.go.
package main
