package eraclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcp-bridge/mcp-bridge/internal/ways"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
)

// asker returns a server of the official SDK whose tools ask back.
func asker(t *testing.T) *mcp.Server {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "asker", Version: "1"}, &mcp.ServerOptions{
		Instructions:       "Answer.",
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	add := func(name string, f func(context.Context, *mcp.CallToolRequest) (string, error)) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				text, err := f(ctx, r)
				if err != nil {
					text = "error: " + err.Error()
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
			})
	}
	name := func(ctx context.Context, r *mcp.CallToolRequest, message string) (string, error) {
		res, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %v", res.Action, res.Content["name"]), nil
	}
	add("elicit", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) { return name(ctx, r, "Who?") })
	add("twice", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		one, err := name(ctx, r, "First?")
		if err != nil {
			return "", err
		}
		if token := r.Params.GetProgressToken(); token != nil {
			if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1}); err != nil {
				return "", err
			}
		}
		two, err := name(ctx, r, "Last?")
		return one + ", " + two, err
	})
	add("sample", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		//nolint:staticcheck // deprecated, and still served
		res, err := r.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "?"}}}})
		if err != nil {
			return "", err
		}
		return res.Model, nil
	})
	add("roots", func(ctx context.Context, r *mcp.CallToolRequest) (string, error) {
		res, err := r.Session.ListRoots(ctx, nil) //nolint:staticcheck // deprecated, and still served
		if err != nil {
			return "", err
		}
		return res.Roots[0].URI, nil
	})
	s.AddResource(&mcp.Resource{URI: "test://a", Name: "a"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "test://a", Text: "text"}}}, nil
	})
	return s
}

// input is an input_required result.
type input struct {
	Requests map[string]struct {
		Method string
		Params json.RawMessage
	} `json:"inputRequests"`
	State string `json:"requestState"`
}

func capabilities(raw string) func(*protocol.Meta) {
	return func(m *protocol.Meta) { m.Capabilities = json.RawMessage(raw) }
}

// wantInput makes a request that needs input.
func wantInput(t *testing.T, c ways.Client, r *protocol.Request, n protocol.Notifier) (in input, key string) {
	t.Helper()
	res, err := c.Handle(t.Context(), r, n)
	if err != nil {
		t.Fatalf("%s %s: %v", r.Method, r.Params, err)
	}
	if res.Type != protocol.ResultInputRequired {
		t.Fatalf("%s %s: result %q %s, want input_required", r.Method, r.Params, res.Type, res.Body)
	}
	if err := json.Unmarshal(res.Body, &in); err != nil {
		t.Fatal(err)
	}
	if len(in.Requests) != 1 || in.State == "" {
		t.Fatalf("input required: %s", res.Body)
	}
	for k := range in.Requests {
		key = k
	}
	return in, key
}

func retry(tool, state, key, answer string) string {
	return fmt.Sprintf(`{"requestState":%q,"name":%q,"inputResponses":{%q:%s}}`, state, tool, key, answer)
}

const anything = `{"elicitation":{},"sampling":{},"roots":{"listChanged":true},"extensions":{"x/y":{}}}`

// TestInput is about servers that ask during a call.
func TestInput(t *testing.T) {
	t.Parallel()
	for _, way := range ways.JSONRPC() {
		if way.Revision == ways.Modern {
			continue
		}
		t.Run(way.String(), func(t *testing.T) {
			t.Parallel()
			c := ways.Connect(t, way, sdk(asker(t)))
			all := capabilities(anything)
			for _, tt := range []struct{ tool, method, answer, want string }{
				{"elicit", "elicitation/create", `{"action":"accept","content":{"name":"Ann"}}`, "accept Ann"},
				{"sample", "sampling/createMessage", `{"role":"assistant","model":"m","content":{"type":"text","text":"!"}}`, "m"},
				{"roots", "roots/list", `{"roots":[{"uri":"file:///x"}]}`, "file:///x"},
			} {
				in, key := wantInput(t, c, request("tools/call", `{"name":"`+tt.tool+`"}`, all), protocol.Discard)
				if in.Requests[key].Method != tt.method {
					t.Errorf("%s: asked for %s", tt.tool, in.Requests[key].Method)
				}
				got, _ := ask(t, c, request("tools/call", retry(tt.tool, in.State, key, tt.answer), all))
				if want := `complete {"content":[{"type":"text","text":"` + tt.want + `"}]}`; got != want {
					t.Errorf("%s: %s, want %s", tt.tool, got, want)
				}
				// A state is good for one retry.
				got, _ = ask(t, c, request("tools/call", retry(tt.tool, in.State, key, tt.answer), all))
				if want := "error: requestState has been used already, or has expired (code -32602)"; got != want {
					t.Errorf("%s again: %s, want %s", tt.tool, got, want)
				}
				got, _ = ask(t, c, request("tools/call", `{"name":"`+tt.tool+`"}`))
				if !strings.Contains(got, "error: ") {
					t.Errorf("%s without the capability: %s", tt.tool, got)
				}
			}
		})
	}
}

