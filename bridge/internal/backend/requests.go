package backend

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// MessagesArgument is the argument that holds the request messages of a method
// whose client streams.
const MessagesArgument = "messages"

// MaxRequests is how many request messages one call may have.
const MaxRequests = 10_000

// requests returns the request messages that the arguments stand for, and the
// limits of the call. The error is a [*transcode.ArgumentError] where the
// arguments do not fit.
func (p *Plan) requests(c *compiled, arguments json.RawMessage) ([][]byte, Limits, error) {
	arguments, limits, violations := p.splitLimits(arguments)
	faults := &transcode.ArgumentError{Violations: violations}
	var requests [][]byte
	if p.clientStreams() {
		messages, found := streamed(arguments, faults)
		if found {
			requests = encodeAll(c, messages, faults)
		}
	} else {
		request, err := c.encode(arguments)
		if err := faults.Add("", err); err != nil {
			return nil, limits, err
		}
		requests = [][]byte{request}
	}
	if len(faults.Violations) > 0 {
		return nil, limits, faults
	}
	return requests, limits, nil
}

// encode returns the wire form of one request message that keeps the rules of
// its type.
func (c *compiled) encode(arguments json.RawMessage) ([]byte, error) {
	// Nearly always the wire form is the shorter one.
	request, err := c.in.AppendWire(make([]byte, 0, len(arguments)), arguments)
	if err != nil {
		return nil, err
	}
	return request, c.rules.Check(request)
}

// streamed returns the value of [MessagesArgument], which must be the only
// argument.
func streamed(arguments json.RawMessage, faults *transcode.ArgumentError) (messages json.RawMessage, found bool) {
	err := jsontok.Object(arguments, func(key, value []byte) error {
		if string(key) != MessagesArgument {
			v := transcode.Violation{Path: clip.Text(string(key), maxQuoted), Problem: "unknown field", Expected: MessagesArgument + ", the list of the messages to send"}
			return faults.Add("", &transcode.ArgumentError{Violations: []transcode.Violation{v}})
		}
		messages, found = value, true
		return nil
	})
	switch {
	case err != nil:
		faults.Violations = append(faults.Violations, transcode.Violation{Problem: err.Error()})
	case !found && len(faults.Violations) == 0:
		faults.Violations = append(faults.Violations, transcode.Violation{
			Path: MessagesArgument, Problem: "the required field is missing", Expected: "the list of the messages to send",
		})
	}
	return messages, found
}

// encodeAll encodes the elements of a list of messages. As in other places
// where a list is expected, a single element stands for a list of one, and text
// in a string for what it says.
func encodeAll(c *compiled, messages json.RawMessage, faults *transcode.ArgumentError) [][]byte {
	if text, ok := jsontok.String(messages); ok && strings.HasPrefix(strings.TrimSpace(text), "[") {
		messages = json.RawMessage(strings.TrimSpace(text))
	}
	var requests [][]byte
	one := func(i int, value []byte) error {
		if i >= MaxRequests || faults.Truncated {
			return errEnough
		}
		request, err := c.encode(value)
		requests = append(requests, request)
		return faults.Add(fmt.Sprintf("%s[%d]", MessagesArgument, i), err)
	}
	var err error
	switch jsontok.KindOf(messages) {
	case jsontok.KindArray:
		err = jsontok.Array(messages, one)
	case jsontok.KindNull:
	default:
		err = one(0, messages)
	}
	switch {
	case err == nil || faults.Truncated:
	case errors.Is(err, errEnough):
		faults.Violations = append(faults.Violations, transcode.Violation{
			Path: MessagesArgument, Problem: fmt.Sprintf("there are more than %d messages", MaxRequests), Expected: "fewer messages a call",
		})
	default:
		faults.Violations = append(faults.Violations, transcode.Violation{Path: MessagesArgument, Problem: err.Error()})
	}
	return requests
}
