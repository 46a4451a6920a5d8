// Package backend turns one method of a gRPC or Connect service into one tool
// call: JSON arguments in, a CallToolResult out.
//
// A [Plan] is made of a method once (plan.go) and says what schemas its tool has
// (shape.go). [Plan.Call] takes the limits out of the arguments (limits.go), turns
// the rest into request messages by package transcode, checks them by package
// validate (requests.go), and hands the wire bytes to the Caller. One response
// becomes structured content (plan.go), or, where that is what it is, content
// (httpbody.go) or a tool's result as it stands (tool.go); a stream is collected up
// to the limits (stream.go). A status other than OK becomes a result by package
// status. [Operations] does the same for methods that start a long-running operation
// (operation.go, operation_progress.go), [Plan.Read] and [Plan.Follow] serve
// resources, prompts and completions (read.go), and [Plan.Canonical] says what a
// call would send (canonical.go).
package backend
