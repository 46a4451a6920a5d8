// Package connectcall performs RPCs with connect-go, in any of its three
// protocols: Connect, gRPC-Web and gRPC. It links no grpc-go.
//
// [Dial] calls the upstream at a URL, [New] calls through an HTTP client of
// the user's, and [InProcess] makes one of an [http.Handler] in this process.
// Messages pass through as wire bytes; no message type needs to be linked in.
//
// dial.go and options.go make a Caller. A call passes these files: caller.go checks
// it, notes it in an exchange that its context carries, and hands it to connect-go by
// its kind; stream.go does so for streams whose two sides take turns. codec.go lets
// connect-go take bytes for messages. Below connect-go, client.go gives the request
// the path, the header and the metadata of the call, and keeps in the exchange what
// comes back. It asks a network, or inprocess.go, which runs a handler. When connect-go
// reports an error, status.go makes a status of it and of what the exchange has kept.
package connectcall
