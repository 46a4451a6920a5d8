package eraclient

import (
	"encoding/json"
	"log/slog"
	"testing"
)

// TestLearn: a tool that breaks the rules is left out, and no other one.
func TestLearn(t *testing.T) {
	t.Parallel()
	h := &headers{log: slog.New(slog.DiscardHandler)}
	body := `{"tools":[{"name":"good","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}},` +
		`{"name":"bad","inputSchema":{"x-mcp-header":"A"}}, {"name":"plain"}],"nextCursor":"c"}`
	got, err := h.learn(t.Context(), "me", json.RawMessage(body))
	want := `{"tools":[{"name":"good","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}},{"name":"plain"}],"nextCursor":"c"}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
	if plan, ok := h.plan("me", "good"); !ok || len(plan) != 1 {
		t.Errorf("plan %v", plan)
	}
	if _, ok := h.plan("me", "other"); ok {
		t.Error("a tool that has not been listed is known")
	}
	if _, ok := h.plan("you", "good"); ok {
		t.Error("one caller's tools are known to another")
	}
	if _, err := h.learn(t.Context(), "me", json.RawMessage(`{"tools":1}`)); err == nil {
		t.Error("a list of tools that is none is taken")
	}
}
