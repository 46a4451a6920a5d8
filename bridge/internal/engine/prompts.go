package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/backend"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	optionsv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/options/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// prompt is what a method returns, as a message of a user.
type prompt struct {
	tool        *tool
	name        string
	description string
	text        fieldPath
	entry       []byte // in prompts/list
}

// newPrompt returns the prompt that options make of a method.
func newPrompt(t *tool, method protoreflect.MethodDescriptor, o *optionsv1.Prompt) (*prompt, error) {
	if method.IsStreamingClient() || method.IsStreamingServer() {
		return nil, errors.New("a method that streams cannot be a prompt")
	}
	p := &prompt{tool: t, name: or(o.GetName(), t.Name), description: or(o.GetDescription(), t.Description)}
	if name := o.GetTextField(); name != "" {
		var err error
		if p.text, err = findField(method.Output(), name); err != nil {
			return nil, fmt.Errorf("text_field: %w", err)
		}
		if p.text.list {
			return nil, fmt.Errorf("text_field: %q is a list", name)
		}
	}
	e := jsontok.AppendString([]byte(`{"name":`), p.name)
	e = jsontok.AppendString(append(e, `,"title":`...), or(o.GetTitle(), t.Title))
	e = jsontok.AppendString(append(e, `,"description":`...), p.description)
	e = append(append(e, `,"arguments":`...), promptArguments(t.InputSchema)...)
	p.entry = append(e, '}')
	return p, nil
}

// promptArguments returns the arguments of a prompt, which are the properties of
// the tool's arguments.
func promptArguments(input json.RawMessage) json.RawMessage {
	required := make(map[string]bool)
	if list, ok := jsontok.Lookup(input, "required"); ok {
		// The schema is ours, and the visitors return no errors.
		_ = jsontok.Array(list, func(_ int, value []byte) error {
			name, _ := jsontok.String(value)
			required[name] = true
			return nil
		})
	}
	properties, _ := jsontok.Lookup(input, "properties")
	var list mcpjson.Array
	_ = jsontok.Object(properties, func(key, value []byte) error {
		var argument mcpjson.Object
		argument.Add("name", jsontok.AppendString(nil, key))
		if text, ok := jsontok.Lookup(value, "description"); ok {
			argument.Add("description", text)
		}
		if required[string(key)] {
			argument.Add("required", []byte("true"))
		}
		list.Add(argument.JSON())
		return nil
	})
	return list.JSON()
}

// readPrompt returns what a prompts/get names.
func (c *catalog) readPrompt(r *protocol.Request) (*prompt, json.RawMessage, error) {
	raw, ok := jsontok.Lookup(r.Params, "name")
	name, isString := jsontok.String(raw)
	if !ok || !isString {
		return nil, nil, protocol.Errorf(protocol.CodeInvalidParams, "params.name must be the name of a prompt")
	}
	p := c.prompt(name)
	if p == nil {
		return nil, nil, protocol.Errorf(protocol.CodeInvalidParams, "there is no prompt %q; prompts/list names those there are", clip.Text(name, maxSummary))
	}
	arguments, ok := jsontok.Lookup(r.Params, "arguments")
	switch kind := jsontok.KindOf(arguments); {
	case !ok || kind == jsontok.KindNull:
		arguments = []byte(`{}`)
	case kind != jsontok.KindObject:
		return nil, nil, protocol.Errorf(protocol.CodeInvalidParams, "params.arguments must be an object of strings")
	}
	return p, arguments, nil
}

// getPrompt answers prompts/get.
func (e *Engine) getPrompt(ctx context.Context, r *protocol.Request) (*protocol.Result, error) {
	p, arguments, err := e.catalogOf(r).readPrompt(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel, err := withDeadline(ctx, r, p.tool.timeout)
	if err != nil {
		return nil, err
	}
	defer cancel()
	reading, err := p.tool.plan.Read(ctx, arguments, r)
	if e, ok := errors.AsType[*transcode.ArgumentError](err); ok {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "%s", e.Error())
	}
	if failure, ok := errors.AsType[*backend.CallError](err); ok {
		if err := context.Cause(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		}
		result, err := p.tool.plan.Failure(failure, r, passed(ctx, r, p.tool.timeout))
		if err != nil {
			return nil, err
		}
		return nil, &protocol.Error{Code: protocol.CodeInternalError, Message: firstText(result)}
	}
	if err != nil {
		return nil, err
	}
	body := jsontok.AppendString([]byte(`{"description":`), p.description)
	body = append(body, `,"messages":[{"role":"user","content":{"type":"text","text":`...)
	body = jsontok.AppendString(body, p.textOf(reading))
	return &protocol.Result{Body: append(body, `}}]}`...)}, nil
}

func (p *prompt) textOf(reading *backend.Reading) string {
	if reading.JSON == nil {
		return string(reading.Content)
	}
	value := []byte(reading.JSON)
	for _, name := range p.text.names {
		var ok bool
		if value, ok = jsontok.Lookup(value, name); !ok {
			return ""
		}
	}
	if text, ok := jsontok.String(value); ok {
		return text
	}
	return string(value)
}

// prompt returns the prompt of that name, or nil.
func (c *catalog) prompt(name string) *prompt {
	for _, p := range c.prompts {
		if p.name == name {
			return p
		}
	}
	return nil
}

// list returns a function that answers a list request from pages.
func (e *Engine) list(r *protocol.Request, c *catalog, pages []json.RawMessage) (*protocol.Result, error) {
	page := 0
	if raw, ok := jsontok.Lookup(r.Params, "cursor"); ok {
		cursor, isString := jsontok.String(raw)
		if page, ok = c.parseCursor(cursor, len(pages)); !isString || !ok {
			return nil, protocol.Errorf(protocol.CodeInvalidParams, "the cursor is unknown, or the list has changed since it was given: list again without it")
		}
	}
	return &protocol.Result{Body: pages[page], Cache: listCache()}, nil
}
