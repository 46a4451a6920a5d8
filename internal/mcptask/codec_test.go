package mcptask_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcptask"
)

func TestForms(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ extension, legacy, status string }{
		{
			`{"createdAt":"c","x/y":[1.0],"pollIntervalMs":50,"taskId":"a","status":"working","ttlMs":null}`,
			`{"createdAt":"c","x/y":[1.0],"pollInterval":50,"taskId":"a","ttl":null,"status":"working"}`, "working",
		},
		{
			`{"taskId":"a","status":"completed","ttlMs":1000,"result":{"content":[{"type":"text","text":"no"}],"isError":true}}`,
			`{"taskId":"a","ttl":1000,"statusMessage":"no","status":"failed"}`, "failed",
		},
		{
			`{"taskId":"a","status":"failed","ttlMs":1,"error":{"code":1,"message":"why"}}`,
			`{"taskId":"a","ttl":1,"statusMessage":"why","status":"failed"}`, "failed",
		},
	} {
		task := mcptask.ReadExtension(json.RawMessage(tt.extension))
		if got, status := task.Legacy(); string(got) != tt.legacy || status != tt.status {
			t.Errorf("%s: %s, %s; want %s", tt.extension, got, status, tt.legacy)
		}
		if got := string(task.Extension("a")); got != tt.extension {
			t.Errorf("%s: written as %s", tt.extension, got)
		}
	}
	task, ok := mcptask.ReadLegacy(json.RawMessage(`{"taskId":"a","status":"working","ttl":60000,"pollInterval":1e9,"ttlMs":1,"result":{}}`))
	if !ok || task.Lifetime() != time.Minute || task.Interval() != mcptask.DefaultPoll || task.Result != nil {
		t.Errorf("%+v, %t", task, ok)
	}
	for _, raw := range []string{`[]`, `{}`, `{"taskId":"a"}`, `{"status":"working"}`, `{"taskId":1,"status":"working"}`} {
		if _, ok := mcptask.ReadLegacy(json.RawMessage(raw)); ok {
			t.Errorf("%s is a task", raw)
		}
	}
}

// FuzzReadLegacy: whatever a server says of a task is one JSON object with our
// id.
func FuzzReadLegacy(f *testing.F) {
	for _, s := range []string{
		`{"taskId":"t","status":"working","ttl":1,"pollInterval":5,"createdAt":"c","statusMessage":"m","x":[1.0],"_meta":{}}`,
		`{"taskId":"t","status":"working","ttl":null,"taskid":1,"ttlMs":2}`, `{"taskId":"t","status":"x","pollInterval":1e400}`,
		`{"taskId":1,"status":"working"}`, `{}`, `[]`, `{`, ``,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if !json.Valid([]byte(raw)) {
			return // messages are valid
		}
		task, ok := mcptask.ReadLegacy(json.RawMessage(raw))
		if !ok {
			return
		}
		if d := task.Lifetime(); d < 0 || d > mcptask.MaxKept || task.Interval() < mcptask.MinPoll || task.Interval() > mcptask.MaxPoll {
			t.Errorf("lifetime %s, interval %s", d, task.Interval())
		}
		task.Result = json.RawMessage(`{}`)
		got := task.Extension("ours")
		if !json.Valid(got) {
			t.Fatalf("%s gives %s", raw, got)
		}
		seen := make(map[string]int)
		if err := jsontok.Object(got, func(key, _ []byte) error { seen[string(key)]++; return nil }); err != nil {
			t.Fatalf("%s gives %s: %v", raw, got, err)
		}
		if id, _ := jsontok.Lookup(got, "taskId"); string(id) != `"ours"` || seen["status"] != 1 || seen["ttlMs"] != 1 || seen["result"] != 1 {
			t.Fatalf("%s gives %s", raw, got)
		}
		again := mcptask.ReadExtension(got)
		if again.Status != task.Status || again.Message != task.Message || again.Interval() != task.Interval() {
			t.Errorf("%s: %+v, then %+v", raw, task, again)
		}
	})
}
