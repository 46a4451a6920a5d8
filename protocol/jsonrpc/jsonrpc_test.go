package jsonrpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const (
		request      = jsonrpc.KindRequest
		notification = jsonrpc.KindNotification
		response     = jsonrpc.KindResponse
	)
	for _, tt := range []struct {
		data  string
		kind  jsonrpc.Kind
		id    string
		fault string // empty means none
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"m"}`, request, `1`, ""},
		{` { "params" : { } , "method" : "m" , "id" : "a\u0062" , "jsonrpc" : "2.0" } `, request, `"a\u0062"`, ""},
		{`{"jsonrpc":"\u0032.0","id":1.0,"method":"\u006d"}`, request, `1.0`, ""},
		{`{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"m","extra":[1]}`, request, `123456789012345678901234567890`, ""},
		{`{"jsonrpc":"2.0","method":"m"}`, notification, ``, ""},
		{`{"jsonrpc":"2.0","method":"m","params":[]}`, notification, ``, ""},
		{`{"jsonrpc":"2.0","id":1,"result":null}`, response, `1`, ""},
		{`{"jsonrpc":"2.0","id":null,"error":{}}`, response, ``, ""},
		{`{"jsonrpc":"2.0","id":{},"result":{}}`, response, ``, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":[]}`, request, `1`, "params must be an object (code -32602)"},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":null}`, request, `1`, "params must be an object (code -32602)"},
		{`{"jsonrpc":"2.0","id":null,"method":"m"}`, 0, ``, "id must not be null (code -32600)"},
		{`{"jsonrpc":"2.0","id":true,"method":"m"}`, 0, ``, "id must be a string or a number (code -32600)"},
		{`{"jsonrpc":"2.0","id":[1],"method":"m"}`, 0, ``, "id must be a string or a number (code -32600)"},
		{`{"jsonrpc":"2.0","id":1,"method":""}`, 0, `1`, "method must be a non-empty string (code -32600)"},
		{`{"jsonrpc":"2.0","id":1,"method":null}`, 0, `1`, "method must be a non-empty string (code -32600)"},
		{`{"jsonrpc":"2.0","id":1}`, 0, `1`, "a message needs a method, a result or an error (code -32600)"},
		{`{"id":1,"method":"m"}`, 0, `1`, `jsonrpc must be "2.0" (code -32600)`},
		{`{"jsonrpc":2.0,"id":1,"method":"m"}`, 0, `1`, `jsonrpc must be "2.0" (code -32600)`},
		{`[]`, 0, ``, "a JSON-RPC message must be an object (code -32600)"},
		{`"x"`, 0, ``, "a JSON-RPC message must be an object (code -32600)"},
		{``, 0, ``, "invalid JSON: at byte 0: want a value, got the end of the text (code -32700)"},
		{`{"jsonrpc":"2.0","method":"m","id":12`, 0, ``, "invalid JSON: at byte 37: want ',' or '}', got the end of the text (code -32700)"},
		{`{"jsonrpc":"2.0","id":1,"method":"m"}{}`, 0, ``, "invalid JSON: at byte 37: want the end of the text after the value, got '{' (code -32700)"},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}`, 0, ``, `at byte 24: member "id" occurs twice (code -32600)`},
		{`{"jsonrpc":"2.0","id":1,"method":"m","method":"n"}`, 0, `1`, `at byte 37: member "method" occurs twice (code -32600)`},
	} {
		m, fault := jsonrpc.Parse([]byte(tt.data))
		switch {
		case fault == nil && tt.fault != "", fault != nil && fault.Error() != tt.fault:
			t.Errorf("%s: fault %v, want %q", tt.data, fault, tt.fault)
		case fault == nil && m.Kind() != tt.kind:
			t.Errorf("%s: kind %d, want %d", tt.data, m.Kind(), tt.kind)
		}
		if string(m.ID) != tt.id {
			t.Errorf("%s: id %s, want %s", tt.data, m.ID, tt.id)
		}
	}
	m, _ := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":null,"method":"m"}`))
	if !m.HasID {
		t.Error("a null id passes for none, so a request for a notification")
	}
}

func TestSplitBatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ data, want, fault string }{
		{` [ {"a":1} , 2 , [3] ] `, `{"a":1}|2|[3]`, ""},
		{`[]`, "", "a batch must not be empty (code -32600)"},
		{`[1,2,3,4]`, "", "a batch holds at most 3 messages (code -32600)"},
		{`[1,2,3,4`, "", "invalid JSON: at byte 8: want ',' or ']', got the end of the text (code -32700)"},
		{`[1,]`, "", "invalid JSON: at byte 3: want a value, got ']' (code -32700)"},
	} {
		msgs, fault := jsonrpc.SplitBatch([]byte(tt.data), 3)
		var got []string
		for _, m := range msgs {
			got = append(got, string(m))
		}
		if strings.Join(got, "|") != tt.want || (fault == nil) != (tt.fault == "") || fault != nil && fault.Error() != tt.fault {
			t.Errorf("%s: %q, fault %v; want %q, %q", tt.data, got, fault, tt.want, tt.fault)
		}
	}
}

