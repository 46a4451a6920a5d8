package protocol

import (
	"context"
	"encoding/json"
)

// A Guard decides who may call what. It is asked where names have been resolved,
// so no spelling of a name and no detour gets around it. It is used
// concurrently.
type Guard interface {
	// Decide decides one request, or one URI or task of a subscription.
	Decide(ctx context.Context, a *Access) Decision
	// Visible reports for each target whether the principal gets to see it in a
	// list. Arguments are unknown there.
	Visible(ctx context.Context, p *Principal, targets []*Target) []bool
}

// Access is what a [Guard] decides.
type Access struct {
	// Principal is who asks.
	Principal *Principal
	// Target is what for.
	Target *Target
	// Request is the request as the client sent it.
	Request *Request
	// Arguments returns what the call passes: for an RPC the canonical ProtoJSON
	// of the message that will be sent, for an MCP server the raw arguments. They
	// are computed when it is called first. An error means that they cannot be
	// read.
	Arguments func() (json.RawMessage, error)
}

// Decision is what a [Guard] has decided. The zero value refuses.
type Decision struct {
	// Allow lets the request pass.
	Allow bool
	// Confirm, where it is not empty, is what the user is asked first.
	Confirm string
	// Scopes are those that a refused principal lacks. Where there are none, the
	// refusal looks like an unknown name.
	Scopes []string
	// Rule names the rule that decided, for logs.
	Rule string
}

// AllowAll is a Guard that allows and shows everything.
var AllowAll Guard = allowAll{}

type allowAll struct{}

// Decide allows the request.
func (allowAll) Decide(context.Context, *Access) Decision { return Decision{Allow: true} }

// Visible shows every target.
func (allowAll) Visible(_ context.Context, _ *Principal, targets []*Target) []bool {
	shown := make([]bool, len(targets))
	for i := range shown {
		shown[i] = true
	}
	return shown
}
