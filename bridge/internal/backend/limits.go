package backend

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Limits bound what is collected of a stream of responses. Reaching one ends
// the stream, and is no error.
type Limits struct {
	// Messages is how many messages are collected.
	Messages int
	// Bytes is how long the JSON of all messages together may get. The first
	// message is kept whatever its size.
	Bytes int
	// Time is how long messages are waited for.
	Time time.Duration
}

// Ceilings of what a call may ask for by [LimitsArgument]. Where the operator
// has set more than that, it is what the operator has set.
const (
	MaxLimitMessages = 10_000
	MaxLimitBytes    = 4 << 20
	MaxLimitTime     = time.Hour
)

// maxQuoted is how much of a wrong limit an error quotes, in bytes.
const maxQuoted = 60

// LimitsArgument is the argument by which a call sets limits of its own:
// {"messages": 10, "bytes": 4096, "seconds": 2.5}. It is there for methods
// whose responses are a stream, unless the request has a field of that name.
const LimitsArgument = "_limits"

// hasLimits reports whether calls of the method have [LimitsArgument].
func hasLimits(method protoreflect.MethodDescriptor) bool {
	if !method.IsStreamingServer() {
		return false
	}
	return method.IsStreamingClient() || method.Input().Fields().ByJSONName(LimitsArgument) == nil
}

// splitLimits returns the arguments without their limits, and the limits of
// the call.
func (p *Plan) splitLimits(arguments json.RawMessage) (json.RawMessage, Limits, []transcode.Violation) {
	limits := p.settings.Limits
	if !p.limited {
		return arguments, limits, nil
	}
	raw, ok := jsontok.Lookup(arguments, LimitsArgument)
	if !ok {
		return arguments, limits, nil
	}
	rest := protocol.WithoutMember(arguments, LimitsArgument)
	if jsontok.KindOf(raw) == jsontok.KindNull {
		return rest, limits, nil
	}
	if text, ok := jsontok.String(raw); ok { // hosts are known to write objects as strings
		raw = []byte(text)
	}
	var violations []transcode.Violation
	bad := func(name, problem, expected string, seen []byte) {
		v := transcode.Violation{Path: LimitsArgument, Problem: problem, Expected: expected}
		if name != "" {
			v.Path += "." + name
		}
		if seen != nil {
			v.Seen = clip.Text(string(seen), maxQuoted)
		}
		violations = append(violations, v)
	}
	err := jsontok.Object(raw, func(key, value []byte) error {
		var ceiling float64
		switch name := string(key); name {
		case "messages":
			ceiling = float64(max(p.settings.Limits.Messages, MaxLimitMessages))
		case "bytes":
			ceiling = float64(max(p.settings.Limits.Bytes, MaxLimitBytes))
		case "seconds":
			ceiling = max(p.settings.Limits.Time, MaxLimitTime).Seconds()
		default:
			bad("", fmt.Sprintf("unknown limit %s", strconv.Quote(clip.Text(name, maxQuoted))), "messages, bytes or seconds", nil)
			return nil
		}
		n, ok := number(value)
		if !ok || n <= 0 || n > ceiling || string(key) != "seconds" && n != math.Trunc(n) {
			kind := "a whole number from 1"
			if string(key) == "seconds" {
				kind = "a number above 0 and"
			}
			bad(string(key), "no such limit", fmt.Sprintf("%s up to %.0f", kind, ceiling), value)
			return nil
		}
		switch string(key) {
		case "messages":
			limits.Messages = int(n)
		case "bytes":
			limits.Bytes = int(n)
		case "seconds":
			limits.Time = time.Duration(n * float64(time.Second))
		}
		return nil
	})
	if err != nil {
		bad("", "wrong type", `an object such as {"messages": 10}`, raw)
	}
	return rest, limits, violations
}

// number returns a number that may stand in quotes.
func number(value []byte) (float64, bool) {
	text := string(value)
	if s, ok := jsontok.String(value); ok {
		text = s
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsNaN(n)
}
