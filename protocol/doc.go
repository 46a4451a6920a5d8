// Package protocol is the seam between everything that speaks MCP to a
// client and everything that answers: a request, some notifications, one
// result.
//
// [Handler] is to MCP what http.Handler is to HTTP. A front (the packages
// stdio, streamable and httpsse below this one) reads JSON-RPC, builds a
// [Request] and writes what the Handler returns. An upstream implements
// Handler. Neither knows the other, so every front reaches every upstream.
//
// The shape is that of MCP revision 2026-07-28: no session, no request from
// server to client, change notifications as the notifications of a
// subscriptions/listen request. What older revisions have beyond that lives
// in packages eraserver and eraclient, at the edges.
//
// Parameters and results stay raw JSON until the one place that must read
// them, so members, methods and extensions that this package has never heard
// of pass unharmed.
//
// handler.go has the seam. What a front fills in of a request is who asks
// (principal.go) and what its _meta says (meta.go, read by meta_read.go, with the
// bound of timeout.go); method.go and revision.go say which methods there are.
// The owner of a name finds what the request is about (target.go) and asks a guard
// (guard.go). What comes back is a Result, which render.go writes for a revision, or
// an error: error.go has those of JSON-RPC, upstream.go the reasons why a server
// could not be asked. client.go is what clients of servers are configured by.
//
// Glossary, used throughout the module:
//
//   - front: speaks to clients. upstream: answers. backend: an upstream that
//     is a gRPC or Connect service.
//   - revision: a dated version of the MCP specification. legacy: a revision
//     that opens with initialize (up to 2025-11-25). modern: 2026-07-28 and
//     later.
//   - tool: what MCP calls a tool; here it stands for one RPC.
//   - transcode: turn a value from JSON into protobuf wire bytes or back.
package protocol
