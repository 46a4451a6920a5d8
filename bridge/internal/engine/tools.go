package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/backend"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Tool is one tool of an Engine, or a method that cannot be one.
type Tool struct {
	// Name is the tool's name. It is empty where the method is no tool.
	Name string `json:"name,omitempty"`
	// Method is the full name of the RPC, such as "library.v1.Library.GetBook".
	Method string `json:"method"`
	// Title and Description are for people and models.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// InputSchema and OutputSchema are JSON Schemas, nil where the method is
	// no tool. A tool whose result is content, made of a google.api.HttpBody,
	// has no output schema.
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Annotations are MCP's ToolAnnotations.
	Annotations json.RawMessage `json:"annotations,omitempty"`
	// NotCallable says why the method is no tool.
	NotCallable string `json:"notCallable,omitempty"`
}

// Tools returns the tools that are served now, sorted by name, and after them
// the methods that cannot be tools.
func (e *Engine) Tools() []Tool {
	c := e.catalog.Load()
	out := make([]Tool, 0, len(c.tools)+len(c.others))
	for _, t := range c.tools {
		out = append(out, t.Tool)
	}
	return append(out, c.others...)
}

// Warnings returns what went wrong with parts of the upstreams' descriptors
// without keeping the rest from being served.
func (e *Engine) Warnings() []string { return e.catalog.Load().warnings }

// listTools answers tools/list.
func (e *Engine) listTools(r *protocol.Request) (*protocol.Result, error) {
	c := e.catalog.Load()
	if r.Meta.Revision == protocol.Revision20251125 && c.operations {
		return e.list(r, c, c.taskPages)
	}
	return e.list(r, c, c.pages)
}

// readCall returns what a tools/call names.
func readCall(r *protocol.Request) (name string, arguments json.RawMessage, err error) {
	raw, ok := jsontok.Lookup(r.Params, "name")
	name, isString := jsontok.String(raw)
	if !ok || !isString {
		return "", nil, protocol.Errorf(protocol.CodeInvalidParams, "params.name must be the name of a tool")
	}
	arguments, _ = jsontok.Lookup(r.Params, "arguments")
	switch jsontok.KindOf(arguments) {
	case jsontok.KindObject:
	case jsontok.KindNull, jsontok.KindInvalid:
		arguments = []byte("{}")
	default:
		return "", nil, protocol.Errorf(protocol.CodeInvalidParams, "params.arguments must be an object")
	}
	return name, arguments, nil
}

// callTool answers tools/call.
func (e *Engine) callTool(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	name, arguments, err := readCall(r)
	if err != nil {
		return nil, err
	}
	c := e.catalogOf(r)
	if name == DescribeTypeTool && c.types != nil {
		res, err := c.types.call(ctx, arguments)
		e.cfg.Log.DebugContext(ctx, "called", "tool", name, "error", err)
		return res, err
	}
	t := c.tool(name)
	if t == nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "there is no tool %q; tools/list names those there are", clip.Name(cmp.Or(e.cfg.public(name), name)))
	}
	if err = e.refuseTask(r, t); err != nil {
		return nil, err
	}
	if res, err := e.confirm(r, t, arguments); res != nil || err != nil {
		return res, err
	}
	ctx, cancel, err := withDeadline(ctx, r, t.timeout)
	if err != nil {
		return nil, err
	}
	defer cancel()
	if t.operations != nil {
		return e.callOperation(ctx, r, n, t, arguments)
	}
	start := time.Now()
	told, stop := startProgress(ctx, r, n, t.Method, t.plan.Streams())
	var observe backend.Observer
	if told != nil {
		observe = told.step
	}
	res, err := t.plan.Call(ctx, arguments, r, observe)
	stop()
	failure, _ := errors.AsType[*backend.CallError](err)
	var status *rpc.StatusError
	if failure != nil {
		status = failure.Status
	}
	e.logCall(ctx, r, n, t, status, time.Since(start))
	if failure != nil {
		if status.Code() == code.Code_UNIMPLEMENTED && !status.Local {
			e.markStale()
		}
		if err := context.Cause(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return nil, err // the client has cancelled, and hears nothing
		}
		return t.plan.Failure(failure, r, passed(ctx, r, t.timeout))
	}
	return res, err
}

// logCall tells the log, and a client that asked for log messages, that a
// call was made. Neither hears of arguments or results.
func (e *Engine) logCall(ctx context.Context, r *protocol.Request, n protocol.Notifier, t *tool, status *rpc.StatusError, took time.Duration) {
	result, level := "OK", protocol.LogDebug
	if status != nil {
		result, level = status.Code().String(), protocol.LogWarning
	}
	if e.cfg.Log.Enabled(ctx, slog.LevelDebug) {
		e.cfg.Log.DebugContext(ctx, "called", "method", t.Method, "status", result, "took", took)
	}
	if !r.Meta.LogLevel.Wants(level) {
		return
	}
	params, err := json.Marshal(map[string]any{
		"level":  level.String(),
		"logger": "mcp-bridge",
		"data":   map[string]any{"method": t.Method, "status": result, "milliseconds": took.Milliseconds()},
	})
	if err == nil {
		err = n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationMessage, Params: params})
	}
	if err != nil {
		e.cfg.Log.DebugContext(ctx, "log message not delivered", "error", err)
	}
}
