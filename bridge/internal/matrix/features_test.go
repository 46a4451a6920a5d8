package matrix

import (
	"context"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/internal/ways"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// outcome is what comes of a feature between a client and a server.
type outcome string

const (
	works  outcome = "works"
	atOnce outcome = "the result at once"
	asText outcome = "as text"
	// unknown is the error for a method that nobody knows.
	unknown outcome = "error -32601"
	// The client cannot be asked, and the server has not done so: -32021, for
	// which revisions before 2026-07-28 have no code of their own.
	refused      outcome = "-32021"
	refusedOlder outcome = "-32602, `data.code` is -32021"
	// The server has asked, and heard that the client cannot be asked. What it
	// makes of that is its own.
	refusedAsked outcome = "what it makes of -32601 or -32602, where it asks"
)

// attempt tries a feature by a client of the bridge in front of a fixture. Its
// error is for what is not to come of any feature.
type attempt func(ctx context.Context, c protocol.Handler, f *fixture) (outcome, error)

// feature is something that client and server do with each other.
type feature struct {
	name string
	// since is the first revision that has it, on either side, or nothing
	// where all have.
	since protocol.Revision
	// expected is what comes of it. It always works where there is none.
	expected func(client, server ways.Way) outcome
	// why is for people: what comes of it otherwise.
	why string
	try attempt
}

var features = []feature{
	{name: "lists and their pages", try: all(
		asks(protocol.MethodListTools, `{}`, `"name":"echo"`),
		asks(protocol.MethodListTools, `{"cursor":"2"}`, `"name":"last"`))},
	{name: "calls", try: asks(protocol.MethodCallTool, `{"name":"echo","arguments":{"text":"hé","n":9007199254740993}}`,
		`{\"text\":\"hé\",\"n\":9007199254740993}`)},
	{name: "progress", try: tryProgress},
	{name: "log messages", try: tryLog},
	{name: "cancellation", try: tryCancel},
	{name: "errors", try: all(tryError, tryMissing)},
	{name: "elicitation by form", since: protocol.Revision20250618, expected: asked(protocol.Revision20250618), try: tryQuestion("form"),
		why: "an error; [which one](#errors)"},
	{name: "elicitation by URL", since: protocol.Revision20251125, expected: asked(protocol.Revision20251125), try: tryQuestion("url"),
		why: "an error"},
	{name: "sampling", try: tryQuestion("sample")},
	{name: "sampling with tools", since: protocol.Revision20251125, expected: asked(protocol.Revision20251125), try: tryQuestion("sample_tools"),
		why: "an error"},
	{name: "roots", try: tryQuestion("roots")},
	{name: "resources and templates", try: all(
		asks(protocol.MethodListResources, `{}`, `"uri":"`+resourceURI+`"`),
		asks(protocol.MethodListTemplates, `{}`, `"uriTemplate":"test://notes/{id}"`),
		asks(protocol.MethodReadResource, `{"uri":"`+resourceURI+`"}`, `"text":"the text"`))},
	{name: "subscriptions to resources", try: tryListen(
		`{"resourceSubscriptions":["`+resourceURI+`"]}`, protocol.NotificationResourceUpdated, `{"uri":"`+resourceURI+`"}`,
		func(l *listener) bool { return l.uris[resourceURI] })},
	{name: "changes of lists", try: tryListen(
		`{"toolsListChanged":true}`, protocol.NotificationToolsChanged, ``, func(l *listener) bool { return l.tools })},
	{name: "prompts", try: all(
		asks(protocol.MethodListPrompts, `{}`, `"name":"greet"`),
		asks(protocol.MethodGetPrompt, `{"name":"greet","arguments":{"who":"Ann"}}`, `"text":"Greet them."`))},
	{name: "completion", try: asks(protocol.MethodComplete,
		`{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"A"}}`, `"values":["Ann"]`)},
	{name: "structured content that is no object", since: protocol.Revision20260728, expected: since(protocol.Revision20260728, asText), try: tryStructured,
		why: "text only; a schema for it is left out of the list of tools"},
	{name: "tasks", since: protocol.Revision20251125, expected: since(protocol.Revision20251125, atOnce), try: tryTask,
		why: "no task: the call lasts until it is done"},
	{name: "members, content and `_meta` that MCP does not define", try: tryStrange},
	{name: "methods that MCP does not define", expected: jsonRPC, try: asks("example.com/method", `{"a":[1.0]}`, `"params":{"a":[1.0]}`),
		why: "mcp.v1.McpService has one RPC for each method"},
	{name: "a question to a client without the capability", expected: unasked, try: tryUnasked},
}

// since returns what is expected of a feature of a revision and later ones.
func since(r protocol.Revision, without outcome) func(client, server ways.Way) outcome {
	return func(client, server ways.Way) outcome {
		if min(client.Revision, server.Revision) < string(r) {
			return without
		}
		return works
	}
}

// asked returns what is expected of a question that is of a revision.
func asked(r protocol.Revision) func(client, server ways.Way) outcome {
	return func(client, server ways.Way) outcome {
		if min(client.Revision, server.Revision) < string(r) {
			return refusal(r, client, server)
		}
		return works
	}
}

// unasked is what is expected of a question that the client cannot answer.
func unasked(client, server ways.Way) outcome {
	return refusal(protocol.Revision20250618, client, server)
}

// refusal is the error for a question of a revision that cannot be put.
func refusal(r protocol.Revision, client, server ways.Way) outcome {
	switch {
	case server.Revision < string(r): // it cannot ask
		return refusedOlder
	case shared(server), shared(client) && client.Revision >= string(r):
		return refusedAsked
	case client.Revision == ways.Modern && server.Revision == ways.Modern:
		return refused
	default:
		return refusedOlder
	}
}

// shared reports whether all callers of a server share one session, which has
// the capabilities of all of them.
func shared(w ways.Way) bool {
	return w.Revision != ways.Modern && w.Revision != ways.All && (w.Transport == ways.Stdio || w.Transport == tunnels)
}

// jsonRPC is what is expected of what only JSON-RPC can say.
func jsonRPC(client, server ways.Way) outcome {
	if schemes[client.Transport] != "" || schemes[server.Transport] != "" {
		return unknown
	}
	return works
}

// isQuestion reports whether a feature is a question of the server.
func (f *feature) isQuestion() bool {
	for _, name := range []string{"elicitation", "sampling", "roots", "a question"} {
		if strings.HasPrefix(f.name, name) {
			return true
		}
	}
	return false
}

// want is what is expected of a feature.
func (f *feature) want(client, server ways.Way) outcome {
	if f.expected == nil {
		return works
	}
	return f.expected(client, server)
}
