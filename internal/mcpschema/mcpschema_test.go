package mcpschema_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/mcpschema"
)

var revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		revs    string // space separated; empty means all
		message string
		method  string
		want    string // part of the error; empty means valid
	}{
		{"request", "", `{"jsonrpc":"2.0","id":1,"method":"x/unknown"}`, "", ""},
		{"request without version", "", `{"id":1,"method":"x/unknown"}`, "", "jsonrpc"},
		{"id as large as may be", "", `{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"x"}`, "", ""},
		{"id with a fraction", "", `{"jsonrpc":"2.0","id":1.5,"method":"x"}`, "", ""},
		{"id of the wrong type", "", `{"jsonrpc":"2.0","id":{},"method":"x"}`, "", "JSONRPCRequest"},
		{"result with a null id", "", `{"jsonrpc":"2.0","id":null,"result":{"resultType":"complete"}}`, "", "id"},
		{"error with a null id", "2024-11-05 2025-03-26 2025-06-18", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`, "", ""},
		{"error with a null id", "2025-11-25 2026-07-28", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`, "", "id"},
		{"error without id", "", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}`, "", ""},
		{"error without message", "", `{"jsonrpc":"2.0","id":1,"error":{"code":-32700}}`, "", "message"},
		{"error with a code that is no integer", "", `{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"m"}}`, "", "code"},
		{"result and error", "", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}`, "", "no two of them"},
		{"method and result", "", `{"jsonrpc":"2.0","id":1,"method":"x","result":{}}`, "", "no two of them"},
		{"neither", "", `{"jsonrpc":"2.0","id":1}`, "", "needs a method"},
		{"no object", "", `3`, "", "must be an object"},
		{"no JSON", "", `{"jsonrpc"`, "", "want ':'"},
		{"a member twice", "", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"a":1,"a":2}}}`, "", "\"a\""},
		{"progress", "", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}`, "", ""},
		{"progress without token", "", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":0.5}}`, "", "progressToken"},
		{"tools", "2024-11-05 2025-03-26 2025-06-18 2025-11-25", `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}`, "tools/list", ""},
		{"tools, modern", "2026-07-28", `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}`, "tools/list", "resultType"},
		{"tools, modern and cacheable", "2026-07-28", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[]}}`, "tools/list", ""},
		{"tools without schema", "", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"a"}]}}`, "tools/list", "inputSchema"},
		{"empty result", "2024-11-05 2025-03-26 2025-06-18 2025-11-25", `{"jsonrpc":"2.0","id":1,"result":{}}`, "ping", ""},
		{"initialize", "2024-11-05 2025-03-26 2025-06-18 2025-11-25", `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`, "initialize", "serverInfo"},
		{"input required", "2026-07-28", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}`, "tools/call", ""},
		{"input required by a list", "2026-07-28", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}`, "tools/list", "cannot have an input_required result"},
		{"result type of an extension", "2026-07-28", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"task","task":{}}}`, "tools/call", ""},
		{"task", "2025-11-25", `{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"t"}}}`, "tools/call", "CreateTaskResult"},
		{"result of an unknown method", "", `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","x":1}}`, "x/unknown", ""},
		{"unsupported version", "2026-07-28", `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"m","data":{"supported":["2026-07-28"],"requested":"1"}}}`, "", ""},
		{"unsupported version without data", "2026-07-28", `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"m"}}`, "", "data"},
		{"URL elicitation", "2025-11-25", `{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"m"}}`, "", "data"},
		{"batch", "2024-11-05 2025-03-26", `[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","method":"x"}]`, "ping", ""},
		{"batch with a fault", "2024-11-05 2025-03-26", `[{"jsonrpc":"2.0","id":1,"result":{}},{"method":"x"}]`, "ping", "jsonrpc"},
		{"empty batch", "2024-11-05 2025-03-26", `[]`, "", "must not be empty"},
		{"batch where there is none", "2025-06-18 2025-11-25 2026-07-28", `[{"jsonrpc":"2.0","id":1,"result":{}}]`, "ping", "no batches"},
	}
	for _, rev := range revisions {
		t.Run(rev, func(t *testing.T) {
			t.Parallel()
			v := mcpschema.Open(t, rev)
			for _, tt := range tests {
				if tt.revs != "" && !strings.Contains(tt.revs, rev) {
					continue
				}
				err := v.Check([]byte(tt.message), tt.method)
				switch {
				case tt.want == "" && err != nil:
					t.Errorf("%s: %v", tt.name, err)
				case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
					t.Errorf("%s: error %v, want one with %q", tt.name, err, tt.want)
				}
			}
		})
	}
}