func TestCalls(t *testing.T) {
	t.Parallel()
	var calls jsonrpc.Calls
	calls.Cancel(json.RawMessage(`{"requestId":1}`)) // unknown, and the zero value
	ctx, end, ok := calls.Begin(t.Context(), json.RawMessage(`1`))
	if !ok {
		t.Fatal("the first call is a duplicate")
	}
	if _, _, ok := calls.Begin(t.Context(), json.RawMessage(`1`)); ok {
		t.Error("a second call with the id has begun")
	}
	other, endOther, ok := calls.Begin(t.Context(), json.RawMessage(`"1"`))
	if !ok || calls.Len() != 2 {
		t.Errorf("a string id is taken for a number; %d calls", calls.Len())
	}
	for _, params := range []string{``, `null`, `[]`, `7`, `{}`, `{"requestId":2}`, `{"requestId":1.0}`, `{"requestId":null}`, `{"requestId":{}}`} {
		calls.Cancel(json.RawMessage(params))
	}
	if ctx.Err() != nil {
		t.Fatal("a cancellation of nothing has ended the call")
	}
	child, cancel := context.WithCancel(ctx)
	defer cancel()
	calls.Cancel(json.RawMessage(`{"reason":"r","requestId": 1}`))
	if !jsonrpc.Cancelled(ctx) || !jsonrpc.Cancelled(child) || !errors.Is(context.Cause(ctx), jsonrpc.ErrCancelled) {
		t.Errorf("cause %v, want ErrCancelled", context.Cause(ctx))
	}
	end()
	end()
	endOther()
	if jsonrpc.Cancelled(other) || other.Err() == nil {
		t.Error("a call that has ended is still under way, or counts as cancelled")
	}
	calls.Cancel(json.RawMessage(`{"requestId":1}`)) // late
	if _, end, ok := calls.Begin(t.Context(), json.RawMessage(`1`)); !ok {
		t.Error("the id of a call that is over cannot be used again")
	} else {
		end()
	}
	if calls.Len() != 0 {
		t.Errorf("%d calls are left", calls.Len())
	}
}

func TestAppendError(t *testing.T) {
	t.Parallel()
	e := &protocol.Error{Code: -1, Message: "a \"b\"\n", Data: json.RawMessage(`[1.0]`)}
	for _, tt := range []struct {
		id   string
		rev  protocol.Revision
		want string
	}{
		{`"i\u0064"`, protocol.Revision20241105, `{"jsonrpc":"2.0","id":"i\u0064","error":{"code":-1,"message":"a \"b\"\n","data":[1.0]}}`},
		{``, protocol.Revision20241105, `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"a \"b\"\n","data":[1.0]}}`},
		{``, protocol.Revision20250618, `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"a \"b\"\n","data":[1.0]}}`},
		{``, protocol.Revision20251125, `{"jsonrpc":"2.0","error":{"code":-1,"message":"a \"b\"\n","data":[1.0]}}`},
		{``, protocol.Revision20260728, `{"jsonrpc":"2.0","error":{"code":-1,"message":"a \"b\"\n","data":[1.0]}}`},
	} {
		var id json.RawMessage
		if tt.id != "" {
			id = json.RawMessage(tt.id)
		}
		if got := string(jsonrpc.AppendError(nil, id, e, tt.rev)); got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.rev, got, tt.want)
		}
	}
}

// strict reports whether data is JSON by the rules of encoding/json, and those
// that jsontok has beyond them.
func strict(data []byte) bool {
	return json.Valid(data) && utf8.Valid(data) && jsontok.Valid(data, jsontok.Limits{}) == nil
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `7`, `{"jsonrpc":"2.0","id":1,"method":"m","params":{}}`, `{"jsonrpc":"2.0","id":"\ud800","method":"m"}`,
		`{"jsonrpc":"2.0","id":-0.10e+5,"result":{}}`, `{"jsonrpc":"2.0","id":null,"method":"m"}`, `{"jsonrpc":"2.0","id":1,"id":2}`, "\xff", "\ufeff{}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		m, fault := jsonrpc.Parse(data)
		if !bytes.Equal(data, before) {
			t.Fatal("the data has been written to")
		}
		if fault == nil && !strict(data) {
			t.Fatalf("no fault in what is no JSON: %s", data)
		}
		if fault != nil && fault.Code == protocol.CodeParseError {
			// The depth limit is the one thing that encoding/json lets pass.
			if json.Valid(data) && utf8.Valid(data) && !strings.Contains(fault.Message, "nested") {
				t.Fatalf("%v in what is JSON: %s", fault, data)
			}
			if m.ID != nil || m.Method != "" {
				t.Fatalf("id %s, method %q from what is no JSON", m.ID, m.Method)
			}
		}
		if fault != nil {
			return
		}
		if m.ID != nil && !m.HasID {
			t.Fatalf("id %s and none", m.ID)
		}
		var want struct {
			ID     json.RawMessage `json:"id"`
			Method any             `json:"method"`
		}
		// encoding/json takes names in any case; only exact ones count here.
		var members map[string]json.RawMessage
		if err := json.Unmarshal(data, &members); err != nil {
			t.Fatal(err)
		}
		want.ID = members["id"]
		if m.ID != nil && !bytes.Equal(m.ID, want.ID) {
			t.Fatalf("id %s, want %s", m.ID, want.ID)
		}
		if m.ID == nil {
			return
		}
		out := jsonrpc.AppendResult(nil, m.ID, &protocol.Result{}, protocol.Revision20251125)
		again, fault := jsonrpc.Parse(out)
		if fault != nil || !bytes.Equal(again.ID, m.ID) {
			t.Fatalf("id %s comes back as %s, fault %v", m.ID, again.ID, fault)
		}
		if !bytes.Contains(out, append([]byte(`"id":`), m.ID...)) {
			t.Fatalf("response %s has not the id %s byte for byte", out, m.ID)
		}
	})
}

