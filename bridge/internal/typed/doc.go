// Package typed turns what an MCP server offers into a typed protobuf service:
// an RPC for each tool, prompt and resource template, with messages made of
// their JSON Schemas.
//
// [New] makes a [Plan]: descriptors, from which both a .proto file and a service
// that is served without generated code are made, and the [Lock] that keeps
// names and numbers as they are when the server changes. Package transcode
// converts values by these descriptors, which say with the options of
// mcp.json.v1 where JSON is not ProtoJSON.
//
// No schema is refused. What protobuf cannot express is a
// google.protobuf.Value, or another type that takes more than the schema does;
// a schema that cannot be used at all makes a request of any object. The plan's
// warnings say so. Nothing is fetched.
//
// [New] reads the lists of a server and makes a [Plan] (build.go). A schema is
// flattened (merge.go), its alternatives are sorted out (alternatives.go) and
// infer.go finds the shape of its values, with the help of values.go. Messages,
// fields and enums are made of shapes (message.go, fields.go, enum.go), with rules
// of protovalidate (rules.go), comments (comment.go) and responses (wrapper.go).
// Names come from names.go and accessors.go, and they and all numbers from the
// [Lock] where it has them (lock.go, recover.go). A plan is rendered as a .proto
// file (render.go), compared with an earlier one (compare.go), or linked and served;
// then [Filler] adds what requests always have (fill.go).
package typed
