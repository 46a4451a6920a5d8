// Package connectcall performs RPCs with connect-go, in any of its three
// protocols: Connect, gRPC-Web and gRPC. It links no grpc-go.
//
// [Dial] calls the upstream at a URL, [New] calls through an HTTP client of
// the user's, and [InProcess] makes one of an [http.Handler] in this process.
// Messages pass through as wire bytes; no message type needs to be linked in.
package connectcall
