package mux

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// named passes a request on to the part that has the tool or prompt of that
// name. list is the method by which such names are listed.
func (m *Mux) named(ctx context.Context, r *protocol.Request, n protocol.Notifier, list string) (*protocol.Result, error) {
	name, fault := text(r.Params, "name")
	if fault != nil {
		return nil, fault
	}
	k, ok := m.find(ctx, r, list, name)
	if !ok {
		return nil, m.unknown(list, name)
	}
	return m.pass(ctx, k.part, withName(r, "name", k.name, name), n)
}

// unknown is the error for a name that no part has, as far as they are there.
func (m *Mux) unknown(list, name string) error {
	what := strings.TrimSuffix(listMembers[list], "s")
	var down []string
	for _, p := range m.parts {
		if p.fault() != nil {
			down = append(down, p.name)
		}
	}
	if len(down) > 0 {
		return protocol.Errorf(protocol.CodeInvalidParams, "there is no %s %q now, while these upstreams are unavailable: %s", what, name, strings.Join(down, ", "))
	}
	return protocol.Errorf(protocol.CodeInvalidParams, "there is no %s %q; %s names those there are", what, name, list)
}

// find returns whose name one is, and reads the lists anew where nobody's.
func (m *Mux) find(ctx context.Context, r *protocol.Request, list, name string) (key, bool) {
	names := m.names[list]
	if k, ok := names.lookup(name); ok {
		return k, true
	}
	ask := *r
	ask.Method, ask.Params = list, json.RawMessage(`{}`)
	ask.Meta.ProgressToken, ask.Meta.LogLevel = nil, protocol.LogNone
	if names.given() {
		m.readAll(ctx, &ask)
	} else if _, err := m.list(ctx, &ask); err != nil {
		return key{}, false
	}
	return names.lookup(name)
}

// read passes resources/read on to the part that lists the resource, and where
// none does, to one after the other until one knows it.
func (m *Mux) read(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	uri, fault := text(r.Params, "uri")
	if fault != nil {
		return nil, fault
	}
	if k, ok := m.find(ctx, r, protocol.MethodListResources, uri); ok {
		return m.pass(ctx, k.part, r, n)
	}
	return m.first(ctx, r, n)
}

// first passes a request on to the parts, one after the other, until one has an
// answer to it.
func (m *Mux) first(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	var failed error
	for _, p := range m.parts {
		if p.settled(ctx) != nil {
			continue
		}
		res, err := m.pass(ctx, p, r, n)
		if err == nil || ctx.Err() != nil {
			return res, err
		}
		fault, ok := errors.AsType[*protocol.Error](err)
		foreign := ok && (fault.Code == protocol.CodeInvalidParams || fault.Code == protocol.CodeResourceNotFound || fault.Code == protocol.CodeMethodNotFound)
		if !foreign {
			return nil, err
		}
		// That it is not there says more than that there is no such method.
		if before, ok := errors.AsType[*protocol.Error](failed); !ok || before.Code == protocol.CodeMethodNotFound {
			failed = err
		}
	}
	if failed == nil {
		failed = &protocol.UpstreamError{Kind: protocol.UpstreamUnavailable, Message: "all upstreams are unavailable", Unsent: true}
	}
	return nil, failed
}

// complete passes completion/complete on to the part that has what the
// reference names.
func (m *Mux) complete(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	ref, ok := jsontok.Lookup(r.Params, "ref")
	if !ok || jsontok.KindOf(ref) != jsontok.KindObject {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.ref must be an object that names a prompt or a resource template")
	}
	if name, fault := text(ref, "name"); fault == nil {
		k, ok := m.find(ctx, r, protocol.MethodListPrompts, name)
		if !ok {
			return nil, m.unknown(protocol.MethodListPrompts, name)
		}
		own := *r
		own.Params = mcpjson.Replace(r.Params, "ref", mcpjson.Replace(ref, "name", jsontok.AppendString(nil, k.name)))
		return m.pass(ctx, k.part, &own, n)
	}
	if uri, fault := text(ref, "uri"); fault == nil {
		for _, list := range []string{protocol.MethodListTemplates, protocol.MethodListResources} {
			if k, ok := m.find(ctx, r, list, uri); ok {
				return m.pass(ctx, k.part, r, n)
			}
		}
	}
	return m.first(ctx, r, n)
}

// The id of a task of a part is in the whole PART.ID.
const taskSeparator = "."

// task passes a request about a task on to its part.
func (m *Mux) task(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	id, fault := text(r.Params, "taskId")
	if fault != nil {
		return nil, fault
	}
	name, inner, _ := strings.Cut(id, taskSeparator)
	for _, p := range m.parts {
		if p.name == name {
			return m.pass(ctx, p, withName(r, "taskId", inner, id), n)
		}
	}
	return nil, protocol.Errorf(protocol.CodeInvalidParams, "there is no task %q", id)
}

// pass asks a part, and gives the tasks in what it answers their names.
func (m *Mux) pass(ctx context.Context, p *part, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	res, err := p.ask(ctx, r, protocol.NotifierFunc(func(ctx context.Context, note *protocol.Notification) error {
		return n.Notify(ctx, p.rename(note))
	}))
	if err != nil {
		return nil, err
	}
	if res.Type == protocol.ResultTask || r.Method == protocol.MethodGetTask {
		own := *res
		own.Body = p.renameTask(res.Body)
		return &own, nil
	}
	return res, nil
}

// rename gives the task of a notification its name.
func (p *part) rename(note *protocol.Notification) *protocol.Notification {
	if note.Method != protocol.NotificationTask {
		return note
	}
	return &protocol.Notification{Method: note.Method, Params: p.renameTask(note.Params)}
}

func (p *part) renameTask(raw json.RawMessage) json.RawMessage {
	id, fault := text(raw, "taskId")
	if fault != nil {
		return raw
	}
	return mcpjson.Replace(raw, "taskId", jsontok.AppendString(nil, p.name+taskSeparator+id))
}

// withName returns a request with another value of a member, if it is another.
func withName(r *protocol.Request, member, name, was string) *protocol.Request {
	if name == was {
		return r
	}
	own := *r
	own.Params = mcpjson.Replace(r.Params, member, jsontok.AppendString(nil, name))
	return &own
}

// text returns a member of an object that must be a string.
func text(raw json.RawMessage, member string) (string, *protocol.Error) {
	v, ok := jsontok.Lookup(raw, member)
	if s, isString := jsontok.String(v); ok && isString {
		return s, nil
	}
	return "", protocol.Errorf(protocol.CodeInvalidParams, "params.%s must be a string", member)
}
