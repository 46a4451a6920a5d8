package eraclient

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// taskSupport says whether a tool can be called as a task (2025-11-25
// basic/utilities/tasks, Tool-Level Negotiation).
type taskSupport int

const (
	taskForbidden taskSupport = iota
	taskOptional
	taskRequired
)

// taskMode is how a call is made.
type taskMode struct {
	kind taskKind
	// asked is the caller's own params.task. It is there where the caller's
	// revision has it.
	asked json.RawMessage
}

type taskKind int

const (
	// direct calls are answered at once.
	direct taskKind = iota
	// created calls become tasks of the caller.
	created
	// awaited calls become tasks that are waited for here.
	awaited
)

// taskMode decides how a request is made. The extension leaves it to the
// server whether a call becomes a task, and 2025-11-25 to the client. In
// between, a tool that can be a task becomes one wherever the caller can
// follow it.
func (s *clientSession) taskMode(ctx context.Context, r *peer.Request) (taskMode, error) {
	if !s.tasks || r.Method != protocol.MethodCallTool {
		return taskMode{}, nil
	}
	raw, _ := jsontok.Lookup(r.Params, "name")
	name, _ := jsontok.String(raw)
	support, err := s.supportOf(ctx, name, r.Header)
	if err != nil {
		return taskMode{}, err
	}
	var mode taskMode
	if raw, ok := jsontok.Lookup(r.Params, "task"); ok && jsontok.KindOf(raw) == jsontok.KindObject {
		mode.asked = raw
	}
	follows := protocol.HasExtension(r.Meta.Capabilities, protocol.ExtensionTasks)
	switch {
	case support == taskForbidden && follows && mode.asked != nil && r.Meta.Revision == protocol.Revision20251125:
		return mode, protocol.Errorf(protocol.CodeMethodNotFound, "the tool %q cannot be called as a task; call it without params.task", clip.Name(name))
	case support == taskForbidden:
	case follows:
		mode.kind = created
	case support == taskRequired:
		mode.kind = awaited
	}
	return mode, nil
}

// params returns the params of a call that is made in this mode.
func (m taskMode) params(params json.RawMessage) json.RawMessage {
	params = protocol.WithoutMember(params, "task")
	if m.kind == direct {
		return params
	}
	task := m.asked
	if task == nil {
		task = json.RawMessage(`{}`)
	}
	return mcpjson.Set(params, "task", task)
}

// supportOf returns whether a tool can be called as a task. The server is asked
// for its tools where it is not known.
func (s *clientSession) supportOf(ctx context.Context, tool string, header http.Header) (taskSupport, error) {
	select {
	case s.surveying <- struct{}{}:
		defer func() { <-s.surveying }()
	case <-ctx.Done():
		return taskForbidden, context.Cause(ctx)
	}
	s.mu.Lock()
	if s.support != nil {
		defer s.mu.Unlock()
		return s.support[tool], nil
	}
	// Where the list changes while it is read, it is read again for the next call.
	found := make(map[string]taskSupport)
	s.support = found
	s.mu.Unlock()
	err := mcpjson.EachPage(func(params json.RawMessage) (json.RawMessage, error) {
		m, err := s.conn.Call(ctx, &peer.Call{ID: s.conn.NextID(), Method: protocol.MethodListTools, Params: params, Header: header})
		switch {
		case err != nil:
			return nil, err
		case m.Error != nil:
			// What cannot be listed may be called yet, as it always could.
			s.client.log.DebugContext(ctx, "the MCP server does not say which tools can be tasks", "error", jsonrpc.ReadError(m.Error))
			return nil, nil
		}
		readSupport(m.Result, found)
		return m.Result, nil
	})
	if err != nil {
		s.forgetSupport()
		return taskForbidden, err
	}
	return found[tool], nil
}

func (s *clientSession) forgetSupport() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.support = nil
}

// readSupport reads a page of tools/list.
func readSupport(page json.RawMessage, found map[string]taskSupport) {
	tools, _ := jsontok.Lookup(page, "tools")
	if jsontok.KindOf(tools) != jsontok.KindArray {
		return
	}
	_ = jsontok.Array(tools, func(_ int, tool []byte) error { // valid already
		raw, _ := jsontok.Lookup(tool, "name")
		name, _ := jsontok.String(raw)
		execution, _ := jsontok.Lookup(tool, "execution")
		switch support, _ := jsontok.Lookup(execution, "taskSupport"); string(support) {
		case `"required"`:
			found[name] = taskRequired
		case `"optional"`:
			found[name] = taskOptional
		}
		return nil
	})
}
