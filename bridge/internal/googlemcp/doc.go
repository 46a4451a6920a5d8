// Package googlemcp speaks model_context_protocol.Mcp, the service that Google
// Cloud has published for MCP over gRPC. [Front] serves it in front of a
// [protocol.Handler]; [Client] is a backend that implements it.
//
// A request to the Front arrives as wire bytes (front.go). The messages of the
// service and those of mcp.v1 have the same shape but for names, numbers and a
// few types: mapping.go pairs their fields once, from a table, copy.go copies a
// message along those pairs, and rules.go has what a table cannot say. From
// mcp.v1 to the JSON of MCP it is the codec's work (codecs.go). The Handler's
// result comes back the same way. Four things are different in kind and have
// code of their own: input.go turns dependent requests and resume data into input
// requests and request state, rounds.go asks again where the service cannot,
// list.go drains pages, and errors.go writes the code of an error into a
// trailer. The Client (client.go) does all of this in the other direction, and
// discover.go finds out what a server can do.
//
// What the service has no field for is left out; docs/mirror.md lists it.
package googlemcp
