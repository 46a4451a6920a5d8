// Package demo is a small lending library, library.v1.Library, kept in memory:
// the backend that tests, examples and the README put behind the bridge. Its
// API uses one of everything that the bridge translates, and fails in the ways
// in which real services fail.
//
// [New] makes a library that always holds the same books. [Handler] serves it
// over Connect, gRPC and gRPC-Web; package demogrpc serves it by grpc-go.
//
// handler.go checks a request by its rules and calls the method. library.go has the
// books, which seed.go makes and cover.go draws, and the methods that read, create,
// update and delete one; update.go says what an update may change. list.go,
// search.go and loan.go have the other methods. Each change passes through put or
// remove in library.go, which keep the index of search.go up to date and tell
// watch.go. fault.go makes the errors, and descriptors.go has the descriptors with
// their comments.
package demo
