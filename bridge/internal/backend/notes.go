package backend

import (
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// continuation is how the rest of a stream is asked for: a field of its last message
// goes into one of the next request.
type continuation struct {
	from string // in a message, by its JSON name
	to   string // in the request
}

// continuationOf returns how the rest of a method's stream is asked for, or nil where
// that cannot be told: next_page_token goes into page_token (AIP-158), and a cursor
// into the only field of the request that has its type.
func continuationOf(method protoreflect.MethodDescriptor) *continuation {
	if !method.IsStreamingServer() || method.IsStreamingClient() {
		return nil
	}
	request, response := method.Input().Fields(), method.Output().Fields()
	if from, to := response.ByName("next_page_token"), request.ByName("page_token"); isText(from) && isText(to) {
		return &continuation{from.JSONName(), to.JSONName()}
	}
	var found *continuation
	for i := range response.Len() {
		from := response.Get(i)
		if !strings.Contains(string(from.Name()), "cursor") || from.IsList() || from.Message() == nil {
			continue
		}
		for j := range request.Len() {
			to := request.Get(j)
			if to.IsList() || to.Message() == nil || to.Message().FullName() != from.Message().FullName() {
				continue
			}
			if found != nil {
				return nil
			}
			found = &continuation{from.JSONName(), to.JSONName()}
		}
	}
	return found
}

func isText(fd protoreflect.FieldDescriptor) bool {
	return fd != nil && !fd.IsList() && fd.Kind() == protoreflect.StringKind
}

// note says how to go on after a message, or returns "" where it does not say.
func (c *continuation) note(last json.RawMessage) string {
	if c == nil || len(last) == 0 {
		return ""
	}
	value, ok := jsontok.Lookup(last, c.from)
	if !ok || string(value) == `""` || string(value) == "{}" {
		return ""
	}
	return fmt.Sprintf("The server may have more. To go on after the last message, call again with its %s as %s.", c.from, c.to)
}

// clearing returns what to say where arguments have empty values of a resource, and no
// mask that names them: under a partial update (AIP-134) they may change nothing. It
// returns "" where there is nothing to say.
func clearing(masks []transcode.Mask, arguments json.RawMessage) string {
	for i := range masks {
		m := &masks[i]
		if m.Resource == nil || lookupField(arguments, m.Field) != nil {
			continue
		}
		var cleared []string
		// What is no object has no members, and the visitor returns no error.
		_ = jsontok.Object(lookupField(arguments, m.Resource), func(key, value []byte) error {
			fields := m.Resource.Message().Fields()
			fd := fields.ByJSONName(string(key))
			if fd == nil {
				fd = fields.ByName(protoreflect.Name(key))
			}
			if fd != nil && !fd.HasPresence() && isEmpty(value) {
				cleared = append(cleared, fd.JSONName())
			}
			return nil
		})
		if len(cleared) > 0 {
			const most = 8
			return fmt.Sprintf("An empty value is not told from an absent one here: the server may have left %s as before. To clear a field, name it in %s.",
				strings.Join(cleared[:min(len(cleared), most)], ", "), m.Field.JSONName())
		}
	}
	return ""
}

// lookupField returns the argument for a field, by either of its names, or nil.
func lookupField(arguments json.RawMessage, fd protoreflect.FieldDescriptor) json.RawMessage {
	for _, name := range []string{fd.JSONName(), string(fd.Name())} {
		if value, ok := jsontok.Lookup(arguments, name); ok && jsontok.KindOf(value) != jsontok.KindNull {
			return value
		}
	}
	return nil
}

// isEmpty reports whether JSON is the zero value of a field without presence.
func isEmpty(value []byte) bool {
	switch strings.Join(strings.Fields(string(value[:min(len(value), 16)])), "") {
	case `[]`, `{}`, `""`, `0`, `"0"`, `false`:
		return true
	default:
		return false
	}
}

// readable shows bytes that are text, or returns "" where there are none.
func readable(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return "Base64 that is text:\n" + strings.Join(texts, "\n")
}
