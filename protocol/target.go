package protocol

import (
	"context"
	"encoding/json"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// TargetKind is the kind of thing that a request is about.
type TargetKind string

// The kinds of targets.
const (
	TargetTool       TargetKind = "tool"
	TargetPrompt     TargetKind = "prompt"
	TargetResource   TargetKind = "resource"
	TargetTemplate   TargetKind = "template"
	TargetCompletion TargetKind = "completion"
	TargetTask       TargetKind = "task"
)

// Target is what a request is about, by whatever name and in whatever spelling
// the client asked for it. Whoever owns the names makes it, once.
type Target struct {
	// Upstream is the name of the upstream that answers.
	Upstream string
	// Kind is the kind of target.
	Kind TargetKind
	// Name is the upstream's own name, PublicName the one that clients see. For
	// resources and templates they are URIs. A task has the names of the tool
	// that was called.
	Name, PublicName string
	// RPC is the method that the request runs, as pkg.Svc.Method, or empty where
	// the upstream is no RPC service.
	RPC string
	// Hints are what is known of the tool's behaviour.
	Hints Hints
}

// Hints are the hints of MCP's ToolAnnotations, after defaults
// (server/tools, Tool Annotations).
type Hints struct{ ReadOnly, Destructive, Idempotent, OpenWorld bool }

// DefaultHints returns the hints of a tool that says nothing of itself: it may
// destroy, and touch anything.
func DefaultHints() Hints { return Hints{Destructive: true, OpenWorld: true} }

// With returns the hints as a ToolAnnotations object has them. Members that are
// missing or no booleans change nothing. A tool that only reads destroys nothing.
func (h Hints) With(annotations json.RawMessage) Hints {
	for name, hint := range map[string]*bool{
		"readOnlyHint": &h.ReadOnly, "destructiveHint": &h.Destructive,
		"idempotentHint": &h.Idempotent, "openWorldHint": &h.OpenWorld,
	} {
		if value, ok := jsontok.Lookup(annotations, name); ok && jsontok.KindOf(value) == jsontok.KindBool {
			*hint = string(value) == "true"
		}
	}
	h.Destructive = h.Destructive && !h.ReadOnly
	return h
}

// A Resolver says what the requests to an upstream run. An upstream that
// implements it beside [Handler] lets a [Guard] decide by RPC and by the message
// that is sent.
type Resolver interface {
	// Resolve returns what a request runs. Its names are the upstream's own. The
	// result is nil, or has no RPC, for a request that runs none and for one that
	// the upstream would refuse.
	//
	// Of a subscriptions/listen for one resource, that is the RPC by which changes
	// of the resource are noticed. A resources/read may have the URI template of a
	// resource in place of a URI, to learn what reads such resources.
	Resolve(ctx context.Context, r *Request) (*Resolution, error)
}

// Resolution is what a request to an upstream runs.
type Resolution struct {
	// RPC is the method, as pkg.Svc.Method, or empty where the request runs none.
	RPC string
	// Hints are what is known of its behaviour, if there is an RPC.
	Hints Hints
	// Pin stands for everything that the request was resolved by. The same request
	// with this Pin runs what has been resolved, and nothing else. It may be nil.
	Pin any
	// Message returns the message that will be sent, as canonical ProtoJSON, and
	// the request that sends exactly this message, if it has the Pin. It is nil where
	// there is no RPC, and fails where the arguments
	// cannot become a message; then nothing will be sent. What a task was called
	// with is not known any more: its object is empty.
	Message func() (json.RawMessage, *Request, error)
}
