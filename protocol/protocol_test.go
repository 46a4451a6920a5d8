package protocol_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func TestRevisions(t *testing.T) {
	t.Parallel()
	all := protocol.Revisions()
	if !slices.IsSortedFunc(all, func(a, b protocol.Revision) int { return -compare(a, b) }) {
		t.Errorf("%v are not sorted, newest first", all)
	}
	all[0] = "x"
	if protocol.Revisions()[0] == "x" {
		t.Error("the caller can change the list")
	}
	for rev, want := range map[protocol.Revision][2]bool{
		"2024-11-05": {true, false}, "2025-11-25": {true, false}, "2026-07-28": {true, true}, "2099-01-01": {false, true}, "1999-01-01": {false, false}, "": {false, false},
	} {
		if rev.Known() != want[0] || rev.Modern() != want[1] {
			t.Errorf("%q: known %t, modern %t; want %v", rev, rev.Known(), rev.Modern(), want)
		}
	}
}

func compare(a, b protocol.Revision) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestMethodIn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method      string
		since, last protocol.Revision
	}{
		{"initialize", "2024-11-05", "2025-11-25"}, {"ping", "2024-11-05", "2025-11-25"}, {"tools/call", "2024-11-05", "2026-07-28"},
		{"server/discover", "2026-07-28", "2026-07-28"}, {"subscriptions/listen", "2026-07-28", "2026-07-28"},
		{"tasks/list", "2025-11-25", "2025-11-25"}, {"tasks/get", "2025-11-25", "2026-07-28"}, {"tasks/update", "2026-07-28", "2026-07-28"},
		{"x/unknown", "2024-11-05", "2026-07-28"},
	} {
		for _, rev := range protocol.Revisions() {
			if got, want := protocol.MethodIn(tt.method, rev), tt.since <= rev && rev <= tt.last; got != want {
				t.Errorf("%s in %s: %t, want %t", tt.method, rev, got, want)
			}
		}
	}
}

