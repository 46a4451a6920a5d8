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
//
// The codec reads and writes all JSON here. It does not turn the messages of the
// service into JSON by themselves, although options of mcp.json.v1 could be supplied
// beside their descriptors: these would say how parts of messages look, such as a
// reference or an argument, but of no response what matters.
//
//   - The codec refuses JSON that does not fit, and one odd value must not cost a
//     list of a thousand tools. Messages of mcp.v1 keep such values, and members that
//     nobody knows, in a field, and the mapping leaves that out.
//   - The service nests otherwise: content stands in messages as fields of their own,
//     a completion and a form have no object around them, a call has one.
//   - It has other values: durations, unsigned and smaller numbers, floats, and flags
//     without presence where MCP has a default of true. They are clamped, rounded and
//     filled in.
//   - A piece of content is no oneof: it can have several fields set, or none, and
//     becomes as many pieces in MCP.
//
// So value.go, copy.go and rules.go work between two messages, on values that the
// codec has already checked.
package googlemcp
