package bridge

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

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/status"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/task"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
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

// WithoutConfirmation makes calls without asking the user first, whatever
// options say. Otherwise a method with the option "confirm" is called only after
// the user has said yes, and not at all for clients that cannot ask.
func WithoutConfirmation() Option { return func(c *config) { c.noConfirm = true } }

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
func (b *Bridge) confirm(r *protocol.Request, t *tool, arguments json.RawMessage) (*protocol.Result, error) {
	if t.confirm == nil || b.cfg.noConfirm {
		return nil, nil //nolint:nilnil // nothing is in the way
	}
	if !protocol.HasCapability(r.Meta.Capabilities, "elicitation", "form") {
		return status.Refused("This call needs the user's confirmation, and this client cannot ask for it. Nothing was called. " +
			"Tell the user what you were about to do: " + t.confirm.question(arguments)), nil
	}
	owner := confirmKey + "\x00" + b.cfg.taskOwner(r.Caller) // no state is the id of a task
	digest, err := digestOf(arguments)
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.arguments: %v", err)
	}
	raw, answered := jsontok.Lookup(r.Params, "requestState")
	if !answered {
		return b.ask(t, arguments, owner, digest)
	}
	state, _ := jsontok.String(raw)
	ref, err := b.cfg.tasks.Open(state, owner, time.Now())
	if err != nil || ref.Method != t.Method || ref.Operation != digest {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.requestState is not of this call, or too old: call again without it")
	}
	responses, _ := jsontok.Lookup(r.Params, "inputResponses")
	response, ok := jsontok.Lookup(responses, confirmKey)
	if !ok {
		return b.ask(t, arguments, owner, digest)
	}
	action, _ := jsontok.Lookup(response, "action")
	if a, _ := jsontok.String(action); a != "accept" {
		return status.Refused("The user did not confirm the call. Nothing was called. Do not call again unless the user asks for it."), nil
	}
	return nil, nil //nolint:nilnil // nothing is in the way
}

// ask returns the question.
func (b *Bridge) ask(t *tool, arguments json.RawMessage, owner, digest string) (*protocol.Result, error) {
	state, err := b.cfg.tasks.Seal(task.Ref{Method: t.Method, Operation: digest, Created: time.Now(), TTL: confirmTime}, owner)
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
