// Package mirror serves what answers MCP as mcp.v1.McpService, to clients of
// gRPC, gRPC-Web and Connect, and asks what implements that service.
//
// The JSON of MCP and the messages of mcp.v1 are turned into each other by
// package transcode, as the options in the .proto files say; there is no code
// for a single type here.
//
// The RPCs, and the codecs of their messages, come from the descriptor (methods.go). A
// request to the service finds its handler (front.go), beside typed services and
// health checks that come and go (services.go), and is answered as one of MCP
// (serve.go); a tunnel carries JSON-RPC in its messages (tunnel.go). The other way, a
// request of MCP becomes an RPC (client.go). Errors become statuses, and statuses
// errors (errors.go).
package mirror
