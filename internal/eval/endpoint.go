package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

const (
	// maxReply bounds how much of a response is read, in bytes, and maxShown how much of
	// one that reports an error is shown.
	maxReply = 8 << 20
	maxShown = 500
	// maxTokens bounds a reply of a model that has to be told.
	maxTokens = 4096
	// replyTimeout bounds the wait for one reply.
	replyTimeout = 3 * time.Minute
)

// endpoint is where a model is asked over HTTP.
type endpoint struct {
	url, key, model string
	client          *http.Client
}

// shapes are the kinds of endpoints, by their names.
var shapes = map[string]func(endpoint) model{
	"openai":    func(e endpoint) model { return openAI{e} },
	"anthropic": func(e endpoint) model { return anthropic{e} },
}

// newModel returns the model behind an endpoint. An empty shape is anthropic for URLs of
// anthropic.com, and openai for all others. The URL is that before /chat/completions or
// /messages.
func newModel(shape, url, key, name string) (model, error) {
	if url == "" || name == "" {
		return nil, errors.New("an endpoint needs a URL and the name of a model")
	}
	if shape == "" {
		shape = "openai"
		if strings.Contains(url, "anthropic.com") {
			shape = "anthropic"
		}
	}
	of, ok := shapes[shape]
	if !ok {
		return nil, fmt.Errorf("there is no shape %q; want openai or anthropic", shape)
	}
	return of(endpoint{strings.TrimRight(url, "/"), key, name, &http.Client{Timeout: replyTimeout}}), nil
}

// post sends JSON and reads JSON.
func (e endpoint) post(ctx context.Context, path string, header map[string]string, body, to any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	res, err := e.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	data, err = io.ReadAll(io.LimitReader(res.Body, maxReply+1))
	switch {
	case err != nil:
		return err
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answers %s: %s", e.url+path, res.Status, data[:min(len(data), maxShown)])
	case len(data) > maxReply:
		return fmt.Errorf("%s answers more than %d bytes", e.url+path, maxReply)
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("%s answers with something else than the JSON that is expected: %w", e.url+path, err)
	}
	return nil
}

// objectOr returns arguments that are one JSON object, or an empty one: models write
// nothing for no arguments.
func objectOr(raw []byte) json.RawMessage {
	if len(bytes.TrimSpace(raw)) == 0 || string(raw) == "null" {
		return json.RawMessage(`{}`)
	}
	return raw
}

// openAI is a model behind an endpoint with the shape of OpenAI's chat completions.
type openAI struct{ endpoint }

type openAIMessage struct {
	Role       string       `json:"role"`
	Content    *string      `json:"content"`
	ToolCalls  []openAICall `json:"tool_calls,omitempty"`
	ToolCallID string       `json:"tool_call_id,omitempty"`
}

type openAICall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function openAIFunction `json:"function"`
}

type openAIFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Arguments   string          `json:"arguments,omitempty"`
}

type openAITool struct {
	Type     string         `json:"type"`
	Function openAIFunction `json:"function"`
}

// next asks the model.
func (m openAI) next(ctx context.Context, c *conversation) (*reply, error) {
	request := struct {
		Model    string          `json:"model"`
		Messages []openAIMessage `json:"messages"`
		Tools    []openAITool    `json:"tools"`
	}{Model: m.model, Messages: []openAIMessage{{Role: "system", Content: &c.system}, {Role: "user", Content: &c.prompt}}}
	for _, t := range c.tools {
		request.Tools = append(request.Tools, openAITool{"function", openAIFunction{Name: t.Name, Description: t.Description, Parameters: t.InputSchema}})
	}
	for _, t := range c.turns {
		said := openAIMessage{Role: "assistant"}
		if t.reply.Text != "" {
			said.Content = &t.reply.Text
		}
		for _, call := range t.reply.Calls {
			said.ToolCalls = append(said.ToolCalls, openAICall{call.ID, "function", openAIFunction{Name: call.Name, Arguments: string(call.Arguments)}})
		}
		request.Messages = append(request.Messages, said)
		for i, call := range t.reply.Calls {
			request.Messages = append(request.Messages, openAIMessage{Role: "tool", Content: &t.results[i].text, ToolCallID: call.ID})
		}
	}
	var response struct {
		Choices []struct{ Message openAIMessage }
	}
	if err := m.post(ctx, "/chat/completions", map[string]string{"Authorization": "Bearer " + m.key}, request, &response); err != nil {
		return nil, err
	}
	if len(response.Choices) == 0 {
		return nil, errors.New("the response has no choices")
	}
	said, out := response.Choices[0].Message, &reply{}
	if said.Content != nil {
		out.Text = *said.Content
	}
	for _, call := range said.ToolCalls {
		arguments := objectOr([]byte(call.Function.Arguments))
		if !json.Valid(arguments) { // the bridge says what is wrong with it
			arguments, _ = json.Marshal(call.Function.Arguments) // a string can be marshaled
		}
		out.Calls = append(out.Calls, toolCall{call.ID, call.Function.Name, arguments})
	}
	return out, nil
}

// anthropic is a model behind an endpoint with the shape of Anthropic's messages.
type anthropic struct{ endpoint }

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
}

type anthropicMessage struct {
	Role    string           `json:"role"`
	Content []anthropicBlock `json:"content"`
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// next asks the model.
func (m anthropic) next(ctx context.Context, c *conversation) (*reply, error) {
	request := struct {
		Model     string             `json:"model"`
		MaxTokens int                `json:"max_tokens"`
		System    string             `json:"system"`
		Messages  []anthropicMessage `json:"messages"`
		Tools     []anthropicTool    `json:"tools"`
	}{Model: m.model, MaxTokens: maxTokens, System: c.system, Messages: []anthropicMessage{{"user", []anthropicBlock{{Type: "text", Text: c.prompt}}}}}
	for _, t := range c.tools {
		request.Tools = append(request.Tools, anthropicTool(t))
	}
	for _, t := range c.turns {
		var said, heard []anthropicBlock
		if t.reply.Text != "" {
			said = append(said, anthropicBlock{Type: "text", Text: t.reply.Text})
		}
		for i, call := range t.reply.Calls {
			said = append(said, anthropicBlock{Type: "tool_use", ID: call.ID, Name: call.Name, Input: call.Arguments})
			heard = append(heard, anthropicBlock{Type: "tool_result", ToolUseID: call.ID, Content: t.results[i].text, IsError: t.results[i].failed})
		}
		request.Messages = append(request.Messages, anthropicMessage{"assistant", said}, anthropicMessage{"user", heard})
	}
	var response struct{ Content []anthropicBlock }
	header := map[string]string{"X-Api-Key": m.key, "Anthropic-Version": "2023-06-01"}
	if err := m.post(ctx, "/messages", header, request, &response); err != nil {
		return nil, err
	}
	out := &reply{}
	for _, b := range response.Content {
		switch b.Type {
		case "text":
			out.Text += b.Text
		case "tool_use":
			out.Calls = append(out.Calls, toolCall{b.ID, b.Name, objectOr(b.Input)})
		}
	}
	return out, nil
}
