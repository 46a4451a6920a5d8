package streamable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// TestModernHeaders: what a modern request says about itself in its headers.
func TestModernHeaders(t *testing.T) {
	t.Parallel()
	const list = `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"sql","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}`
	var lists atomic.Int32
	var heads []string
	c := startFake(t, func(w http.ResponseWriter, r *http.Request, m message) {
		switch m.Method {
		case "server/discover":
			m.result(w, discovered)
		case "tools/list":
			lists.Add(1)
			m.result(w, list)
		default:
			var lines []string
			for _, name := range []string{"Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Param-Region", "Mcp-Session-Id"} {
				if v, ok := r.Header[name]; ok {
					lines = append(lines, name+": "+strings.Join(v, ","))
				}
			}
			heads = append(heads, strings.Join(lines, "\n"))
			m.result(w, `{"resultType":"complete"}`)
		}
	})
	for _, r := range []*protocol.Request{
		toolCall("sql", `"arguments":{"region":" eu"}`),
		toolCall("sql", `"arguments":{}`),
		{Method: "resources/read", Params: json.RawMessage(`{"uri":"file:///é"}`), Caller: &protocol.Caller{}},
		{Method: "prompts/list", Caller: &protocol.Caller{}},
	} {
		if _, err := c.Handle(t.Context(), r, protocol.Discard); err != nil {
			t.Error(err)
		}
	}
	want := []string{
		"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: sql\nMcp-Param-Region: =?base64?IGV1?=",
		"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: sql",
		"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: resources/read\nMcp-Name: =?base64?ZmlsZTovLy/DqQ==?=",
		"Mcp-Protocol-Version: 2026-07-28\nMcp-Method: prompts/list",
	}
	if !slices.Equal(heads, want) {
		t.Errorf("headers\n%s\nwant\n%s", strings.Join(heads, "\n\n"), strings.Join(want, "\n\n"))
	}
	if n := lists.Load(); n != 1 {
		t.Errorf("tools listed %d times", n)
	}
}

// TestHeaderMismatch: a tool that has got a header since it was listed.
func TestHeaderMismatch(t *testing.T) {
	t.Parallel()
	var calls, lists atomic.Int32
	c := startFake(t, func(w http.ResponseWriter, r *http.Request, m message) {
		switch {
		case m.Method == "server/discover":
			m.result(w, discovered)
		case m.Method == "tools/list":
			extra := ""
			if lists.Add(1) > 1 {
				extra = `,"x-mcp-header":"A"`
			}
			m.result(w, `{"resultType":"complete","tools":[{"name":"x","inputSchema":{"properties":{"a":{"type":"string"`+extra+`}}}}]}`)
		case r.Header.Get("Mcp-Param-A") != "1":
			calls.Add(1)
			m.fault(w, `{"code":-32020,"message":"Mcp-Param-A is missing"}`)
		default:
			m.result(w, `{"resultType":"complete","ok":true}`)
		}
	})
	res, err := c.Handle(t.Context(), toolCall("x", `"arguments":{"a":"1"}`), protocol.Discard)
	if err != nil || string(res.Body) != `{"ok":true}` || calls.Load() != 1 {
		t.Errorf("%v, %v after %d calls", res, err, calls.Load())
	}
	_, err = c.Handle(t.Context(), toolCall("x", `"arguments":{"a":"2"}`), protocol.Discard)
	if fault, ok := errors.AsType[*protocol.Error](err); !ok || fault.Code != protocol.CodeHeaderMismatch {
		t.Errorf("error %v", err)
	}
}

