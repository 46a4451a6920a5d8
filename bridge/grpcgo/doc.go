// Package grpcgo performs RPCs with grpc-go: the upstream to choose where its
// name resolution, client-side load balancing and connection management are
// wanted, or where a [grpc.Server] of the same process is to be bridged without
// a network hop.
//
// It is a package of its own so that programs which do without it do not link
// grpc-go. Start with [Dial] for a server elsewhere and with [Server] for one
// in this process. Messages pass through as wire bytes; no message type needs
// to be linked in.
package grpcgo
