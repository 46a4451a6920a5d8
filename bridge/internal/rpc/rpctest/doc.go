// Package rpctest holds the implementations of [rpc.Caller] to one behaviour:
// [Run] runs the same table of calls against each of them. The calls are
// answered by a [Backend], which tests serve with connect-go (see
// [Backend.Handler]) or with grpc-go (see package grpcserver), over real
// sockets.
//
// suite.go has the table, and suite_context.go the cases about deadlines and
// cancelled calls. backend.go answers each call as its request says, and connect.go
// serves that; server.go has listeners that break, and tls.go certificates. What
// happens before there is a call, network.go tests.
package rpctest
