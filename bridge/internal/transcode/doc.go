// Package transcode turns values between JSON and protobuf wire bytes: a
// model's arguments into a request message, a response message into a result.
//
// [New] compiles a [Codec] for one message type; [Codec.AppendWire] and
// [Codec.AppendJSON] convert, bytes in and bytes out.
//
// Output is canonical ProtoJSON without white space, the same bytes for the
// same message. Input is ProtoJSON and more lenient than that where the
// meaning is beyond doubt: enum names in any case and without their prefix,
// numbers and booleans in quotes, objects and arrays that a host has turned
// into strings, a single element where a list is expected, a oneof in an
// object of its own, durations such as "1h30m", field masks in snake_case.
// What is not understood is an error, never ignored.
//
// With [Options.Exact] none of that holds: input is then what output would be.
//
// Options of mcp.json.v1 make other JSON of a message than ProtoJSON. What they
// mean is said where they are declared. A message that is one value stands at
// the top as that value.
//
// Two rules make it stricter than ProtoJSON, because a model cannot see that
// its value was changed: a 64-bit integer above 2^53 that is written with a
// fraction or an exponent must be quoted, and a number that a closed enum
// does not define is refused.
//
// A message type whose JSON is no object, such as google.protobuf.Timestamp,
// cannot be the arguments or the structured result of a tool. At the top it
// stands in the member "value" of an object, both ways.
//
// What a type, rather than a value, becomes is the business of package
// schema.
//
// A [Compiler] makes a plan of each message type, once (plan.go), with what the
// options of mcp.json.v1 say of its JSON (json_options.go, shape.go). AppendWire
// walks the JSON with a cursor (cursor.go), and the reader appends wire bytes as it
// goes: members in read.go, values in read_scalar.go, read_map.go, read_union.go,
// read_time.go and read_wellknown.go. Where a value has several forms, attempt.go
// tries one after the other; read_exact.go has the rules of [Options.Exact]. What
// does not fit is collected in an error for a model (error.go), with what was
// expected (expect.go) and where a member belongs (misplaced.go). The paths of masks
// are checked against what a mask is of (masks.go). AppendJSON finds
// the fields in the wire bytes without decoding them (wire.go, wire_valid.go), and
// the writer appends JSON in the order of the plan (write.go and the files that
// begin with write_).
package transcode
