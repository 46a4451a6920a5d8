package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// maxTurns bounds how often a model is asked within one task.
const maxTurns = 16

// system is what every model is told beside the instructions of the server.
const system = "You work with tools. Do what you are asked with as few calls as it takes, and then answer in one short sentence."

// model is what solves tasks.
type model interface {
	// next returns what the model says after a conversation.
	next(ctx context.Context, c *conversation) (*reply, error)
}

// conversation is what a model has heard so far.
type conversation struct {
	task   string // the id of the task
	system string
	tools  []tool
	prompt string
	turns  []turn
}

// turn is a reply with calls, and the results of these.
type turn struct {
	reply   reply
	results []result // of reply.Calls
}

// reply is what a model says: calls, or an answer where there are none.
type reply struct {
	Text  string     `json:"text,omitempty"`
	Calls []toolCall `json:"calls,omitempty"`
}

// toolCall is a call of a tool.
type toolCall struct {
	ID        string          `json:"-"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// result is the result of a call.
type result struct {
	text    string
	failed  bool
	reached bool // came as far as the backend
}

// tool is a tool as models see it.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// run is one task, done by a model.
type run struct {
	task    *task
	err     error // why it has failed, or nil
	results []result
	answer  string
	// list and read are the bytes of the list of tools, and of all results.
	list, read int
}

// do lets a model do a task with the tools of the bridge.
func do(ctx context.Context, m model, t *task) *run {
	r := &run{task: t}
	w := newWorld()
	b, err := bridge.New(ctx, []bridge.Upstream{bridge.InProcess(w.handler(), services...)}, bridge.WithServerInfo("eval", "1"))
	if err != nil {
		r.err = err
		return r
	}
	defer b.Close()
	c := &conversation{task: t.id, prompt: t.prompt}
	if err := c.open(ctx, b, r); err != nil {
		r.err = err
		return r
	}
	for range maxTurns {
		said, err := m.next(ctx, c)
		if err != nil {
			r.err = fmt.Errorf("the model: %w", err)
			return r
		}
		if len(said.Calls) == 0 {
			r.answer = said.Text
			r.err = t.check(w, said.Text)
			return r
		}
		results := make([]result, len(said.Calls))
		for i, call := range said.Calls {
			results[i] = w.call(ctx, b, call)
			r.read += len(results[i].text)
		}
		r.results = append(r.results, results...)
		c.turns = append(c.turns, turn{*said, results})
	}
	r.err = fmt.Errorf("no answer after %d turns", maxTurns)
	return r
}

// open reads what a host shows a model before the first turn.
func (c *conversation) open(ctx context.Context, h protocol.Handler, r *run) error {
	var discovered struct{ Instructions string }
	if err := ask(ctx, h, protocol.MethodDiscover, nil, &discovered); err != nil {
		return err
	}
	c.system = strings.TrimSpace(system + "\n\n" + discovered.Instructions)
	var listed struct {
		Tools      []json.RawMessage
		NextCursor string
	}
	if err := ask(ctx, h, protocol.MethodListTools, nil, &listed); err != nil {
		return err
	}
	if listed.NextCursor != "" {
		return errors.New("the list of tools has pages")
	}
	for _, raw := range listed.Tools {
		var one tool
		if err := json.Unmarshal(raw, &one); err != nil {
			return err
		}
		shown, err := json.Marshal(one)
		if err != nil {
			return err
		}
		r.list += len(shown)
		c.tools = append(c.tools, one)
	}
	return nil
}

// call calls a tool and returns what a host shows of the result.
func (w *world) call(ctx context.Context, h protocol.Handler, call toolCall) result {
	before := w.count()
	var got struct {
		Content           []struct{ Type, Text string }
		StructuredContent json.RawMessage
		IsError           bool
	}
	params := map[string]any{"name": call.Name, "arguments": call.Arguments}
	err := ask(ctx, h, protocol.MethodCallTool, params, &got)
	out := result{failed: err != nil || got.IsError, reached: w.count() > before}
	if err != nil {
		out.text = err.Error()
		return out
	}
	var texts []string
	for _, one := range got.Content {
		if one.Type == "text" {
			texts = append(texts, one.Text)
		}
	}
	if out.text = strings.Join(texts, "\n"); out.text == "" {
		out.text = string(got.StructuredContent)
	}
	return out
}

// count returns how many calls have come as far as the backends.
func (w *world) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reached
}

// ask sends one request of MCP and reads the result.
func ask(ctx context.Context, h protocol.Handler, method string, params map[string]any, to any) error {
	if params == nil {
		params = map[string]any{}
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	res, err := h.Handle(ctx, &protocol.Request{
		Method: method, Params: raw, Caller: &protocol.Caller{}, Meta: protocol.Meta{Revision: protocol.Revision20260728},
	}, protocol.Discard)
	if err != nil {
		return err
	}
	return json.Unmarshal(res.Body, to)
}