func TestReadMeta(t *testing.T) {
	t.Parallel()
	const reserved = "io.modelcontextprotocol/"
	for _, tt := range []struct {
		params, fault string
		want          protocol.Meta
	}{
		{``, "", protocol.Meta{}},
		{`{}`, "", protocol.Meta{}},
		{`{"a":{"_meta":7}}`, "", protocol.Meta{}},
		{
			`{"_meta":{"` + reserved + `protocolVersion":"2026\u002d07-28","` + reserved + `clientInfo":{"name":"c"},"` + reserved + `clientCapabilities":{},"` + reserved +
				`logLevel":"notice","progressToken":1.0,"traceparent":"p","tracestate":"s","baggage":"b","unknown":null}}`, "",
			protocol.Meta{
				Revision: "2026-07-28", ClientInfo: json.RawMessage(`{"name":"c"}`), Capabilities: json.RawMessage(`{}`), LogLevel: protocol.LogNotice,
				ProgressToken: json.RawMessage(`1.0`), TraceParent: "p", TraceState: "s", Baggage: "b",
			},
		},
		{`[]`, "params must be an object", protocol.Meta{}},
		{`null`, "params must be an object", protocol.Meta{}},
		{`{"_meta":null}`, "params._meta must be an object", protocol.Meta{}},
		{`{"_meta":{"a":1,"a":2}}`, `params._meta: at byte 7: member "a" occurs twice`, protocol.Meta{}},
		{`{"_meta":{},"_meta":{}}`, `params: at byte 12: member "_meta" occurs twice`, protocol.Meta{}},
		{`{"_meta":{"progressToken":null}}`, `params._meta["progressToken"] has the wrong type`, protocol.Meta{}},
		{`{"_meta":{"progressToken":true}}`, `params._meta["progressToken"] has the wrong type`, protocol.Meta{}},
		{`{"_meta":{"` + reserved + `protocolVersion":1}}`, `params._meta["io.modelcontextprotocol/protocolVersion"] has the wrong type`, protocol.Meta{}},
		{`{"_meta":{"` + reserved + `clientInfo":"c"}}`, `params._meta["io.modelcontextprotocol/clientInfo"] has the wrong type`, protocol.Meta{}},
		{`{"_meta":{"` + reserved + `logLevel":"LOUD"}}`, `params._meta["io.modelcontextprotocol/logLevel"] must be one of debug, info, notice, warning, error, critical, alert, emergency`, protocol.Meta{}},
		{`{"_meta":{"` + reserved + `logLevel":""}}`, `params._meta["io.modelcontextprotocol/logLevel"] must be one of debug, info, notice, warning, error, critical, alert, emergency`, protocol.Meta{}},
		{`{"_meta":{"traceparent":{}}}`, `params._meta["traceparent"] has the wrong type`, protocol.Meta{}},
	} {
		var params json.RawMessage
		if tt.params != "" {
			params = json.RawMessage(tt.params)
		}
		got, fault := protocol.ReadMeta(params)
		switch {
		case tt.fault != "" && (fault == nil || fault.Code != protocol.CodeInvalidParams || fault.Message != tt.fault):
			t.Errorf("%s: fault %v, want %s", tt.params, fault, tt.fault)
		case tt.fault == "" && (fault != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", tt.want)):
			t.Errorf("%s: %+v, fault %v; want %+v", tt.params, got, fault, tt.want)
		}
	}
}

func TestCheckModern(t *testing.T) {
	t.Parallel()
	capabilities := json.RawMessage(`{}`)
	for _, tt := range []struct {
		meta protocol.Meta
		code int
		data string
	}{
		{protocol.Meta{Revision: "2026-07-28", Capabilities: capabilities}, 0, ""},
		{protocol.Meta{Capabilities: capabilities}, protocol.CodeInvalidParams, ""},
		{protocol.Meta{Revision: "2026-07-28"}, protocol.CodeInvalidParams, ""},
		{protocol.Meta{Revision: "2099-01-01", Capabilities: capabilities}, protocol.CodeUnsupportedProtocolVersion, `{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"2099-01-01"}`},
		{protocol.Meta{Revision: "a\"\xff"}, protocol.CodeUnsupportedProtocolVersion, `{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"a\"\ufffd"}`},
	} {
		fault := tt.meta.CheckModern()
		if fault == nil && tt.code != 0 || fault != nil && (fault.Code != tt.code || string(fault.Data) != tt.data) {
			t.Errorf("%+v: fault %+v, want code %d, data %s", tt.meta, fault, tt.code, tt.data)
		}
	}
}

func TestLogLevels(t *testing.T) {
	t.Parallel()
	for i, name := range []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"} {
		level, ok := protocol.ParseLogLevel(name)
		if !ok || int(level) != i+1 || level.String() != name {
			t.Errorf("%s reads as %d %q, %t", name, level, level, ok)
		}
		if protocol.LogNone.Wants(level) || !level.Wants(level) || !level.Wants(protocol.LogEmergency) || level > protocol.LogDebug && level.Wants(protocol.LogDebug) {
			t.Errorf("%s wants the wrong messages", name)
		}
	}
	for _, name := range []string{"", "none", "Debug"} {
		if _, ok := protocol.ParseLogLevel(name); ok {
			t.Errorf("%q is a level", name)
		}
	}
	if protocol.LogLevel(-1).String() != "" || protocol.LogLevel(99).String() != "" {
		t.Error("levels that do not exist have names")
	}
}

func TestAsError(t *testing.T) {
	t.Parallel()
	e := protocol.Errorf(7, "seven %d", 7)
	if got := protocol.AsError(fmt.Errorf("wrapped: %w", e)); got != e || got.Error() != "seven 7 (code 7)" {
		t.Errorf("%v, want the error itself", got)
	}
	if got := protocol.AsError(errors.New("secret")); got.Error() != "internal error (code -32603)" {
		t.Errorf("%v shows what it should not", got)
	}
}

