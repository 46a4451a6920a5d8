// Package jsonrpc reads and writes the JSON-RPC 2.0 envelope of MCP messages
// in one pass over the bytes. Ids, params, results and errors stay raw: an id
// goes back to the client byte for byte.
package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Message is one JSON-RPC message. Its slices point into the parsed data.
type Message struct {
	// ID is the raw id, or nil where there is none.
	ID json.RawMessage
	// HasID is true where there is an id member, even one that no request may
	// have, such as null: what has it is no notification and wants an answer.
	HasID bool
	// Method is empty in responses.
	Method string
	// Params is nil where the message has none.
	Params json.RawMessage
	// Result is set in successful responses, Error in failed ones.
	Result, Error json.RawMessage
}

// Kind tells the kinds of messages apart.
type Kind int

// The kinds of messages.
const (
	KindRequest Kind = iota
	KindNotification
	KindResponse
)

// Kind returns the kind of m.
func (m *Message) Kind() Kind {
	switch {
	case m.Method == "":
		return KindResponse
	case m.ID == nil:
		return KindNotification
	default:
		return KindRequest
	}
}

// Parse reads one message. The error is a parse error for data that is no
// JSON and an invalid request for JSON that is no message; the returned
// message then holds the id, where that is certain, and is never nil. It has a
// method only if it could be read to its end.
func Parse(data []byte) (*Message, *protocol.Error) {
	m := &Message{}
	if jsontok.KindOf(bytes.TrimLeft(data, " \t\r\n")) != jsontok.KindObject {
		if err := jsontok.Valid(data, jsontok.Limits{}); err != nil {
			return m, parseError(err)
		}
		return m, protocol.Errorf(protocol.CodeInvalidRequest, "a JSON-RPC message must be an object")
	}
	var (
		fault   *protocol.Error
		version bool
		method  bool
	)
	err := jsontok.Object(data, func(key, value []byte) error {
		switch string(key) {
		case "jsonrpc":
			s, ok := jsontok.String(value)
			version = ok && s == "2.0"
		case "id":
			m.HasID = true
			switch jsontok.KindOf(value) {
			case jsontok.KindString, jsontok.KindNumber:
				m.ID = value
			case jsontok.KindNull:
				// An error response may have it; a request must not.
				fault = protocol.Errorf(protocol.CodeInvalidRequest, "id must not be null")
			default:
				fault = protocol.Errorf(protocol.CodeInvalidRequest, "id must be a string or a number")
			}
		case "method":
			var ok bool
			m.Method, ok = jsontok.String(value)
			method = true
			if !ok || m.Method == "" {
				fault = protocol.Errorf(protocol.CodeInvalidRequest, "method must be a non-empty string")
			}
		case "params":
			m.Params = value
		case "result":
			m.Result = value
		case "error":
			m.Error = value
		}
		return nil
	})
	switch {
	case err != nil:
		// The text may break off in an id: only a whole message has one.
		unread := &Message{}
		if dup, ok := errors.AsType[*jsontok.DuplicateKeyError](err); ok && dup.Key != "id" {
			unread.ID, unread.HasID = m.ID, m.HasID
		}
		return unread, parseError(err)
	case !version:
		return m, protocol.Errorf(protocol.CodeInvalidRequest, `jsonrpc must be "2.0"`)
	case !method && (m.Result != nil || m.Error != nil):
		return m, nil
	case fault != nil:
		return m, fault
	case !method:
		return m, protocol.Errorf(protocol.CodeInvalidRequest, "a message needs a method, a result or an error")
	}
	if m.Params != nil && m.ID != nil && jsontok.KindOf(m.Params) != jsontok.KindObject {
		return m, protocol.Errorf(protocol.CodeInvalidParams, "params must be an object")
	}
	return m, nil
}

func parseError(err error) *protocol.Error {
	if e, ok := errors.AsType[*jsontok.SyntaxError](err); ok {
		return protocol.Errorf(protocol.CodeParseError, "invalid JSON: %v", e)
	}
	return protocol.Errorf(protocol.CodeInvalidRequest, "%v", err)
}

// IsBatch reports whether data looks like a JSON-RPC batch.
func IsBatch(data []byte) bool {
	return jsontok.KindOf(bytes.TrimLeft(data, " \t\r\n")) == jsontok.KindArray
}

// SplitBatch returns the raw messages of a batch of at most limit messages.
func SplitBatch(data []byte, limit int) ([]json.RawMessage, *protocol.Error) {
	var (
		msgs []json.RawMessage
		many bool
	)
	err := jsontok.Array(data, func(i int, value []byte) error {
		if i >= limit {
			many = true
			return nil
		}
		msgs = append(msgs, value)
		return nil
	})
	switch {
	case err != nil:
		return nil, parseError(err)
	case many:
		return nil, protocol.Errorf(protocol.CodeInvalidRequest, "a batch holds at most %d messages", limit)
	case len(msgs) == 0:
		return nil, protocol.Errorf(protocol.CodeInvalidRequest, "a batch must not be empty")
	}
	return msgs, nil
}
