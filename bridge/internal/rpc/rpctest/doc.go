// Package rpctest holds the implementations of [rpc.Caller] to one behaviour:
// [Run] runs the same table of calls against each of them. The calls are
// answered by a [Backend], which tests serve with connect-go (see
// [Backend.Handler]) or with grpc-go (see package grpcserver), over real
// sockets.
package rpctest
