package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/status"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/seal"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	// confirmTime is how long the answer to a question is waited for.
	confirmTime = 5 * time.Minute
	// confirmKey names the question among the input requests.
	confirmKey = "confirm"
	// maxShown bounds a value that a question shows, in bytes.
	maxShown = 200
)

// confirmPurpose is that of the state of a question. It is bound to who was asked,
// the method and its arguments, and holds nothing.
var confirmPurpose = seal.Purpose{Name: "confirmation of a call"}

// confirmation is a question that comes before a call.
type confirmation struct {
	message string
	fields  map[string]fieldPath // by their placeholders
}

var placeholder = regexp.MustCompile(`\{([^{}]+)\}`)

// confirmation reads what options say of asking first.
func (s *said) confirmation(cfg *config, t *tool, method protoreflect.MethodDescriptor) {
	o := s.methods[method.FullName()].GetConfirm()
	if o == nil {
		return
	}
	c := &confirmation{message: or(o.GetMessage(), "Call "+t.Title+"?"), fields: make(map[string]fieldPath)}
	for _, match := range placeholder.FindAllStringSubmatch(c.message, -1) {
		p, err := findField(method.Input(), match[1])
		if err != nil {
			// The question is asked all the same: asking less would be worse.
			s.fault(cfg, method.FullName(), "confirm: %w", err)
			continue
		}
		c.fields[match[0]] = p
	}
	t.confirm = c
}

// question returns what the user is asked.
func (c *confirmation) question(arguments json.RawMessage) string {
	return placeholder.ReplaceAllStringFunc(c.message, func(match string) string {
		p, ok := c.fields[match]
		if !ok {
			return match
		}
		shown := collect(nil, arguments, p.names)
		if len(shown) == 0 {
			return "(not set)"
		}
		return clip.Text(strings.Join(shown, ", "), maxShown)
	})
}

// confirm returns nil where a call may be made, and otherwise what the client
// gets for it: a question for the user, or a result with isError (basic/patterns,
// Multi Round-Trip Requests).
func (e *Engine) confirm(r *protocol.Request, t *tool, arguments json.RawMessage) (*protocol.Result, error) {
	if t.confirm == nil || e.cfg.NoConfirm {
		return nil, nil //nolint:nilnil // nothing is in the way
	}
	if !protocol.HasCapability(r.Meta.Capabilities, "elicitation", "form") {
		return status.Refused("This call needs the user's confirmation, and this client cannot ask for it. Nothing was called. " +
			"Tell the user what you were about to do: " + t.confirm.question(arguments)), nil
	}
	digest, err := digestOf(arguments)
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.arguments: %v", err)
	}
	raw, answered := jsontok.Lookup(r.Params, "requestState")
	if !answered {
		return e.ask(r, t, arguments, digest)
	}
	state, _ := jsontok.String(raw)
	if _, err := e.cfg.box.Open(confirmPurpose, state, r.Caller.Key(), t.Method, digest); err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.requestState is not of this call, or too old: call again without it")
	}
	responses, _ := jsontok.Lookup(r.Params, "inputResponses")
	response, ok := jsontok.Lookup(responses, confirmKey)
	if !ok {
		return e.ask(r, t, arguments, digest)
	}
	action, _ := jsontok.Lookup(response, "action")
	if a, _ := jsontok.String(action); a != "accept" {
		return status.Refused("The user did not confirm the call. Nothing was called. Do not call again unless the user asks for it."), nil
	}
	return nil, nil //nolint:nilnil // nothing is in the way
}

// ask returns the question.
func (e *Engine) ask(r *protocol.Request, t *tool, arguments json.RawMessage, digest string) (*protocol.Result, error) {
	state, err := e.cfg.box.Seal(confirmPurpose, nil, time.Now().Add(confirmTime), r.Caller.Key(), t.Method, digest)
	if err != nil {
		return nil, fmt.Errorf("confirm %s: %w", t.Method, err)
	}
	body := append([]byte(`{"inputRequests":{"`+confirmKey+`":{"method":"elicitation/create","params":{"mode":"form","message":`),
		jsontok.AppendString(nil, t.confirm.question(arguments))...)
	body = append(body, `,"requestedSchema":{"type":"object","properties":{}}}}},"requestState":`...)
	body = append(jsontok.AppendString(body, state), '}')
	return &protocol.Result{Type: protocol.ResultInputRequired, Body: body}, nil
}

// digestOf returns a hash of arguments that does not depend on the order of
// members or on white space.
func digestOf(arguments json.RawMessage) (string, error) {
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return "", err
	}
	canonical, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}
