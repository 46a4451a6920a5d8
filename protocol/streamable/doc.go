// Package streamable serves MCP over Streamable HTTP on one endpoint, all
// revisions that have it: requests of 2026-07-28 are answered each by itself
// (basic/transports/streamable-http), those of 2025-03-26 to 2025-11-25 in
// sessions, with a GET stream and resumable event streams
// (2025-11-25 basic/transports). [Handler] is the server's side, [Client] asks
// a server.
//
// On the server's side a POST enters in handler.go, which checks where it comes
// from, reads its body and decides on its era. Messages of modern clients go
// through modern.go: headers are compared with the body, in param.go also those
// that mirror arguments of tools, then the front's core answers, and a writer
// turns the answer into one JSON object or an event stream. Messages of legacy
// clients go through legacy.go to a session (session.go) that must be the
// caller's own; its calls run on the goroutines of workers.go and write into
// streams (stream.go), from which connections read, and which account.go counts
// by caller. On the client's side a request goes from client.go through the
// adapter of the server's era to client_conn.go, which posts it, and the answer
// comes back through client_stream.go where it is an event stream.
package streamable
