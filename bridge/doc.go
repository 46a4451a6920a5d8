// Package bridge makes any gRPC, gRPC-Web or Connect service an MCP server:
// its methods become tools, over stdio and Streamable HTTP, in every
// revision of MCP.
//
// [New] makes a [Bridge] of one or more upstreams. A Bridge is a
// [protocol.Handler]: hand it to a front, such as those of the packages
// protocol/streamable and protocol/stdio, or put it into a Mux beside others, with
// a guard before it (package mux). For a service in the same process no network is
// involved: see [InProcess] and package grpcgo. Package gateway runs a whole server
// of a configuration.
//
// An [Upstream] (upstream.go) has a [Source] of descriptors (source.go) and a Caller,
// which [Connect] makes (dial.go) or another package. New (bridge.go) gives both to
// the engine, in bridge/internal, together with what the options say (options.go). The other way, [GRPCHandler] (grpc.go) serves any Handler as RPC
// services, one of which may have an RPC for each tool (typed.go, or as files:
// export.go), and [GRPCClient] (grpc_client.go) and [TunnelClient] (tunnel_client.go)
// are MCP servers behind RPCs, which get headers of their callers by forward.go.
package bridge
