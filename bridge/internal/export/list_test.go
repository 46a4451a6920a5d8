package export_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/export"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// server answers lists.
type server map[string]func(cursor string) (string, error)

func (s server) Handle(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
	answer := s[r.Method]
	if answer == nil {
		return nil, protocol.MethodNotFound(r.Method)
	}
	var params struct{ Cursor string }
	if err := json.Unmarshal(r.Params, &params); err != nil {
		return nil, err
	}
	body, err := answer(params.Cursor)
	return &protocol.Result{Body: json.RawMessage(body), Server: json.RawMessage(`{"name":"acme/mcp-weather-server"}`)}, err
}

func always(body string) func(string) (string, error) {
	return func(string) (string, error) { return body, nil }
}

func TestList(t *testing.T) {
	t.Parallel()
	got, err := export.List(t.Context(), server{
		"tools/list": func(cursor string) (string, error) {
			if cursor == "" {
				return `{"tools":[{"name":"a","inputSchema":{"type":"object"},"annotations":{"title":"A","readOnlyHint":true}}],"nextCursor":"2"}`, nil
			}
			return `{"tools":[{"name":"b","title":"B","outputSchema":{"z":1,"a":2}}]}`, nil
		},
		"prompts/list":             always(`{"prompts":[{"name":"p","arguments":[{"name":"x","required":true}]}]}`),
		"resources/templates/list": always(`{"resourceTemplates":[{"uriTemplate":"a://{x}/{+y}{?z*}","name":"t","mimeType":"text/plain"},{"uriTemplate":"{"}]}`),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "acme/mcp-weather-server" || len(got.Tools) != 2 || got.Tools[0].Title != "A" || !*got.Tools[0].Hints.ReadOnly || string(got.Tools[1].Output) != `{"z":1,"a":2}` {
		t.Errorf("got %+v", got)
	}
	if len(got.Prompts) != 1 || !got.Prompts[0].Arguments[0].Required {
		t.Errorf("prompts %+v", got.Prompts)
	}
	if len(got.Templates) != 2 || strings.Join(got.Templates[0].Variables, " ") != "x y z" || got.Templates[1].Variables != nil {
		t.Errorf("templates %+v", got.Templates)
	}
}

func TestListErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		server server
		want   string
	}{
		{"error", server{"tools/list": func(string) (string, error) { return "", protocol.Errorf(-32603, "broken") }}, "tools/list: "},
		{"no list", server{"tools/list": always(`{}`)}, `no list "tools"`},
		{"no object", server{"prompts/list": always(`[]`)}, "prompts/list: the result cannot be read"},
		{"no tool", server{"tools/list": always(`{"tools":["x"]}`)}, "a tool cannot be read"},
		{"no prompt", server{"prompts/list": always(`{"prompts":["x"]}`)}, "a prompt cannot be read"},
		{"no template", server{"resources/templates/list": always(`{"resourceTemplates":["x"]}`)}, "a resource template cannot be read"},
		{"endless", server{"tools/list": func(cursor string) (string, error) {
			return fmt.Sprintf(`{"tools":[%s{"name":"x"}],"nextCursor":"%sx"}`, strings.Repeat(`{"name":"x"},`, 999), cursor), nil
		}}, "more than 10000 entries"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := export.List(t.Context(), tt.server, nil); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}
