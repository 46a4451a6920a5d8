package mux

import (
	"encoding/json"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// decide asks the guard. Where the call may not go on, it returns an error, or a
// result that asks the user or says why not.
func (v *View) decide(c *call) (*protocol.Result, error) {
	d, err := c.access()
	switch {
	case err != nil:
		return nil, err
	case !d.Allow:
		return nil, c.refusal(d)
	case d.Confirm == "" || c.target.Kind == protocol.TargetTask: // its call has been confirmed
		return nil, nil //nolint:nilnil // nothing is in the way
	}
	return v.confirm(c, d.Confirm)
}

// access returns the guard's decision. From then on the call runs what was decided: by
// what it was resolved by, and if the guard has read the message that will be sent,
// exactly that message.
func (c *call) access() (protocol.Decision, error) {
	if err := jsontok.Unique(c.r.Params); err != nil {
		return protocol.Decision{}, protocol.Errorf(protocol.CodeInvalidParams, "params: %v", err)
	}
	target := *c.target
	var (
		message func() (json.RawMessage, *protocol.Request, error)
		pin     any
	)
	if resolver := c.member.resolver(); resolver != nil && c.target.Kind != protocol.TargetTask {
		res, err := c.member.resolve(c.ctx, resolver, c.request)
		if err != nil {
			return protocol.Decision{}, err
		}
		if res != nil {
			pin = res.Pin
			c.pin(pin)
			if res.RPC != "" {
				target.RPC, target.Hints, message = res.RPC, c.member.override(&target, res.Hints), res.Message
			}
		}
	}
	c.target = &target
	var (
		read      bool
		arguments json.RawMessage
		failed    error
	)
	d := c.s.guard.Decide(c.ctx, &protocol.Access{
		Principal: c.principal, Target: &target, Request: c.r,
		Arguments: func() (json.RawMessage, error) {
			if read {
				return arguments, failed
			}
			read = true
			if message == nil {
				arguments = argumentsOf(c.request)
				return arguments, nil
			}
			var sent *protocol.Request
			if arguments, sent, failed = message(); failed == nil {
				c.request = sent
				c.pin(pin)
			}
			return arguments, failed
		},
	})
	return d, nil
}

// pin has the call run what it was resolved to, whatever changes meanwhile.
func (c *call) pin(to any) {
	if to == nil {
		return
	}
	own := *c.request
	own.Pin = to
	c.request = &own
}

// override returns the hints of a tool with those that are configured.
func (m *member) override(t *protocol.Target, hints protocol.Hints) protocol.Hints {
	if t.Kind != protocol.TargetTool {
		return hints
	}
	return hints.With(m.spec.Tools.Override[t.Name].Annotations)
}

// argumentsOf returns the raw arguments of a request.
func argumentsOf(r *protocol.Request) json.RawMessage {
	member := "arguments"
	switch r.Method {
	case protocol.MethodComplete:
		member = "argument"
	case protocol.MethodUpdateTask:
		member = "inputResponses"
	}
	if raw, ok := jsontok.Lookup(r.Params, member); ok {
		return raw
	}
	return json.RawMessage(`{}`)
}

// refusal is the error for a call that the guard refuses: that for an unknown name,
// unless the guard says which scopes are lacking.
func (c *call) refusal(d protocol.Decision) error {
	if len(d.Scopes) == 0 {
		return c.unknown()
	}
	return &protocol.Error{
		Code: protocol.CodeInvalidRequest, Scopes: d.Scopes,
		Message: "this needs a credential with these scopes: " + strings.Join(d.Scopes, " "),
	}
}

// confirmKey names the question of a guard among the input requests.
const confirmKey = "confirm"

// confirm returns nil where the user has confirmed the call. Otherwise it returns
// what the client gets: the question, or a result that says why nothing was called
// (basic/patterns, Multi Round-Trip Requests).
func (v *View) confirm(c *call, question string) (*protocol.Result, error) {
	asked := digest(question)
	if c.state.confirmed == asked {
		return nil, nil //nolint:nilnil // nothing is in the way
	}
	switch c.target.Kind {
	case protocol.TargetTool, protocol.TargetPrompt, protocol.TargetResource:
	default: // nobody can be asked in the middle of these
		return nil, c.unknown()
	}
	if !protocol.HasCapability(c.r.Meta.Capabilities, "elicitation", "form") {
		if c.target.Kind != protocol.TargetTool {
			return nil, protocol.MissingCapability(`{"elicitation":{"form":{}}}`)
		}
		return toolError("This call needs the user's confirmation, and this client cannot ask for it. Nothing was called. " +
			"Tell the user what you were about to do: " + question), nil
	}
	responses, _ := jsontok.Lookup(c.r.Params, "inputResponses")
	response, answered := jsontok.Lookup(responses, confirmKey)
	if c.state.asked != asked || !answered {
		return v.askToConfirm(c, question, asked)
	}
	action, _ := jsontok.Lookup(response, "action")
	if a, _ := jsontok.String(action); a != "accept" {
		if c.target.Kind != protocol.TargetTool {
			return nil, protocol.Errorf(protocol.CodeInvalidRequest, "the user did not confirm the request")
		}
		return toolError("The user did not confirm the call. Nothing was called. Do not call again unless the user asks for it."), nil
	}
	c.state.confirmed, c.state.asked = asked, ""
	return nil, nil //nolint:nilnil // nothing is in the way
}

// askToConfirm returns the question.
func (v *View) askToConfirm(c *call, question, asked string) (*protocol.Result, error) {
	st := c.state
	st.asked = asked
	state, err := v.sealState(c, st)
	if err != nil {
		return nil, err
	}
	body := jsontok.AppendString([]byte(`{"inputRequests":{"`+confirmKey+`":{"method":"elicitation/create","params":{"mode":"form","message":`), question)
	body = append(body, `,"requestedSchema":{"type":"object","properties":{}}}}},"requestState":`...)
	body = append(jsontok.AppendString(body, state), '}')
	return &protocol.Result{Type: protocol.ResultInputRequired, Body: body, Server: c.s.cfg.Server}, nil
}
