package legacy

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
)

// FuzzState: nobody can make a state up.
func FuzzState(f *testing.F) {
	p := newParking()
	bind := []byte("caller and request")
	now := time.Unix(1e9, 0)
	good := p.seal("0123456789abcdef", now.Add(time.Minute), bind)
	for _, s := range []string{good, good[:len(good)-1], good + "A", p.owner + ".", ".", "", p.owner + ".AAAA"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, state string) {
		id, fault := p.unseal(state, now, bind)
		if (fault == nil) != (state == good) || fault == nil && id != "0123456789abcdef" || fault != nil && fault.Code != protocol.CodeInvalidParams {
			t.Fatalf("%q: id %q, fault %v", state, id, fault)
		}
		if _, fault := p.unseal(state, now, []byte("other")); fault == nil {
			t.Fatalf("%q is good for others", state)
		}
		if _, fault := p.unseal(state, now.Add(2*time.Minute), bind); fault == nil {
			t.Fatalf("%q never expires", state)
		}
		if _, fault := newParking().unseal(state, now, bind); fault == nil {
			t.Fatalf("%q is good elsewhere", state)
		}
	})
}

// TestBinding: what may differ between a call and its retry, and what may not.
func TestBinding(t *testing.T) {
	t.Parallel()
	of := func(method, params string) string {
		return string(binding(&peer.Request{Request: &protocol.Request{Method: method, Params: json.RawMessage(params)}}))
	}
	base := of("tools/call", `{"name":"x","arguments":{"a":1}}`)
	for _, tt := range []struct {
		method, params string
		same           bool
	}{
		{"tools/call", `{"arguments":{ "a": 1 }, "name":"x","_meta":{"progressToken":1},"inputResponses":{},"requestState":"s"}`, true},
		{"tools/call", `{"name":"x","arguments":{"a":1.0}}`, false},
		{"tools/call", `{"name":"x"}`, false},
		{"tools/call", `{"name":"x","arguments":{"a":1},"more":1}`, false},
		{"prompts/get", `{"name":"x","arguments":{"a":1}}`, false},
	} {
		if got := of(tt.method, tt.params) == base; got != tt.same {
			t.Errorf("%s %s: same %t, want %t", tt.method, tt.params, got, tt.same)
		}
	}
}

func TestLegacyParams(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		method, params, token, trace, want string
	}{
		{"tools/list", ``, ``, ``, ``},
		{"tools/list", `{}`, ``, ``, `{}`},
		{"tools/list", ``, `"t"`, ``, `{"_meta":{"progressToken":9}}`},
		{"tools/list", `{"cursor":"c"}`, ``, `00-x`, `{"cursor":"c","_meta":{"traceparent":"00-x"}}`},
		{
			"tools/call", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/clientCapabilities":{},"progressToken":"t","x/y":[1.0]},"name":"x","requestState":"s","inputResponses":{}}`,
			`"t"`, ``, `{"name":"x","_meta":{"x/y":[1.0],"progressToken":9}}`,
		},
		{"x/y", `{"requestState":"s"}`, ``, ``, `{"requestState":"s"}`},
	} {
		r := &protocol.Request{Method: tt.method, Meta: protocol.Meta{TraceParent: tt.trace}}
		if tt.params != "" {
			r.Params = json.RawMessage(tt.params)
		}
		if tt.token != "" {
			r.Meta.ProgressToken = json.RawMessage(tt.token)
		}
		got, err := legacyParams(r, json.RawMessage(`9`))
		if err != nil || string(got) != tt.want {
			t.Errorf("%s %s: %s, %v; want %s", tt.method, tt.params, got, err, tt.want)
		}
	}
}

func TestLegacyCapabilities(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		``: `{}`,
		`{"roots":{"listChanged":true},"sampling":{"tools":{}},"extensions":{"a/b":{}},"tasks":{},"experimental":{"x":{}}}`: `{"roots":{},"sampling":{"tools":{}},"experimental":{"x":{}}}`,
	} {
		var caps json.RawMessage
		if raw != "" {
			caps = json.RawMessage(raw)
		}
		if got := string(legacyCapabilities(caps)); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}
