package eraclient

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// asking returns a request of a principal.
func asking(p *protocol.Principal, name string) *peer.Request {
	return &peer.Request{Request: &protocol.Request{
		Method: protocol.MethodCallTool, Params: json.RawMessage(`{"name":"` + name + `"}`), Caller: &protocol.Caller{Principal: p},
	}}
}

// waiting returns a call that waits for input, and how it ends.
func waiting(r *peer.Request) (*clientCall, context.Context) {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &clientCall{request: r.Request, cancel: cancel, quota: r.Caller.Quota()}, ctx
}

func parkingOf(t testing.TB, cfg protocol.ClientConfig) *parking {
	t.Helper()
	p := newParking(cfg.WithDefaults())
	t.Cleanup(p.calls.Close)
	return p
}

// FuzzState: nobody can make a state up.
func FuzzState(f *testing.F) {
	p, other := parkingOf(f, protocol.ClientConfig{}), parkingOf(f, protocol.ClientConfig{})
	ann := asking(protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthJWT, Subject: "ann"}), "x")
	call, _ := waiting(ann)
	good, err := p.add(f.Context(), call, ann)
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{good, good[:len(good)-1], good + "A", "", "AAAA", strings.Repeat("A", 64)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, state string) {
		if _, fault := other.take(state, ann); fault == nil || fault.Code != protocol.CodeInvalidParams {
			t.Fatalf("%q is good elsewhere: %v", state, fault)
		}
		if _, fault := p.take(state, ann); state != good && (fault == nil || fault.Code != protocol.CodeInvalidParams) {
			t.Fatalf("%q is good: %v", state, fault)
		}
	})
}

// TestStateBelongsToItsPrincipal: a state is good once, for the principal that
// it was given to and the same request, whatever token that principal has now.
func TestStateBelongsToItsPrincipal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newParking(protocol.ClientConfig{ParkTimeout: time.Minute}.WithDefaults())
		defer p.calls.Close()
		ann := protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthJWT, Issuer: "i", Subject: "ann"})
		refreshed := protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthIntrospection, Issuer: "i", Subject: "ann", Scopes: []string{"more"}})
		bob := protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthJWT, Issuer: "i", Subject: "bob"})
		park := func() (string, context.Context) {
			call, over := waiting(asking(ann, "x"))
			state, err := p.add(t.Context(), call, asking(ann, "x"))
			if err != nil {
				t.Fatal(err)
			}
			return state, over
		}
		state, over := park()
		for name, r := range map[string]*peer.Request{
			"another principal": asking(bob, "x"), "another request": asking(ann, "y"), "nobody": asking(nil, "x"),
		} {
			if _, fault := p.take(state, r); fault == nil || !strings.Contains(fault.Message, "requestState is not valid") {
				t.Errorf("%s: %v", name, fault)
			}
		}
		if call, fault := p.take(state, asking(refreshed, "x")); fault != nil || over.Err() != nil {
			t.Errorf("a refreshed token: %v, %v", call, fault)
		}
		if _, fault := p.take(state, asking(ann, "x")); fault == nil || !strings.Contains(fault.Message, "used already") {
			t.Errorf("used twice: %v", fault)
		}
		state, over = park()
		<-over.Done() // after a minute, without anybody asking
		if _, fault := p.take(state, asking(ann, "x")); fault == nil {
			t.Error("good after its time")
		}
	})
}

// TestParkedFlood: who parks too many calls loses his own, oldest first.
func TestParkedFlood(t *testing.T) {
	t.Parallel()
	p := parkingOf(t, protocol.ClientConfig{MaxParkedPerCaller: 3, MaxParked: 5})
	park := func(subject string) context.Context {
		r := asking(protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthJWT, Subject: subject}), "x")
		call, over := waiting(r)
		if _, err := p.add(t.Context(), call, r); err != nil {
			t.Fatal(err)
		}
		return over
	}
	victim := park("ann")
	var flood []context.Context
	for range 10 {
		flood = append(flood, park("mallory"))
	}
	late := []context.Context{park("bob"), park("carl")} // beyond the total, mallory pays too
	for i, over := range flood {
		if (over.Err() != nil) != (i < 8) {
			t.Errorf("call %d of the flood: %v", i, over.Err())
		}
	}
	for _, over := range append(late, victim) {
		if over.Err() != nil {
			t.Error("somebody else's call was cancelled")
		}
	}
}

// TestAttribute: a request that names no task is put to the caller whose call
// it can only be for.
func TestAttribute(t *testing.T) {
	t.Parallel()
	call := func(id, who string, parked bool) *clientCall {
		return &clientCall{id: json.RawMessage(id), who: who, parked: parked}
	}
	for name, tt := range map[string]struct {
		calls  []*clientCall
		params string
		want   string // an id, or part of the error
	}{
		"none":                          {nil, `{}`, "only while a call is under way"},
		"one":                           {[]*clientCall{call("1", "ann", false)}, `{}`, "1"},
		"two of one caller":             {[]*clientCall{call("1", "ann", false), call("2", "ann", false)}, `{}`, "2"},
		"of two callers":                {[]*clientCall{call("1", "ann", false), call("2", "bob", false)}, `{}`, "several callers"},
		"of two callers, with a token":  {[]*clientCall{call("1", "ann", false), call("2", "bob", false)}, `{"_meta":{"progressToken":1}}`, "1"},
		"another one waits":             {[]*clientCall{call("1", "ann", false), call("2", "bob", true)}, `{}`, "1"},
		"others wait":                   {[]*clientCall{call("1", "ann", true), call("2", "bob", false), call("3", "carl", true)}, `{}`, "2"},
		"the only one asks more":        {[]*clientCall{call("1", "ann", true)}, `{}`, "1"},
		"all wait, of two callers":      {[]*clientCall{call("1", "ann", true), call("2", "bob", true)}, `{}`, "several callers"},
		"all wait, and one has a token": {[]*clientCall{call("1", "ann", true), call("2", "bob", true)}, `{"_meta":{"progressToken":2}}`, "2"},
	} {
		s := &clientSession{calls: tt.calls}
		got, fault := s.attribute(&jsonrpc.Message{Method: protocol.MethodElicit, Params: json.RawMessage(tt.params)})
		switch {
		case fault != nil && !strings.Contains(fault.Message, tt.want), fault == nil && string(got.id) != tt.want:
			t.Errorf("%s: %v, %v; want %s", name, got, fault, tt.want)
		}
	}
}

// TestBinding: what may differ between a call and its retry, and what may not.
func TestBinding(t *testing.T) {
	t.Parallel()
	of := func(method, params string) string {
		return strings.Join(binding(&peer.Request{Request: &protocol.Request{Method: method, Params: json.RawMessage(params)}}), "")
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
