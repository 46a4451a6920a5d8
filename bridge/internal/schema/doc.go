// Package schema turns protobuf types into what a host reads of a tool: JSON
// Schema for its input and its output, and its name, title, description and
// annotations.
//
// [Input] and [Output] describe the JSON of a message, canonical ProtoJSON, in
// the portable profile: the small part of JSON Schema that every host
// accepts. The root is an object, there is no $ref, no $defs and no oneOf,
// messages are written in place, and every array has items. Because messages
// are written in place, size must be bounded: [Options] has a budget, and a
// schema above it loses comments first, then long enumerations, then its
// deepest messages, never its validity.
//
// [Names], [Title], [Description] and [Annotations] render the rest of a tool.
//
// Everything here is a pure function of descriptors: the same descriptors give
// the same bytes, in the order of declaration. All functions may be called
// concurrently. Descriptors are taken as hostile: depth, width, recursion and
// the length of comments and names cannot make the work or the result large.
//
// What a value (rather than a type) becomes is the business of package
// transcode. The two agree through [Wrapped].
//
// A message type becomes a tree (tree.go, message.go, types.go, names.go), with what
// options and facts say of each field (options.go, facts.go, enum.go) and the rules of
// protovalidate (rules.go and the files that begin with rules_, pattern.go). The tree
// is written as JSON (render.go, append.go, json.go), shortened until it fits
// (budget.go), or with references in the full profile (full.go). Around it go comments
// (comment.go, text.go, describe.go, title.go), the schemas of streams (stream.go) and
// of single types, and the annotations (tool.go).
package schema
