package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/engine"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Bridge serves the methods of its upstreams as MCP tools. It is used
// concurrently. Close must be called to release it.
type Bridge struct {
	engine    *engine.Engine
	cfg       engine.Config
	upstreams []Upstream
}

var (
	_ protocol.Handler  = (*Bridge)(nil)
	_ protocol.Resolver = (*Bridge)(nil)
)

// New reads the descriptors of all upstreams and returns a Bridge that serves
// them. It fails where an upstream's descriptors cannot be had, or an option
// is wrong; ctx bounds the reading only.
func New(ctx context.Context, upstreams []Upstream, opts ...Option) (*Bridge, error) {
	cfg := config{engine: engine.DefaultConfig(serverName, Version())}
	for _, o := range opts {
		o(&cfg)
	}
	b := &Bridge{cfg: cfg.engine, upstreams: slices.Clone(upstreams)}
	inner := make([]engine.Upstream, len(upstreams))
	problems := []error{cfg.engine.Validate()}
	for i, u := range upstreams {
		switch {
		case u.err != nil:
			problems = append(problems, fmt.Errorf("upstream %d: %w", i, u.err))
		case u.Caller == nil:
			problems = append(problems, fmt.Errorf("upstream %d has no Caller", i))
		}
		if u.Descriptors == nil {
			u.Descriptors = Reflection(u.Caller)
		}
		inner[i] = engine.Upstream{Caller: u.Caller, Descriptors: sets(u.Descriptors), Services: u.Services}
	}
	err := errors.Join(problems...)
	if err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	if b.engine, err = engine.New(ctx, inner, cfg.engine); err != nil {
		return nil, err
	}
	return b, nil
}

// Handle answers one MCP request.
func (b *Bridge) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	return b.engine.Handle(ctx, r, n)
}

// Resolve returns the RPC that a request runs, for a [protocol.Guard].
func (b *Bridge) Resolve(ctx context.Context, r *protocol.Request) (*protocol.Resolution, error) {
	return b.engine.Resolve(ctx, r)
}

// Refresh reads the descriptors of all upstreams again. Where they have
// changed, the new tools are served from then on, clients that asked are told,
// and Refresh returns true. Where one cannot be read, nothing changes.
func (b *Bridge) Refresh(ctx context.Context) (changed bool, err error) {
	return b.engine.Refresh(ctx)
}

// Close ends the Bridge's own work and the subscriptions of its clients. Calls
// in flight go on, but those to an upstream of [InProcess] are waited for.
func (b *Bridge) Close() {
	b.engine.Close()
	for _, u := range b.upstreams {
		if u.close == nil {
			continue
		}
		if err := u.close(); err != nil {
			b.cfg.Log.Warn("an upstream did not close", "error", err)
		}
	}
}

// Tool is one tool of a Bridge, or a method that cannot be one.
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
func (b *Bridge) Tools() []Tool {
	tools := b.engine.Tools()
	out := make([]Tool, len(tools))
	for i, t := range tools {
		out[i] = Tool(t)
	}
	return out
}

// Warnings returns what went wrong with parts of the upstreams' descriptors
// without keeping the rest from being served.
func (b *Bridge) Warnings() []string { return b.engine.Warnings() }

const (
	// DescribeTypeTool is the name of the tool that describes one message or enum.
	// It is listed where a schema had to leave out a part of one, and the schema
	// names it there.
	DescribeTypeTool = engine.DescribeTypeTool
	// ResourceScheme is the scheme of URIs that follow from google.api.resource:
	// resource://library.googleapis.com/shelves/1/books/2 is the book with the
	// name shelves/1/books/2.
	ResourceScheme = engine.ResourceScheme
)

// implementation is how this module presents itself as a client or a server.
func implementation() json.RawMessage {
	return engine.Implementation(serverName, "", Version())
}
