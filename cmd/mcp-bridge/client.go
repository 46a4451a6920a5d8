package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/find"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// client is an MCP client of a Handler in this process: what the commands print
// is what every other client gets.
type client struct{ handler protocol.Handler }

// clientInfo is the Implementation object of this program.
func clientInfo() json.RawMessage {
	info, err := json.Marshal(map[string]string{"name": "mcp-bridge", "version": bridge.Version()})
	if err != nil {
		return nil // strings always are JSON
	}
	return info
}

// request performs one request of the newest revision and returns the whole
// result object.
func (c client) request(ctx context.Context, method string, params any) (json.RawMessage, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	revision := protocol.Revisions()[0]
	result, err := c.handler.Handle(ctx, &protocol.Request{
		Method: method,
		Params: raw,
		Meta:   protocol.Meta{Revision: revision, ClientInfo: clientInfo(), Capabilities: json.RawMessage(`{}`)},
		Caller: &protocol.Caller{Transport: "in-process"},
	}, protocol.Discard)
	if fault, ok := errors.AsType[*protocol.UpstreamError](err); ok {
		return nil, fault // what lies beneath is no secret to who runs us
	}
	if fault, ok := errors.AsType[*protocol.Error](err); ok {
		return nil, errors.New(fault.Message)
	}
	if err != nil {
		return nil, err
	}
	return protocol.AppendResult(nil, result, revision), nil
}

// mcpTool is a tool as tools/list describes it.
type mcpTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`

	raw json.RawMessage
}

// maxListBytes bounds the pages of a list together.
const maxListBytes = 64 << 20

// listTools returns all tools, from all pages.
func (c client) listTools(ctx context.Context) ([]mcpTool, error) {
	var (
		tools  []mcpTool
		params struct {
			Cursor string `json:"cursor,omitempty"`
		}
		size int
		seen = make(map[string]bool)
	)
	for {
		raw, err := c.request(ctx, protocol.MethodListTools, params)
		if err != nil {
			return nil, err
		}
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, fmt.Errorf("tools/list: %w", err)
		}
		if size += len(raw); size > maxListBytes {
			return nil, fmt.Errorf("the list of tools is longer than %d bytes", maxListBytes)
		}
		for _, raw := range page.Tools {
			tool := mcpTool{raw: raw}
			if err := json.Unmarshal(raw, &tool); err != nil {
				return nil, fmt.Errorf("tools/list: %w", err)
			}
			tools = append(tools, tool)
		}
		if page.NextCursor == "" {
			return tools, nil
		}
		if seen[page.NextCursor] {
			return nil, errors.New("the list of tools does not end: the server has repeated a cursor")
		}
		seen[page.NextCursor] = true
		params.Cursor = page.NextCursor
	}
}

// callResult is a CallToolResult, as far as it is shown.
type callResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`

	raw json.RawMessage
}

// callTool calls a tool with the given arguments, a JSON object.
func (c client) callTool(ctx context.Context, name string, arguments json.RawMessage) (*callResult, error) {
	raw, err := c.request(ctx, protocol.MethodCallTool, map[string]any{"name": name, "arguments": arguments})
	if err != nil {
		return nil, err
	}
	result := &callResult{raw: raw}
	if err := json.Unmarshal(raw, result); err != nil {
		return nil, fmt.Errorf("tools/call: %w", err)
	}
	return result, nil
}

// describe returns a tool that is not listed, or nil if there is none.
func (c client) describe(ctx context.Context, name string) (*mcpTool, error) {
	arguments, err := json.Marshal(map[string]string{"name": name})
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", name, err)
	}
	result, err := c.callTool(ctx, find.DescribeTool, arguments)
	if err != nil || result.IsError {
		return nil, err
	}
	tool := &mcpTool{raw: result.Structured}
	if err := json.Unmarshal(tool.raw, tool); err != nil {
		return nil, fmt.Errorf("describe %s: %w", name, err)
	}
	return tool, nil
}

// texts returns the text blocks of a result.
func (r *callResult) texts() []string {
	var texts []string
	for _, block := range r.Content {
		if block.Type == "text" {
			texts = append(texts, block.Text)
		}
	}
	return texts
}
