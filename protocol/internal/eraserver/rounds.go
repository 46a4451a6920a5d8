package eraserver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/backoff"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	// maxRounds is how often a call may want input.
	maxRounds = 10
	// A server that wants nothing but a retry gets it after a time that
	// doubles within these bounds.
	minBackOff = 100 * time.Millisecond
	maxBackOff = 5 * time.Second
)

// rounds makes a call by handle, and again with the client's input as long as
// the result is input_required (2026-07-28 basic/patterns/mrtr).
func (s *Session) rounds(ctx context.Context, st Stream, params json.RawMessage, handle func(json.RawMessage) (*protocol.Result, *protocol.Error)) (*protocol.Result, *protocol.Error) {
	next, backOff := params, minBackOff
	var opened []json.RawMessage
	for round := 0; ; round++ {
		res, fault := handle(next)
		if fault == nil && res.Type != protocol.ResultInputRequired {
			s.completed(ctx, st, opened)
		}
		if fault != nil || res.Type != protocol.ResultInputRequired {
			return res, fault
		}
		if round == maxRounds {
			return nil, protocol.Errorf(protocol.CodeInternalError, "the server wanted input for the same call more than %d times", maxRounds)
		}
		state, stated := jsontok.Lookup(res.Body, "requestState")
		requests, asked := jsontok.Lookup(res.Body, "inputRequests")
		if !stated && !asked {
			return nil, badInput("it has neither inputRequests nor a requestState")
		}
		var responses json.RawMessage
		if asked {
			var ids []json.RawMessage
			responses, ids, fault = s.input(ctx, st, requests)
			opened = append(opened, ids...)
		}
		if responses == nil && fault == nil {
			fault = pause(ctx, backOff)
			backOff = min(2*backOff, maxBackOff)
		}
		if fault != nil {
			return nil, fault
		}
		next = retry(params, responses, state)
	}
}

// input gets what inputRequests want, or nil where that is nothing. opened are
// the elicitations of URLs that the client has agreed to open.
func (s *Session) input(ctx context.Context, st Stream, requests json.RawMessage) (responses json.RawMessage, opened []json.RawMessage, fault *protocol.Error) {
	inputs, fault := readInputs(requests, st.reach(s.capabilities), s.Revision)
	if fault != nil || len(inputs) == 0 {
		return nil, nil, fault
	}
	responses, fault = s.ask(ctx, st, inputs)
	for _, in := range inputs {
		response, _ := jsontok.Lookup(responses, in.key)
		action, _ := jsontok.Lookup(response, "action")
		if in.elicitation != nil && string(action) == `"accept"` {
			opened = append(opened, in.elicitation)
		}
	}
	return responses, opened, fault
}

// completed tells the client that what it has opened URLs for is done: the
// server has gone on. 2026-07-28 has nothing that says so earlier.
func (s *Session) completed(ctx context.Context, st Stream, opened []json.RawMessage) {
	for _, id := range opened {
		var params mcpjson.Object
		params.Add("elicitationId", id)
		n := &protocol.Notification{Method: protocol.NotificationElicited, Params: params.JSON()}
		if err := st.Notifier.Notify(ctx, n); err != nil {
			s.server.log.DebugContext(ctx, "the client was not told that an elicitation is complete", "error", err)
		}
	}
}

// retry returns the params of a call with input. Either part may be nil.
func retry(params, responses, state json.RawMessage) json.RawMessage {
	var o mcpjson.Object
	if params != nil {
		_ = jsontok.Object(params, func(key, value []byte) error { // read before
			switch k := string(key); k {
			case "inputResponses", "requestState":
			default:
				o.Add(k, value)
			}
			return nil
		})
	}
	if responses != nil {
		o.Add("inputResponses", responses)
	}
	if state != nil {
		o.Add("requestState", state)
	}
	return o.JSON()
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) *protocol.Error {
	if err := backoff.Pause(ctx, d); err != nil {
		return protocol.AsError(err)
	}
	return nil
}
