// Package eraclient makes a [protocol.Handler] of a connection to an MCP server,
// whatever revision the server speaks, for callers that speak the modern shape.
//
// [Client] (client.go) finds out by server/discover which era the server is of,
// remembers it, and hands each request to one of two halves. In modern.go a
// request stands alone: headers.go knows which of its parameters go into HTTP
// headers, execution.go which tools can be tasks. The other half is legacy.go: it
// picks or opens the session (session.go) of the caller, who shares it with
// nobody. Requests that cannot be asked back about pass through request.go. Others
// are a call (call.go), which goes on while its caller comes and goes: dispatch.go
// finds the call that a request of the server belongs to, park.go leaves the call
// to wait until the caller's retry brings the answers, and forward.go passes
// notifications on, and outside.go those of no call. listen.go turns what the server announces in its session into
// subscriptions. Tasks of 2025-11-25 become those of the extension: tasktools.go
// decides which calls become tasks, taskcall.go makes such calls, tasks.go and
// task.go answer requests about them, related.go finds who is asked for the sake
// of one, and taskwatch.go follows them for a subscription.
package eraclient