// TestCredentials: tokens are asked for anew, callers with credentials of
// their own share no session, and nobody can set what the transport sets.
func TestCredentials(t *testing.T) {
	t.Parallel()
	var (
		mu    sync.Mutex
		seen  []string
		token atomic.Int32
	)
	c := startFake(t, past(func(w http.ResponseWriter, r *http.Request, m message) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, strings.Join([]string{
			r.Header.Get("Mcp-Session-Id"), r.Header.Get("Authorization"), r.Header.Get("X-User"), r.Header.Get("X-Fixed"), r.Header.Get("Mcp-Protocol-Version"),
		}, " "))
		m.result(w, `{}`)
	}), func(cfg *streamable.ClientConfig) {
		cfg.Header = http.Header{"X-Fixed": {"f"}, "X-User": {"nobody"}}
		cfg.Token = func(context.Context) (string, error) {
			return fmt.Sprintf("t%d", min(token.Add(1), 9)), nil
		}
		cfg.Forward = func(_ context.Context, r *protocol.Request) (http.Header, error) {
			h := r.Caller.Header.Clone()
			h.Set("Mcp-Protocol-Version", "1999-01-01")
			h.Set("Mcp-Session-Id", "stolen")
			return h, nil
		}
	})
	for _, user := range []string{"ann", "bob", "ann"} {
		r := toolCall("x")
		r.Caller = &protocol.Caller{Header: http.Header{"X-User": {user}}}
		if _, err := c.Handle(t.Context(), r, protocol.Discard); err != nil {
			t.Error(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for i, s := range seen {
		f := strings.Fields(s)
		f[1], _, _ = strings.Cut(f[1], " ")
		seen[i] = f[0] + " " + strings.Join(f[3:], " ")
	}
	if want := []string{"session-1 ann f 2025-06-18", "session-2 bob f 2025-06-18", "session-1 ann f 2025-06-18"}; !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
	bad := startFake(t, past(nil), func(cfg *streamable.ClientConfig) {
		cfg.Forward = func(context.Context, *protocol.Request) (http.Header, error) {
			return http.Header{"X-User": {"a\r\nX-Admin: 1"}}, nil
		}
	})
	if _, err := bad.Handle(t.Context(), toolCall("x"), protocol.Discard); err == nil || err.Error() != "the header X-User has characters that cannot be forwarded (code -32600)" {
		t.Errorf("error %v", err)
	}
}

func TestClientConfig(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cfg  streamable.ClientConfig
		want string
	}{
		{streamable.ClientConfig{}, `streamable: URL "" must begin with http:// or https:// and a host`},
		{streamable.ClientConfig{URL: "ftp://x"}, `streamable: URL "ftp://x" must begin with http:// or https:// and a host`},
		{streamable.ClientConfig{URL: "http://u:secret@x"}, `streamable: URL "http://x" must hold no credentials; use a header`},
		{streamable.ClientConfig{URL: "http://u:secret@%"}, `streamable: the URL cannot be read`},
		{
			streamable.ClientConfig{URL: "http://x", Header: http.Header{"A b": nil, "Mcp-Name": {"x"}, "X": {"\n"}}},
			"streamable: header \"A b\" has a name that cannot be sent\nheader \"Mcp-Name\" is set by the transport\nheader \"X\" has a value with characters that cannot be sent",
		},
	} {
		if _, err := streamable.NewClient(tt.cfg); err == nil || err.Error() != tt.want {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
}

// TestStrays: what a server says on its GET stream: requests that belong to
// the one call under way, changes, and a stream that breaks.
func TestStrays(t *testing.T) {
	t.Parallel()
	var gets atomic.Int32
	say := make(chan string)
	answers := make(chan string, 10)
	old := past(func(w http.ResponseWriter, _ *http.Request, m message) {
		switch m.Method {
		case "":
			answers <- m.body
			w.WriteHeader(http.StatusAccepted)
		case "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			say <- `{"jsonrpc":"2.0","id":"ask","method":"elicitation/create","params":{"message":"?"}}`
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"answer\":%s}}\n\n", m.ID, <-answers)
		}
	})
	c := startFake(t, func(w http.ResponseWriter, r *http.Request, m message) {
		if m.Method == "initialize" {
			w.Header().Set("Mcp-Session-Id", "s")
			m.result(w, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}`)
			return
		}
		if r.Method != http.MethodGet {
			old(w, r, m)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		n := gets.Add(1)
		if want := map[int32]string{1: "", 2: "e1"}[n]; n < 3 && r.Header.Get("Last-Event-Id") != want {
			t.Errorf("GET %d resumes after %q, want %q", n, r.Header.Get("Last-Event-Id"), want)
		}
		fmt.Fprintf(w, "retry: 1\nid: e%d\ndata:\n\n", n)
		w.(http.Flusher).Flush()
		if n == 1 {
			return // the stream breaks
		}
		for {
			select {
			case s := <-say:
				fmt.Fprintf(w, "data: %s\n\n", s)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	r := toolCall("x")
	r.Meta.Capabilities = json.RawMessage(`{"elicitation":{}}`)
	res, err := c.Handle(t.Context(), r, protocol.Discard)
	if err != nil || res.Type != protocol.ResultInputRequired {
		t.Fatalf("%v, %v", res, err)
	}
	var in struct {
		InputRequests map[string]json.RawMessage
		RequestState  string
	}
	if err := json.Unmarshal(res.Body, &in); err != nil {
		t.Fatal(err)
	}
	for key := range in.InputRequests {
		r.Params = json.RawMessage(`{"name":"x","requestState":"` + in.RequestState + `","inputResponses":{"` + key + `":{"action":"cancel"}}}`)
	}
	res, err = c.Handle(t.Context(), r, protocol.Discard)
	if err != nil || string(res.Body) != `{"answer":{"jsonrpc":"2.0","id":"ask","result":{"action":"cancel"}}}` {
		t.Errorf("%v, %v", res, err)
	}

	// Nothing is under way now.
	for _, tt := range [][2]string{
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{`{"jsonrpc":"2.0","id":2,"method":"roots/list"}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"requests can be answered only while a call is under way"}}`},
	} {
		say <- tt[0]
		if got := prototest.Await(t, answers, "an answer"); got != tt[1] {
			t.Errorf("%s: %s, want %s", tt[0], got, tt[1])
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	notes := make(chan string, 10)
	done := make(chan error, 1)
	listen := &protocol.Request{
		Method: "subscriptions/listen", Params: json.RawMessage(`{"notifications":{"toolsListChanged":true,"promptsListChanged":true}}`),
		Meta: r.Meta, Caller: r.Caller,
	}
	go func() {
		_, err := c.Handle(ctx, listen, protocol.NotifierFunc(func(_ context.Context, n *protocol.Notification) error {
			notes <- n.Method + string(n.Params)
			return nil
		}))
		done <- err
	}()
	if got := prototest.Await(t, notes, "the acknowledgement"); got != `notifications/subscriptions/acknowledged{"notifications":{"toolsListChanged":true}}` {
		t.Errorf("acknowledged %s", got)
	}
	say <- `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`
	say <- `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	if got := prototest.Await(t, notes, "the change"); got != "notifications/tools/list_changed" {
		t.Errorf("change %s", got)
	}
	c.Close()
	if err := prototest.Await(t, done, "the end"); err == nil || err.Error() != "the connection to the MCP server is closed: the connection is closed" {
		t.Errorf("listener: %v", err)
	}
}

// TestListenAcrossSessions: a subscription goes on in a new session where the
// server has forgotten the first, with one acknowledgement.
func TestListenAcrossSessions(t *testing.T) {
	t.Parallel()
	var inits, gets atomic.Int32
	lose := make(chan struct{})
	old := past(nil)
	c := startFake(t, func(w http.ResponseWriter, r *http.Request, m message) {
		switch {
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", fmt.Sprintf("s%d", inits.Add(1)))
			m.result(w, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}}`)
		case m.Method == "resources/subscribe" || m.Method == "resources/unsubscribe":
			m.result(w, `{}`)
		case r.Method == http.MethodGet && gets.Add(1) == 2:
			http.Error(w, "gone", http.StatusNotFound)
		case r.Method == http.MethodGet:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "retry: 1\nid: e\ndata:\n\n")
			w.(http.Flusher).Flush()
			select {
			case <-lose:
			case <-r.Context().Done():
			}
		default:
			old(w, r, m)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	notes := make(chan string, 10)
	done := make(chan error, 1)
	go func() {
		_, err := c.Handle(ctx, &protocol.Request{
			Method: "subscriptions/listen", Params: json.RawMessage(`{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["test://a"]}}`),
			Caller: &protocol.Caller{},
		}, protocol.NotifierFunc(func(_ context.Context, n *protocol.Notification) error {
			notes <- n.Method + string(n.Params)
			return nil
		}))
		done <- err
	}()
	if got, want := prototest.Await(t, notes, "the acknowledgement"), `notifications/subscriptions/acknowledged{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["test://a"]}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	lose <- struct{}{}
	for _, want := range []string{"notifications/tools/list_changed", `notifications/resources/updated{"uri":"test://a"}`} {
		if got := prototest.Await(t, notes, "a change"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	cancel()
	if err := prototest.Await(t, done, "the end"); !errors.Is(err, context.Canceled) || inits.Load() != 2 {
		t.Errorf("%v after %d sessions", err, inits.Load())
	}
}

// TestAnswerElsewhere: some servers send responses on the GET stream.
func TestAnswerElsewhere(t *testing.T) {
	t.Parallel()
	answers := make(chan string)
	old := past(func(w http.ResponseWriter, r *http.Request, m message) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		for _, id := range []string{"77", string(m.ID)} {
			answer := `{"jsonrpc":"2.0","id":` + id + `,"result":{"id":` + id + `}}`
			if strings.Contains(m.body, `"broken"`) {
				answer = strings.TrimSuffix(answer, "}}")
			}
			answers <- answer
		}
		<-r.Context().Done()
	})
	c := startFake(t, func(w http.ResponseWriter, r *http.Request, m message) {
		if r.Method != http.MethodGet {
			old(w, r, m)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			w.(http.Flusher).Flush()
			select {
			case a := <-answers:
				fmt.Fprintf(w, "data: %s\n\n", a)
			case <-r.Context().Done():
				return
			}
		}
	})
	for range 3 {
		res, err := c.Handle(t.Context(), toolCall("x"), protocol.Discard)
		if err != nil || !strings.HasPrefix(string(res.Body), `{"id":`) || string(res.Body) == `{"id":77}` {
			t.Errorf("%v, %v", res, err)
		}
	}
	_, err := c.Handle(t.Context(), toolCall("broken"), protocol.Discard)
	if fault, ok := errors.AsType[*protocol.UpstreamError](err); !ok || fault.Kind != protocol.UpstreamMalformed {
		t.Errorf("a response that is cut off: %v", err)
	}
}
