// Package status maps gRPC statuses to MCP.
//
// What a model can act on, or at least tell its user, is a result with
// isError; only where the client itself must act, by getting a new token, is
// it an error. [Result] is that table. [Arguments] does the same for faults
// that were found before the call.
//
// A result has a readable text first, then as compact JSON the details that have
// no readable form, and in its _meta, under [MetaKey], the status as wire bytes,
// so that another bridge restores it bit for bit.
//
// What is for the people who run the service is left out of all three: DebugInfo,
// which holds stack traces, and of statuses that are faults of the service or of
// the way to it, stack traces and addresses in the message, and what is beyond
// [MaxInternalMessage] bytes. The message of a failure to reach the service, which
// is made here, is left out too. [ForOperators] has all of that for the log. Every
// other status is exact.
//
// A status of an RPC passes through status.go, whose words are in text.go. tool.go and
// jsonrpc.go lead the other way, from results of tools and errors of MCP to statuses;
// said.go reads what a tool says of its failure. request.go has the statuses of
// requests that do not fit.
package status
