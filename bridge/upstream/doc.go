// Package upstream opens whatever a gateway stands in front of: APIs over gRPC,
// gRPC-Web and Connect, and MCP servers over every transport. It is the only
// package of the library that links all of them, grpc-go included.
//
// [Check] finds what is wrong with the configuration of an upstream without
// asking it. [Open] connects. An API must answer, because its tools are made of
// its descriptors; an MCP server is asked who it is. What Open returns, an [API]
// or an [MCP], answers requests until it is closed.
//
// A faulty configuration is a [*ConfigError], and no other attempt will do.
// Any other error says that the upstream is not there at the moment.
//
// A spec becomes an upstream in these files: spec.go reads the spec into a plan,
// with every fault at once; rpc.go, web.go and command.go open one kind each;
// principal.go has a process for each principal.
package upstream
