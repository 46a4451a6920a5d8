package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/yosida95/uritemplate/v3"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typed"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	// maxEntries is how many tools, prompts or templates are read, and
	// maxListBytes how much text they may have.
	maxEntries   = 10_000
	maxListBytes = 64 << 20
)

// lister asks a server what it offers.
type lister struct {
	handler protocol.Handler
	client  json.RawMessage
	server  string
}

// List returns what the server behind a handler offers, to this program itself:
// it asks as the internal principal. The client is the
// Implementation object of the one who asks. It is an error if the server
// offers more than 10,000 entries of a kind.
func List(ctx context.Context, handler protocol.Handler, client json.RawMessage) (typed.Server, error) {
	l := &lister{handler: handler, client: client}
	var server typed.Server
	err := l.list(ctx, protocol.MethodListTools, "tools", func(raw json.RawMessage) error {
		t, err := readTool(raw)
		server.Tools = append(server.Tools, t)
		return err
	})
	if err == nil {
		err = l.list(ctx, protocol.MethodListPrompts, "prompts", func(raw json.RawMessage) error {
			p, err := readPrompt(raw)
			server.Prompts = append(server.Prompts, p)
			return err
		})
	}
	if err == nil {
		err = l.list(ctx, protocol.MethodListTemplates, "resourceTemplates", func(raw json.RawMessage) error {
			t, err := readTemplate(raw)
			server.Templates = append(server.Templates, t)
			return err
		})
	}
	if err != nil {
		return typed.Server{}, err
	}
	server.Name = l.server
	return server, nil
}

// list visits the entries of all pages of a list. A server without the method
// has none.
func (l *lister) list(ctx context.Context, method, member string, visit func(json.RawMessage) error) error {
	revision := protocol.Revisions()[0]
	cursor, count, size := "", 0, 0
	for {
		params := json.RawMessage(`{}`)
		if cursor != "" {
			var err error
			if params, err = json.Marshal(map[string]string{"cursor": cursor}); err != nil {
				return fmt.Errorf("%s: %w", method, err)
			}
		}
		result, err := l.handler.Handle(ctx, &protocol.Request{
			Method: method,
			Params: params,
			Meta:   protocol.Meta{Revision: revision, ClientInfo: l.client, Capabilities: json.RawMessage(`{}`)},
			Caller: protocol.InternalCaller(),
		}, protocol.Discard)
		if fault, ok := errors.AsType[*protocol.Error](err); ok && fault.Code == protocol.CodeMethodNotFound {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		l.note(result)
		var page map[string]json.RawMessage
		if err := json.Unmarshal(result.Body, &page); err != nil {
			return fmt.Errorf("%s: the result cannot be read: %w", method, err)
		}
		var entries []json.RawMessage
		if err := json.Unmarshal(page[member], &entries); err != nil {
			return fmt.Errorf("%s: the result has no list %q: %w", method, member, err)
		}
		size += len(result.Body)
		if count += len(entries); count > maxEntries || size > maxListBytes {
			return fmt.Errorf("%s: there are more than %d entries, or %d bytes of them", method, maxEntries, maxListBytes)
		}
		for _, raw := range entries {
			if err := visit(raw); err != nil {
				return fmt.Errorf("%s: %w", method, err)
			}
		}
		last := cursor
		cursor = ""
		_ = json.Unmarshal(page["nextCursor"], &cursor) // none, where it is no string
		if cursor == "" || cursor == last {
			return nil
		}
	}
}

// note remembers the name of the server.
func (l *lister) note(r *protocol.Result) {
	var server struct {
		Name string `json:"name"`
	}
	if l.server == "" && json.Unmarshal(r.Server, &server) == nil {
		l.server = server.Name
	}
}

func readTool(raw json.RawMessage) (typed.Tool, error) {
	var t struct {
		Name         string          `json:"name"`
		Title        string          `json:"title"`
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema"`
		Annotations  struct {
			Title       string `json:"title"`
			ReadOnly    *bool  `json:"readOnlyHint"`
			Destructive *bool  `json:"destructiveHint"`
			Idempotent  *bool  `json:"idempotentHint"`
			OpenWorld   *bool  `json:"openWorldHint"`
		} `json:"annotations"`
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return typed.Tool{}, fmt.Errorf("a tool cannot be read: %w", err)
	}
	if t.Title == "" {
		t.Title = t.Annotations.Title
	}
	return typed.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description, Input: t.InputSchema, Output: t.OutputSchema,
		Hints: typed.Hints{ReadOnly: t.Annotations.ReadOnly, Destructive: t.Annotations.Destructive, Idempotent: t.Annotations.Idempotent, OpenWorld: t.Annotations.OpenWorld},
	}, nil
}

func readPrompt(raw json.RawMessage) (typed.Prompt, error) {
	var p struct {
		Name        string `json:"name"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Arguments   []struct {
			Name        string `json:"name"`
			Title       string `json:"title"`
			Description string `json:"description"`
			Required    bool   `json:"required"`
		} `json:"arguments"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return typed.Prompt{}, fmt.Errorf("a prompt cannot be read: %w", err)
	}
	prompt := typed.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
	for _, a := range p.Arguments {
		prompt.Arguments = append(prompt.Arguments, typed.Argument{Name: a.Name, Title: a.Title, Description: a.Description, Required: a.Required})
	}
	return prompt, nil
}

func readTemplate(raw json.RawMessage) (typed.Template, error) {
	var t struct {
		URI         string `json:"uriTemplate"`
		Name        string `json:"name"`
		Title       string `json:"title"`
		Description string `json:"description"`
		MIMEType    string `json:"mimeType"`
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return typed.Template{}, fmt.Errorf("a resource template cannot be read: %w", err)
	}
	template := typed.Template{URI: t.URI, Name: t.Name, Title: t.Title, Description: t.Description, MIMEType: t.MIMEType}
	if parsed, err := uritemplate.New(t.URI); err == nil {
		template.Variables = parsed.Varnames()
	}
	return template, nil
}
