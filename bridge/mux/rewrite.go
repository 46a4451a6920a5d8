package mux

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// result returns what a client gets for the result of an upstream: with public ids,
// states and URIs. Everything else stays as it is.
func (v *View) result(c *call, res *protocol.Result) (*protocol.Result, error) {
	body := res.Body
	var err error
	switch {
	case res.Type == protocol.ResultInputRequired:
		if body, err = v.publicState(c, body); err != nil {
			return nil, err
		}
	case res.Type == protocol.ResultTask, c.target.Kind == protocol.TargetTask:
		if body, err = v.publicTask(c, body); err != nil {
			return nil, err
		}
		if c.member.prefixed {
			body = editMember(body, "result", c.member.publicContents)
		}
	}
	if c.member.prefixed {
		body = c.member.publicContents(body)
	}
	if len(body) == len(res.Body) && (len(body) == 0 || &body[0] == &res.Body[0]) {
		return res, nil
	}
	own := *res
	own.Body = body
	return &own, nil
}

// publicState returns the body of an input_required result with a sealed state.
func (v *View) publicState(c *call, body json.RawMessage) (json.RawMessage, error) {
	st := callState{confirmed: c.state.confirmed}
	raw, ok := jsontok.Lookup(body, "requestState")
	if st.inner, st.some = jsontok.String(raw); ok && !st.some {
		return nil, &protocol.UpstreamError{Kind: protocol.UpstreamMalformed, Message: "upstream " + c.member.name + ": its requestState is no string"}
	}
	if !st.some && st.confirmed == "" {
		return body, nil
	}
	token, err := v.sealState(c, st)
	if err != nil {
		return nil, err
	}
	return mcpjson.Set(body, "requestState", jsontok.AppendString(nil, token)), nil
}

// notifier returns a Notifier that gives what belongs to a call public names.
func (v *View) notifier(c *call, n protocol.Notifier) protocol.Notifier {
	return protocol.NotifierFunc(func(ctx context.Context, note *protocol.Notification) error {
		switch note.Method {
		case protocol.NotificationTask:
			params, err := v.publicTask(c, note.Params)
			if err != nil {
				return err
			}
			if c.member.prefixed {
				params = editMember(params, "result", c.member.publicContents)
			}
			note = &protocol.Notification{Method: note.Method, Params: params}
		case protocol.NotificationResourceUpdated:
			note = c.member.publicUpdate(note)
		}
		return n.Notify(ctx, note)
	})
}

// publicUpdate returns a notification of a changed resource with its public URI.
func (m *member) publicUpdate(note *protocol.Notification) *protocol.Notification {
	if !m.prefixed {
		return note
	}
	return &protocol.Notification{Method: note.Method, Params: m.publicURIIn(note.Params)}
}

// publicContents returns a result with public URIs in what it says of resources: the
// contents of a resource, links and embedded resources in the content of a tool's
// result and in the messages of a prompt. Text and structured content stay as they
// are.
func (m *member) publicContents(body json.RawMessage) json.RawMessage {
	// A name that is written with escapes needs the full scan as well.
	if !bytes.Contains(body, []byte(`"uri"`)) && !bytes.Contains(body, []byte(`\u`)) {
		return body
	}
	body = editMember(body, "contents", func(list json.RawMessage) json.RawMessage { return editEach(list, m.publicURIIn) })
	body = editMember(body, "content", func(list json.RawMessage) json.RawMessage { return editEach(list, m.publicBlock) })
	return editMember(body, "messages", func(list json.RawMessage) json.RawMessage {
		return editEach(list, func(message json.RawMessage) json.RawMessage {
			return editMember(message, "content", func(content json.RawMessage) json.RawMessage { return editEach(content, m.publicBlock) })
		})
	})
}

// publicBlock returns a content block with public URIs.
func (m *member) publicBlock(block json.RawMessage) json.RawMessage {
	raw, _ := jsontok.Lookup(block, "type")
	switch kind, _ := jsontok.String(raw); kind {
	case "resource_link":
		return m.publicURIIn(block)
	case "resource":
		return editMember(block, "resource", m.publicURIIn)
	}
	return block
}

// publicURIIn returns an object with its member uri in public form.
func (m *member) publicURIIn(object json.RawMessage) json.RawMessage {
	uri, fault := text(object, "uri")
	if fault != nil {
		return object
	}
	return replaceText(object, "uri", m.publicURI(uri))
}

// editMember returns an object with the value of a member edited, if it has it.
func editMember(object json.RawMessage, name string, edit func(value json.RawMessage) json.RawMessage) json.RawMessage {
	value, ok := jsontok.Lookup(object, name)
	if !ok {
		return object
	}
	return mcpjson.Replace(object, name, edit(value))
}

// editEach returns a list with each element edited, or, for one value in place of a
// list, that value edited.
func editEach(list json.RawMessage, edit func(value json.RawMessage) json.RawMessage) json.RawMessage {
	switch jsontok.KindOf(list) {
	case jsontok.KindObject:
		return edit(list)
	case jsontok.KindArray:
	default:
		return list
	}
	var out mcpjson.Array
	// It is valid.
	_ = jsontok.Array(list, func(_ int, value []byte) error {
		out.Add(edit(value))
		return nil
	})
	return out.JSON()
}

func replaceText(object json.RawMessage, name, value string) json.RawMessage {
	return mcpjson.Replace(object, name, jsontok.AppendString(nil, value))
}