func TestAppendResult(t *testing.T) {
	t.Parallel()
	full := &protocol.Result{
		Body: json.RawMessage(" { \"x\" : 1.0 ,\n\"y\":null } "), Meta: json.RawMessage(`{"m":[]}`),
		Server: json.RawMessage(`{"name":"s"}`), Cache: &protocol.Cache{TTLMillis: 5},
	}
	for _, tt := range []struct {
		res          *protocol.Result
		modern, past string
	}{
		{&protocol.Result{}, `{"resultType":"complete"}`, `{}`},
		{&protocol.Result{Body: json.RawMessage(`{}`), Meta: json.RawMessage(`{}`)}, `{"resultType":"complete","_meta":{}}`, `{"_meta":{}}`},
		{full,
			`{"resultType":"complete","ttlMs":5,"cacheScope":"public","_meta":{"m":[],"io.modelcontextprotocol/serverInfo":{"name":"s"}},` + "\"x\" : 1.0 ,\n\"y\":null}",
			`{"_meta":{"m":[]},` + "\"x\" : 1.0 ,\n\"y\":null}"},
		{&protocol.Result{Server: json.RawMessage(`{}`), Cache: &protocol.Cache{Private: true}},
			`{"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{}}}`, `{}`},
		{&protocol.Result{Type: protocol.ResultInputRequired, Cache: &protocol.Cache{}, Body: json.RawMessage(`{"requestState":"s"}`)},
			`{"resultType":"input_required","requestState":"s"}`, `{"requestState":"s"}`},
		{&protocol.Result{Type: "a\"b"}, `{"resultType":"a\"b"}`, `{}`},
		{&protocol.Result{Server: json.RawMessage(`{"name":"ours"}`), Meta: json.RawMessage(`{"io.modelcontextprotocol/serverInfo":{"name":"theirs"},"a":1}`)},
			`{"resultType":"complete","_meta":{"a":1,"io.modelcontextprotocol/serverInfo":{"name":"ours"}}}`,
			`{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"theirs"},"a":1}}`},
	} {
		if got := string(protocol.AppendResult([]byte("> "), tt.res, protocol.Revision20260728)); got != "> "+tt.modern {
			t.Errorf("modern: %s\nwant    > %s", got, tt.modern)
		}
		if got := string(protocol.AppendResult(nil, tt.res, protocol.LatestLegacy)); got != tt.past {
			t.Errorf("legacy: %s\nwant    %s", got, tt.past)
		}
	}
}

func TestWithMeta(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ params, meta, want string }{
		{``, ``, `{"_meta":{"k":1}}`},
		{`{"a":1}`, `{"b":2}`, `{"_meta":{"b":2,"k":1},"a":1}`},
		{`{ }`, `{"k":0}`, `{"_meta":{"k":1}}`},
		{`{}`, `{"a":0,"k":0,"b":0}`, `{"_meta":{"a":0,"b":0,"k":1}}`},
	} {
		if got := string(protocol.WithMeta(json.RawMessage(tt.params), json.RawMessage(tt.meta), "k", json.RawMessage(`1`))); got != tt.want {
			t.Errorf("%s with %s: %s, want %s", tt.params, tt.meta, got, tt.want)
		}
	}
}

func TestHasCapability(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		caps, name, member string
		want               bool
	}{
		{`{"elicitation":{}}`, "elicitation", "form", true},
		{`{"elicitation":{}}`, "elicitation", "url", false},
		{`{"elicitation":{"url":{}}}`, "elicitation", "form", false},
		{`{"elicitation":{"url":{},"form":{}}}`, "elicitation", "form", true},
		{`{"elicitation":null}`, "elicitation", "", false},
		{``, "roots", "", false},
	} {
		if got := protocol.HasCapability(json.RawMessage(tt.caps), tt.name, tt.member); got != tt.want {
			t.Errorf("%s has %s %s: %t, want %t", tt.caps, tt.name, tt.member, got, tt.want)
		}
	}
}

func TestAppendRevisions(t *testing.T) {
	t.Parallel()
	want, err := json.Marshal(protocol.Revisions())
	if err != nil {
		t.Fatal(err)
	}
	if got := string(protocol.AppendRevisions([]byte("x"))); got != "x"+string(want) {
		t.Errorf("got %s, want %s", got, want)
	}
}
