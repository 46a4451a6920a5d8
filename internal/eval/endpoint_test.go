package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// endpointOf is an HTTP server that answers with responses, one after the other, and
// remembers the requests.
type endpointOf struct {
	*httptest.Server
	mu       sync.Mutex
	requests []json.RawMessage
}

func newEndpoint(t *testing.T, path string, header map[string]string, responses ...string) *endpointOf {
	t.Helper()
	e := &endpointOf{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.Method != http.MethodPost || r.URL.Path != path {
			t.Errorf("%s %s, want POST %s", r.Method, r.URL.Path, path)
		}
		for name, want := range header {
			if got := r.Header.Get(name); got != want {
				t.Errorf("header %s is %q, want %q", name, got, want)
			}
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.requests = append(e.requests, body)
		if len(e.requests) > len(responses) {
			http.Error(w, "too many requests", http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, responses[len(e.requests)-1])
	}))
	t.Cleanup(e.Close)
	return e
}

// TestEndpoints does a task with a model behind an endpoint of either shape, records it,
// and replays that.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	tuple := `{"tuple":{"subject":{"type":"user","id":"bob"},"relation":"RELATION_WRITER","document":"plan"}}`
	for _, tt := range []struct {
		shape, path string
		header      map[string]string
		responses   []string
		first, last []string // in the first and the last request
	}{
		{
			"openai", "/v1/chat/completions", map[string]string{"Authorization": "Bearer k3y", "Content-Type": "application/json"},
			[]string{
				fmt.Sprintf(`{"id":"1","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[
					{"id":"call_1","type":"function","function":{"name":"AccessService_CheckAccess","arguments":%q}}]}}],"usage":{}}`, tuple),
				`{"choices":[{"message":{"role":"assistant","content":"No."}}]}`,
			},
			[]string{
				`"model":"m1"`, `{"role":"system","content":"You work with tools.`, `These conventions hold for all tools:`, `{"role":"user","content":"May the user bob write`,
				`{"type":"function","function":{"name":"AccessService_CheckAccess","description":"`, `"parameters":{"type":"object"`,
			},
			[]string{`{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"AccessService_CheckAccess","arguments":"{\"tuple\"`, `{"role":"tool","content":"{\"allowed\":false}","tool_call_id":"call_1"}`},
		},
		{
			"anthropic", "/v1/messages", map[string]string{"X-Api-Key": "k3y", "Anthropic-Version": "2023-06-01", "Content-Type": "application/json"},
			[]string{
				`{"type":"message","role":"assistant","stop_reason":"tool_use","content":[{"type":"text","text":"Let me see."},
					{"type":"tool_use","id":"toolu_1","name":"AccessService_CheckAccess","input":` + tuple + `}]}`,
				`{"type":"message","role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":"No."}]}`,
			},
			[]string{
				`"model":"m1"`, `"max_tokens":4096`, `"system":"You work with tools.`, `"messages":[{"role":"user","content":[{"type":"text","text":"May the user bob write`,
				`{"name":"AccessService_CheckAccess","description":"`, `"input_schema":{"type":"object"`,
			},
			[]string{
				`{"role":"assistant","content":[{"type":"text","text":"Let me see."},{"type":"tool_use","id":"toolu_1","name":"AccessService_CheckAccess","input":{"tuple"`,
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"{\"allowed\":false}"}]}`,
			},
		},
	} {
		t.Run(tt.shape, func(t *testing.T) {
			t.Parallel()
			e := newEndpoint(t, tt.path, tt.header, tt.responses...)
			env := map[string]string{"MCP_EVAL_SHAPE": tt.shape, "MCP_EVAL_URL": e.URL + "/v1/", "MCP_EVAL_KEY": "k3y", "MCP_EVAL_MODEL": "m1"}
			file := filepath.Join(t.TempDir(), "recording.json")
			var asked, replayed bytes.Buffer
			if err := command(t.Context(), []string{"-tasks", "no-writer", "-record", file}, func(name string) string { return env[name] }, &asked); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(asked.String(), "| all | 1 of 1 | 1 of 1 | 0 of 0 | 0 |") {
				t.Errorf("the report is\n%s", asked.String())
			}
			if len(e.requests) != 2 {
				t.Fatalf("%d requests, want 2", len(e.requests))
			}
			for i, wants := range [][]string{tt.first, tt.last} {
				for _, want := range wants {
					if !strings.Contains(string(e.requests[i]), want) {
						t.Errorf("request %d has no %s:\n%s", i, want, e.requests[i])
					}
				}
			}
			if err := command(t.Context(), []string{"-tasks", "no-writer", "-replay", file}, noEnv, &replayed); err != nil {
				t.Fatal(err)
			}
			if asked.String() != replayed.String() {
				t.Errorf("the recording replays as\n%s", replayed.String())
			}
			data, err := os.ReadFile(file)
			if err != nil || strings.Contains(string(data), "k3y") {
				t.Errorf("the recording is %s, error %v", data, err)
			}
		})
	}
}

// TestEndpointFaults: what an endpoint answers wrongly fails the task and says why.
func TestEndpointFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		shape, path, response, want string
	}{
		{"openai", "/chat/completions", "", "answers with something else than the JSON that is expected"},
		{"openai", "/chat/completions", `{"choices":[]}`, "the response has no choices"},
		{"anthropic", "/messages", `[]`, "answers with something else than the JSON that is expected"},
		{"anthropic", "/messages", `{"content":[]}`, "nobody asked CheckAccess"},
	} {
		e := newEndpoint(t, tt.path, nil, tt.response)
		m, err := newModel(tt.shape, e.URL, "", "m")
		if err != nil {
			t.Fatal(err)
		}
		if r := do(t.Context(), m, taskOf(t, "no-writer")); r.err == nil || !strings.Contains(r.err.Error(), tt.want) {
			t.Errorf("%s %s: %v, want %s", tt.shape, tt.response, r.err, tt.want)
		}
	}
	e := newEndpoint(t, "/messages", nil)
	m, err := newModel("anthropic", e.URL, "", "m")
	if err != nil {
		t.Fatal(err)
	}
	if r := do(t.Context(), m, tasks[0]); r.err == nil || !strings.Contains(r.err.Error(), "answers 429 Too Many Requests: too many requests") {
		t.Errorf("%v", r.err)
	}
}

// TestArguments: arguments that are no JSON go to the bridge, which says what is wrong.
func TestArguments(t *testing.T) {
	t.Parallel()
	bad := `{"choices":[{"message":{"tool_calls":[{"id":"1","type":"function","function":{"name":"BlobService_GetBlob","arguments":"{\"key\":"}}]}}]}`
	none := `{"choices":[{"message":{"tool_calls":[{"id":"2","type":"function","function":{"name":"ContactService_ListContacts","arguments":""}}]}}]}`
	e := newEndpoint(t, "/chat/completions", nil, bad, none, `{"choices":[{"message":{"content":"carpe diem"}}]}`)
	m, err := newModel("openai", e.URL, "", "m")
	if err != nil {
		t.Fatal(err)
	}
	r := do(t.Context(), m, taskOf(t, "bytes-get"))
	if len(r.results) != 2 || r.results[0].reached || !r.results[0].failed || r.results[1].failed || r.err != nil {
		t.Errorf("results %+v, error %v", r.results, r.err)
	}
}

func TestShapes(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{"https://api.anthropic.com/v1": "main.anthropic", "http://localhost:11434/v1": "main.openAI"} {
		m, err := newModel("", url, "", "m")
		if got := fmt.Sprintf("%T", m); err != nil || got != want {
			t.Errorf("%s: %s, error %v, want %s", url, got, err, want)
		}
	}
}