// TestOfficialExamples checks examples that come with the newest schema, but
// not that of resources/read: it lacks the cache members that the schema wants.
func TestOfficialExamples(t *testing.T) {
	t.Parallel()
	const rev = "2026-07-28"
	v := mcpschema.Open(t, rev)
	dir, err := mcpschema.Dir()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for name, method := range map[string]string{
		"CallToolResultResponse":               "tools/call",
		"ListToolsResultResponse":              "tools/list",
		"DiscoverResultResponse":               "server/discover",
		"GetPromptResultResponse":              "prompts/get",
		"CompleteResultResponse":               "completion/complete",
		"ProgressNotification":                 "",
		"LoggingMessageNotification":           "",
		"UnsupportedProtocolVersionError":      "",
		"MissingRequiredClientCapabilityError": "",
		"HeaderMismatchError":                  "",
	} {
		files, err := filepath.Glob(filepath.Join(dir, rev+"-examples", name, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.Check(data, method); err != nil {
				t.Errorf("%s: %v", filepath.Base(file), err)
			}
			checked++
		}
	}
	if checked == 0 {
		t.Skip("no examples beside the schemas")
	}
}

func TestLoadFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"1.schema.json": `{`,
		"2.schema.json": `{}`,
		"3.schema.json": `{"$defs":{"JSONRPCRequest":{"$ref":"https://example.com/other.json"}}}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for rev, want := range map[string]string{"0": "no such file", "1": "schema of 1", "2": "neither definitions nor $defs"} {
		if _, err := mcpschema.Load(dir, rev); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Load(%q): error %v, want one with %q", rev, err, want)
		}
	}
	v, err := mcpschema.Load(dir, "3")
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Check([]byte(`{"id":1,"method":"x"}`), ""); err == nil {
		t.Error("a schema elsewhere was loaded, want an error")
	}
}

func TestAbsent(t *testing.T) {
	t.Setenv(mcpschema.EnvDir, "")
	t.Chdir(t.TempDir())
	if _, err := mcpschema.Dir(); !errors.Is(err, mcpschema.ErrAbsent) {
		t.Errorf("error %v, want ErrAbsent", err)
	}
	skipped := false
	t.Run("open", func(t *testing.T) {
		t.Cleanup(func() { skipped = t.Skipped() })
		mcpschema.Open(t, "2026-07-28")
	})
	if !skipped {
		t.Error("a test without schemas ran, want it skipped")
	}
	r := mcpschema.Record(t, "2026-07-28")
	r.Received([]byte(`nonsense`))
}

// faults is a test that only counts its errors.
type faults struct {
	testing.TB
	n int
}

func (f *faults) Helper()               {}
func (f *faults) Error(...any)          { f.n++ }
func (f *faults) Errorf(string, ...any) { f.n++ }

func TestRecorder(t *testing.T) {
	t.Parallel()
	mcpschema.Open(t, "2025-03-26")
	tb := &faults{TB: t}
	r := mcpschema.Record(tb, "2025-03-26")
	r.Sent([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	r.Sent([]byte(`[{"jsonrpc":"2.0","id":"1","method":"ping"}]`))
	for _, tt := range []struct {
		message string
		faults  int
	}{
		{`{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`, 0},
		{`{"jsonrpc":"2.0","id":1,"result":{}}`, 1},
		{`{"jsonrpc":"2.0","id":"1","result":{}}`, 0},
		{`[{"jsonrpc":"2.0","id":"1","result":{}},{"jsonrpc":"2.0","id":1,"result":{}}]`, 1},
		{`[{"jsonrpc":"2.0","id":"1","result":{}}`, 1},
	} {
		tb.n = 0
		r.Received([]byte(tt.message))
		if tb.n != tt.faults {
			t.Errorf("%s: %d faults, want %d", tt.message, tb.n, tt.faults)
		}
	}
}