// TestInputTwice: a call that asks again, with progress in between, and a
// retry that brings no answer.
func TestInputTwice(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"stdio", "http"} {
		c := ways.Connect(t, ways.Way{Transport: transport, Revision: "2025-11-25"}, sdk(asker(t)))
		all := capabilities(anything)
		token := func(m *protocol.Meta) { m.ProgressToken = json.RawMessage(`7`) }
		first, key := wantInput(t, c, request("tools/call", `{"name":"twice"}`, all, token), protocol.Discard)
		again, same := wantInput(t, c, request("tools/call", fmt.Sprintf(`{"name":"twice","requestState":%q}`, first.State), all), protocol.Discard)
		if same != key || again.State == first.State {
			t.Errorf("asked again with key %s, then %s; state %s", key, same, again.State)
		}
		n := make(notes, 10)
		later := func(m *protocol.Meta) { m.ProgressToken = json.RawMessage(`"new"`) }
		second, next := wantInput(t, c, request("tools/call", retry("twice", again.State, key, `{"action":"accept","content":{"name":"A"}}`), all, later), n)
		if next == key || !strings.Contains(string(second.Requests[next].Params), "Last?") {
			t.Errorf("asked %s under %s", second.Requests[next].Params, next)
		}
		if got, want := n.all(), `notifications/progress {"progressToken":"new","progress":1}`+"\n"; got != want {
			t.Errorf("notes %s, want %s", got, want)
		}
		got, _ := ask(t, c, request("tools/call", retry("twice", second.State, next, `{"action":"decline"}`), all))
		if want := `complete {"content":[{"type":"text","text":"accept A, decline \u003cnil\u003e"}]}`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestForeignState: a state is of use to the caller and the request that it
// was given for, and to nobody else.
func TestForeignState(t *testing.T) {
	t.Parallel()
	c := ways.Connect(t, ways.Way{Transport: "stdio", Revision: "2025-11-25"}, sdk(asker(t)))
	all := capabilities(anything)
	in, key := wantInput(t, c, request("tools/call", `{"name":"elicit","arguments":{"a":1}}`, all), protocol.Discard)
	answer := `"inputResponses":{"` + key + `":{"action":"accept"}}`
	good := `{"name":"elicit","arguments": { "a" : 1 },"requestState":"` + in.State + `",` + answer + `}`
	other := protocol.NewCaller(t.Context(), "http", http.Header{"Authorization": {"Bearer x"}}, "")
	const invalid = "requestState is not valid: it has expired, or was given for another request, to another caller, or by another process; call again without it"
	swap := byte('A')
	if in.State[len(in.State)-4] == swap {
		swap = 'B'
	}
	forged := in.State[:len(in.State)-4] + string(swap) + in.State[len(in.State)-3:]
	for name, tt := range map[string]struct {
		params string
		caller *protocol.Caller
		want   string
	}{
		"other caller":    {good, other, invalid},
		"other arguments": {strings.Replace(good, `1 }`, `2 }`, 1), caller, invalid},
		"other tool":      {strings.Replace(good, `elicit"`, `twice"`, 1), caller, invalid},
		"forged":          {strings.Replace(good, in.State, forged, 1), caller, invalid},
		"other process":   {strings.Replace(good, in.State[:8], "AAAAAAAA", 1), caller, invalid},
		"no state":        {strings.Replace(good, in.State, "x", 1), caller, invalid},
		"no string":       {strings.Replace(good, `"`+in.State+`"`, "1", 1), caller, "params.requestState must be a string"},
		"bad answer":      {strings.Replace(good, `{"action":"accept"}`, "1", 1), caller, "params.inputResponses: the response to \"" + key + "\" must be an object"},
	} {
		r := request("tools/call", tt.params, all)
		r.Caller = tt.caller
		if got, _ := ask(t, c, r); got != "error: "+tt.want+" (code -32602)" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got, _ := ask(t, c, request("tools/call", good, all)); got != `complete {"content":[{"type":"text","text":"accept \u003cnil\u003e"}]}` {
		t.Errorf("good state: %s", got)
	}
}

// TestResources: subscriptions and missing resources.
func TestResources(t *testing.T) {
	t.Parallel()
	for _, way := range ways.JSONRPC() {
		t.Run(way.String(), func(t *testing.T) {
			t.Parallel()
			s := asker(t)
			c := ways.Connect(t, way, sdk(s))
			ctx, cancel := context.WithCancel(t.Context())
			n := make(notes, 100)
			done := make(chan error, 1)
			go func() {
				_, err := c.Handle(ctx, request("subscriptions/listen", `{"notifications":{"promptsListChanged":false,"resourceSubscriptions":["test://a"]}}`), n)
				done <- err
			}()
			ack := prototest.Await(t, n, "the acknowledgement")
			if string(ack.Params) != `{"notifications":{"resourceSubscriptions":["test://a"]}}` {
				t.Errorf("acknowledged %s", ack.Params)
			}
			if err := s.ResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotificationParams{URI: "test://a"}); err != nil {
				t.Error(err)
			}
			note := prototest.Await(t, n, "the change")
			if note.Method != "notifications/resources/updated" || string(note.Params) != `{"uri":"test://a"}` {
				t.Errorf("change %s %s", note.Method, note.Params)
			}
			cancel()
			if err := prototest.Await(t, done, "the end"); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			_, err := c.Handle(t.Context(), request("resources/read", `{"uri":"test://none"}`), protocol.Discard)
			fault, ok := errors.AsType[*protocol.Error](err)
			if !ok || fault.Code != protocol.CodeInvalidParams || !strings.Contains(string(fault.Data), `"uri":"test://none"`) {
				t.Errorf("missing resource: %v, data %s", err, fault.Data)
			}
		})
	}
}

// TestModernInput: what a ways.Modern server asks passes through.
func TestModernInput(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"stdio", "http"} {
		c := ways.Connect(t, ways.Way{Transport: transport, Revision: ways.Modern}, ways.Serve(t, prototest.NewHandler()))
		if got, _ := ask(t, c, request("tools/call", `{"name":"input"}`)); got != `input_required {"requestState":"state"}` {
			t.Errorf("%s: %s", transport, got)
		}
	}
}
