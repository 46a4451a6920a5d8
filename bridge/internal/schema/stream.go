package schema

import (
	"encoding/json"
	"strconv"
	"strings"
)

// StreamOverhead is how many bytes [Messages], [Stream] and [WithLimits] add
// at most to the schema that they are given.
const StreamOverhead = 640

// Messages returns the schema of the arguments of a method whose client
// streams: a list of messages of the given schema.
func Messages(message json.RawMessage) json.RawMessage {
	b := []byte(`{"type":"object","properties":{"messages":{"type":"array","description":"The messages to send, in order. All of them are sent before the call is answered.","items":`)
	message, defs := cutDefs(message)
	b = append(b, message...)
	return append(append(append(b, `}},"required":["messages"]`...), defs...), '}')
}

// cutDefs returns the schema of the elements of "messages" without its $defs,
// and these as a member with a comma before it: references are from the root.
func cutDefs(message json.RawMessage) (rest json.RawMessage, defs string) {
	const key = `,"$defs":{`
	s := strings.ReplaceAll(string(message), `"$ref":"#"`, `"$ref":"#/properties/messages/items"`)
	i := strings.LastIndex(s, key)
	if i < 0 {
		return json.RawMessage(s), ""
	}
	end := i + len(key) + objectEnd(s[i+len(key):]) + 1
	return json.RawMessage(s[:i] + s[end:]), s[i:end]
}

// Stream returns the schema of the result of a method whose server streams.
func Stream(message json.RawMessage) json.RawMessage {
	b := []byte(`{"type":"object","properties":{"messages":{"type":"array","description":"The messages that came, in order.","items":`)
	message, defs := cutDefs(message)
	b = append(b, message...)
	b = append(b, `},"count":{"type":"integer","description":"How many messages there are."},`+
		`"complete":{"type":"boolean","description":"Whether these are all messages of the stream."},`+
		`"stopReason":{"type":"string","description":"Why there are no more: the stream ended (eof), or a limit of messages, bytes or time was reached.","enum":["eof","limit","bytes","deadline"]}},`+
		`"required":["messages","count","complete","stopReason"]`...)
	return append(append(b, defs...), '}')
}

// WithLimits returns input, a schema of arguments, with one more property: the
// limits of the call, of which there are at most the given messages and bytes
// where the call does not say otherwise.
func WithLimits(input json.RawMessage, name string, messages, bytes int, seconds float64) json.RawMessage {
	return WithProperty(input, name, `{"type":"object","description":"When to stop: after so many messages (default `+strconv.Itoa(messages)+
		`), bytes of JSON (`+strconv.Itoa(bytes)+`) or seconds (`+strconv.FormatFloat(seconds, 'f', -1, 64)+`).",`+
		`"properties":{"messages":{"type":"integer","minimum":1},"bytes":{"type":"integer","minimum":1},"seconds":{"type":"number","exclusiveMinimum":0}}}`)
}

// WithProperty returns a schema of an object, as the functions of this package
// make it, with one more property: the last one, so that the author's own are
// read first.
func WithProperty(object json.RawMessage, name, property string) json.RawMessage {
	property = string(appendString(nil, name)) + ":" + property
	// The properties of the root stand behind nothing but a description, which
	// has no quotes that are not escaped.
	const key = `"properties":{`
	s := string(object)
	i := strings.Index(s, key)
	if i < 0 {
		return json.RawMessage(strings.TrimSuffix(s, "}") + `,` + key + property + `}}`)
	}
	rest := s[i+len(key):]
	if strings.HasPrefix(rest, "}") {
		return json.RawMessage(s[:i+len(key)] + property + rest)
	}
	end := i + len(key) + objectEnd(rest)
	return json.RawMessage(s[:end] + "," + property + s[end:])
}

// objectEnd returns where the object ends whose inside text begins with.
func objectEnd(text string) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return len(text)
}