func FuzzSplitBatch(f *testing.F) {
	for _, seed := range []string{`[]`, `[1]`, ` [ {} , [] ]`, `[1,`, `{}`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		msgs, fault := jsonrpc.SplitBatch(data, 10)
		if fault != nil {
			if msgs != nil {
				t.Fatal("messages beside a fault")
			}
			return
		}
		var want []json.RawMessage
		if err := json.Unmarshal(data, &want); err != nil || !jsonrpc.IsBatch(data) {
			t.Fatalf("no fault in what is no batch: %v", err)
		}
		if len(msgs) != len(want) || len(msgs) == 0 || len(msgs) > 10 {
			t.Fatalf("%d messages, want %d", len(msgs), len(want))
		}
		for i := range msgs {
			if !bytes.Equal(msgs[i], want[i]) {
				t.Fatalf("message %s, want %s", msgs[i], want[i])
			}
		}
	})
}

// FuzzAppend: whatever the content is, what goes out is one valid message that
// reads back as what went in.
func FuzzAppend(f *testing.F) {
	f.Add("m", "text", []byte(`{"a":1}`), []byte(`{"b":[]}`), 1, true)
	f.Add("\xff\u2028", "\x00\"\\", []byte(` { } `), []byte(`{"io.modelcontextprotocol/serverInfo":1}`), -32700, false)
	f.Fuzz(func(t *testing.T, method, text string, body, meta []byte, code int, modern bool) {
		rev := protocol.Revision20250618
		if modern {
			rev = protocol.Revision20260728
		}
		for _, object := range []*[]byte{&body, &meta} {
			// Handlers return objects; what is none is put into one.
			if json.Unmarshal(*object, &map[string]json.RawMessage{}) != nil || !strict(*object) || !unique(*object) || bytes.HasPrefix(bytes.TrimSpace(*object), []byte("n")) {
				*object = append(append([]byte(`{"v":`), jsontok.AppendString(nil, string(*object))...), '}')
			}
		}
		for _, reserved := range []string{"resultType", "_meta", "ttlMs", "cacheScope"} {
			body = protocol.WithoutMember(body, reserved)
		}
		res := &protocol.Result{Type: protocol.ResultType(text), Body: body, Meta: meta, Server: meta, Cache: &protocol.Cache{TTLMillis: int64(code)}}
		check := func(out []byte) *jsonrpc.Message {
			t.Helper()
			m, fault := jsonrpc.Parse(out)
			if fault != nil || !json.Valid(out) {
				t.Fatalf("%s is no message: %v", out, fault)
			}
			return m
		}
		id := jsontok.AppendString(nil, text)
		m := check(jsonrpc.AppendResult([]byte(" "), id, res, rev))
		if !bytes.Equal(m.ID, id) || !unique(m.Result) {
			t.Fatalf("id %s, result %s", m.ID, m.Result)
		}
		if got, ok := jsontok.Lookup(m.Result, "_meta"); !ok || !unique(got) {
			t.Fatalf("_meta %s", got)
		}
		m = check(jsonrpc.AppendError(nil, id, &protocol.Error{Code: code, Message: text, Data: body}, rev))
		var e struct {
			Code    int             `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(m.Error, &e); err != nil || e.Code != code || utf8.ValidString(text) && e.Message != text || !bytes.Equal(e.Data, bytes.TrimSpace(body)) {
			t.Fatalf("error %s: %v", m.Error, err)
		}
		if method == "" {
			return
		}
		m = check(jsonrpc.AppendNotification(nil, &protocol.Notification{Method: method, Params: body}))
		if m.Kind() != jsonrpc.KindNotification || utf8.ValidString(method) && m.Method != method {
			t.Fatalf("kind %d, method %q, want %q", m.Kind(), m.Method, method)
		}
	})
}

// unique reports whether the object has every member once.
func unique(object []byte) bool {
	return jsontok.Object(object, func(_, _ []byte) error { return nil }) == nil
}
