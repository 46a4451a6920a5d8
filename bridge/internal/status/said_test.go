package status

import (
	"encoding/json"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// TestSaid tests what codes failed tools have.
func TestSaid(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		meta, body string // body is the members beside isError
		want       code.Code
		delay      time.Duration
	}{
		{"", `"content":[{"type":"text","text":"it does not work"}]`, code.Code_UNKNOWN, 0},
		{"", `"content":[]`, code.Code_UNKNOWN, 0},
		{"", `"content":[],"structuredContent":{"code":"UNAVAILABLE"}`, code.Code_UNAVAILABLE, 0},
		{"", `"content":[],"structuredContent":{"code":"not-found"}`, code.Code_NOT_FOUND, 0},
		{"", `"content":[],"structuredContent":{"error":{"status":"RESOURCE_EXHAUSTED","retry_after":"2"}}`, code.Code_RESOURCE_EXHAUSTED, 2 * time.Second},
		{"", `"content":[],"structuredContent":{"error":{"code":429,"retryAfterMs":1500}}`, code.Code_RESOURCE_EXHAUSTED, 1500 * time.Millisecond},
		{"", `"content":[],"structuredContent":{"retryable":true}`, code.Code_UNAVAILABLE, 0},
		{"", `"content":[],"structuredContent":{"retryAfter":1}`, code.Code_UNAVAILABLE, time.Second},
		{"", `"content":[],"structuredContent":{"retryable":false,"retryAfter":1}`, code.Code_FAILED_PRECONDITION, 0},
		{"", `"content":[],"structuredContent":{"retryable":false,"status":503}`, code.Code_FAILED_PRECONDITION, 0},
		{"", `"content":[],"structuredContent":{"retryable":false,"status":404}`, code.Code_NOT_FOUND, 0},
		{"", `"content":[],"structuredContent":{"is_retryable":true,"httpStatus":500}`, code.Code_UNAVAILABLE, 0},
		{"", `"content":[],"structuredContent":{"code":"OK"}`, code.Code_UNKNOWN, 0},
		{"", `"content":[],"structuredContent":{"code":"E_CONN","status":"open"}`, code.Code_UNKNOWN, 0},
		{"", `"content":[],"structuredContent":{"code":3}`, code.Code_UNKNOWN, 0},
		{"", `"content":[],"structuredContent":{"retryAfter":1e300,"code":429}`, code.Code_RESOURCE_EXHAUSTED, maxDelay},
		{"", `"content":[],"structuredContent":[1]`, code.Code_UNKNOWN, 0},
		{`{"retryable":true}`, `"content":[],"structuredContent":{"code":404}`, code.Code_UNAVAILABLE, 0},
		{"", `"content":[{"type":"text","text":" {\"error\":{\"code\":\"PERMISSION_DENIED\"}}"}]`, code.Code_PERMISSION_DENIED, 0},
		{"", `"content":[{"type":"text","text":"{\"code\":"}]`, code.Code_UNKNOWN, 0},
		{"", `"content":[{"type":"text","text":"GitHub API error: 503 Service Unavailable"}]`, code.Code_UNAVAILABLE, 0},
		{"", `"content":[{"type":"text","text":"404 Not Found"}]`, code.Code_NOT_FOUND, 0},
		{"", `"content":[{"type":"text","text":"there are 503 services, 429 Too few"}]`, code.Code_UNKNOWN, 0},
	} {
		res := &protocol.Result{Body: json.RawMessage(`{` + tt.body + `,"isError":true}`)}
		if tt.meta != "" {
			res.Meta = json.RawMessage(tt.meta)
		}
		if got := SaidBy(res); got.Code != tt.want || got.Delay != tt.delay {
			t.Errorf("%s %s says %v after %v, want %v after %v", tt.meta, tt.body, got.Code, got.Delay, tt.want, tt.delay)
		}
		st, err := OfTool(protocol.MethodCallTool, res)
		if err != nil || code.Code(st.GetCode()) != tt.want {
			t.Errorf("%s: status %v, %v; want %v", tt.body, st, err, tt.want)
			continue
		}
		var delay time.Duration
		for _, d := range st.GetDetails() {
			retry := &errdetails.RetryInfo{}
			if d.MessageIs(retry) && d.UnmarshalTo(retry) == nil {
				delay = retry.GetRetryDelay().AsDuration()
			}
		}
		if delay != tt.delay {
			t.Errorf("%s: the status says to wait %v, want %v", tt.body, delay, tt.delay)
		}
		if ToolResult(st) == nil {
			t.Errorf("%s: %v has no result", tt.body, st)
		}
	}
}

// FuzzSaid tests that no result of a tool makes a status that cannot be.
func FuzzSaid(f *testing.F) {
	f.Add([]byte(`{"code":"UNAVAILABLE","retryAfter":"1"}`), "503 Service Unavailable")
	f.Add([]byte(`{"error":{"retryable":false,"status":-1,"retry-after-ms":1e400}}`), `{"code":"\ud800"}`)
	f.Fuzz(func(t *testing.T, structured []byte, text string) {
		if !json.Valid(structured) {
			structured = []byte("null")
		}
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Skip("text that no JSON has")
		}
		body := `{"content":[{"type":"text","text":` + string(quoted) + `}],"isError":true,"structuredContent":` + string(structured) + `}`
		said := SaidBy(&protocol.Result{Body: json.RawMessage(body)})
		if said.Code == code.Code_OK || code.Code_name[int32(said.Code)] == "" || said.Delay < 0 || said.Delay > maxDelay {
			t.Errorf("%s says %v after %v", body, said.Code, said.Delay)
		}
	})
}
