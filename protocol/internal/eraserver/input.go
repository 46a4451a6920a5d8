package eraserver

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// maxRequests is how many requests for input one result may hold.
const maxRequests = 32

// input is one entry of inputRequests, as the client is asked it.
type input struct {
	key, method string
	params      json.RawMessage // nil for none
	// elicitation is the elicitationId that was made up for a URL, as JSON, or
	// nil.
	elicitation json.RawMessage
}

// maxSaid bounds how much of the error of a client another error repeats, in bytes.
const maxSaid = 2048

// read returns the result in the client's response.
func (in *input) read(m *jsonrpc.Message) (json.RawMessage, *protocol.Error) {
	if m.Error != nil {
		e := jsonrpc.ReadError(m.Error)
		// inputResponses have no place for an error, so the call fails with it.
		fault := protocol.Errorf(cmp.Or(e.Code, protocol.CodeInternalError), "the client answered %s with an error: %s", in.method, clip.Text(e.Message, maxSaid))
		fault.Data = e.Data
		return nil, fault
	}
	if jsontok.KindOf(m.Result) != jsontok.KindObject {
		return nil, protocol.Errorf(protocol.CodeInvalidRequest, "the client answered %s with a result that is no object", in.method)
	}
	return m.Result, nil
}

// readInputs reads inputRequests, in their order, and gives each the form that
// a client of revision rev with the given capabilities understands. It fails
// for what such a client cannot be asked.
func readInputs(raw, capabilities json.RawMessage, rev protocol.Revision) ([]input, *protocol.Error) {
	if jsontok.KindOf(raw) != jsontok.KindObject {
		return nil, badInput("its inputRequests are no object")
	}
	var inputs []input
	err := jsontok.Object(raw, func(key, value []byte) error {
		in := input{key: string(key)}
		if method, ok := jsontok.Lookup(value, "method"); ok {
			in.method, _ = jsontok.String(method)
		}
		if params, ok := jsontok.Lookup(value, "params"); ok {
			in.params = params
		}
		if len(inputs) == maxRequests {
			return badInput("it has more than 32 inputRequests")
		}
		if in.params != nil && jsontok.KindOf(in.params) != jsontok.KindObject {
			return badInput("the params of an input request are no object")
		}
		if fault := in.adapt(capabilities, rev); fault != nil {
			return fault
		}
		inputs = append(inputs, in)
		return nil
	})
	if err == nil {
		return inputs, nil
	}
	if fault, ok := errors.AsType[*protocol.Error](err); ok {
		return nil, fault
	}
	return nil, badInput(err.Error())
}

func badInput(why string) *protocol.Error {
	return protocol.Errorf(protocol.CodeInternalError, "the answer is of type %q, but %s", protocol.ResultInputRequired, why)
}

// adapt checks that the client can be asked, and gives the request the form
// that its revision has.
func (in *input) adapt(capabilities json.RawMessage, rev protocol.Revision) *protocol.Error {
	name, member := protocol.InputCapability(in.method, in.params)
	switch {
	case name == "":
		return badInput("it asks for " + strconv.Quote(in.method) + ", which clients do not answer")
	case !protocol.HasCapability(capabilities, name, member):
		required := `{"` + name + `":{}}`
		if member != "" {
			required = `{"` + name + `":{` + string(jsontok.AppendString(nil, member)) + `:{}}}`
		}
		return protocol.MissingCapability(required)
	}
	switch {
	case in.method == protocol.MethodElicit && member == "url":
		if _, ok := jsontok.Lookup(in.params, "elicitationId"); !ok {
			// 2025-11-25 wants one, 2026-07-28 has none.
			in.elicitation = jsontok.AppendString(nil, rand.Text())
			in.params = mcpjson.Set(in.params, "elicitationId", in.elicitation)
		}
	case in.method == protocol.MethodElicit && rev < protocol.Revision20251125:
		in.params = protocol.WithoutMember(in.params, "mode") // there is only the one
	case in.method == protocol.MethodSample && rev < protocol.Revision20251125:
		in.params = oneBlockEach(in.params)
	}
	return nil
}

// oneBlockEach makes a message of each block of content, because revisions
// before 2025-11-25 have one block a message.
func oneBlockEach(params json.RawMessage) json.RawMessage {
	raw, ok := jsontok.Lookup(params, "messages")
	if !ok || jsontok.KindOf(raw) != jsontok.KindArray {
		return params
	}
	var messages mcpjson.Array
	// The result that holds this is valid, and the visitors return no error.
	_ = jsontok.Array(raw, func(_ int, message []byte) error {
		content, ok := jsontok.Lookup(message, "content")
		if !ok || jsontok.KindOf(content) != jsontok.KindArray {
			messages.Add(message)
			return nil
		}
		_ = jsontok.Array(content, func(_ int, block []byte) error {
			messages.Add(mcpjson.Replace(message, "content", block))
			return nil
		})
		return nil
	})
	return mcpjson.Replace(params, "messages", messages.JSON())
}

// expressible returns those of a client's capabilities that its revision has
// the words for, as the modern core has them. What is of no revision passes.
func expressible(declared json.RawMessage, rev protocol.Revision) json.RawMessage {
	if jsontok.KindOf(declared) != jsontok.KindObject {
		return declared
	}
	// What cannot be read, such as a member that is there twice, counts for
	// nothing.
	left, _ := mcpjson.Split(declared, func(key string, _ []byte) bool {
		switch key {
		case "tasks": // those that the client would serve
			return true
		case "elicitation":
			return rev < protocol.Revision20250618
		}
		return false
	})
	if rev >= protocol.Revision20251125 {
		return left
	}
	// Their members are of 2025-11-25.
	for _, name := range []string{"elicitation", "sampling"} {
		if protocol.HasCapability(left, name, "") {
			left = mcpjson.Replace(left, name, []byte("{}"))
		}
	}
	return left
}

// unaskable returns capabilities without those of clients that answer
// requests of the server.
func unaskable(capabilities json.RawMessage) json.RawMessage {
	if jsontok.KindOf(capabilities) != jsontok.KindObject {
		return capabilities
	}
	left, _ := mcpjson.Split(capabilities, func(key string, _ []byte) bool { // valid already
		return key == "elicitation" || key == "sampling" || key == "roots"
	})
	return left
}
