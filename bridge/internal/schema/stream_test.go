package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/schema"
)

// What streams add to schemas leaves them valid, keeps what they had, and stays
// within its bound.
func TestStreamSchemas(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]string{
		"no properties":      `{"type":"object","properties":{}}`,
		"no member":          `{"type":"object"}`,
		"properties":         `{"type":"object","description":"A \"properties\":{ { \\","properties":{"a":{"type":"string","description":"}"},"b":{"type":"object","properties":{"c":{"type":"string"}}}},"required":["a"]}`,
		"nothing after them": `{"type":"object","properties":{"a":{"type":"string"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limited := schema.WithLimits(json.RawMessage(message), "_limits", 1<<40, 1<<40, 1e6)
			both := schema.WithLimits(schema.Messages(json.RawMessage(message)), "_limits", 1<<40, 1<<40, 1e6)
			for _, got := range []json.RawMessage{limited, both, schema.Stream(json.RawMessage(message))} {
				if !json.Valid(got) {
					t.Errorf("invalid: %s", got)
				}
				if n := len(got) - len(message); n > schema.StreamOverhead {
					t.Errorf("%d bytes more: %s", n, got)
				}
			}
			var before, after struct {
				Description string
				Properties  map[string]json.RawMessage
				Required    []string
			}
			if err := json.Unmarshal([]byte(message), &before); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(limited, &after); err != nil {
				t.Fatal(err)
			}
			for key, want := range before.Properties {
				if got := after.Properties[key]; string(got) != string(want) {
					t.Errorf("%s became %s", key, got)
				}
			}
			if after.Properties["_limits"] == nil || len(after.Properties) != len(before.Properties)+1 ||
				after.Description != before.Description || len(after.Required) != len(before.Required) {
				t.Errorf("got %s", limited)
			}
		})
	}
}
