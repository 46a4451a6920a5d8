package streamable_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// fake is a server made of a function for each request.
type fake func(w http.ResponseWriter, r *http.Request, m message)

// message is what a fake server sees of a message.
type message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	body   string
}

// startFake returns a client of a server.
func startFake(t *testing.T, f fake, edit ...func(*streamable.ClientConfig)) *streamable.Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m message
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			if err := json.Unmarshal(body, &m); err != nil {
				t.Errorf("the client sends %q", body)
			}
			m.body = string(body)
		}
		f(w, r, m)
	}))
	t.Cleanup(server.Close)
	hc := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(hc.CloseIdleConnections)
	cfg := streamable.ClientConfig{URL: server.URL + "/mcp", HTTPClient: hc}
	for _, e := range edit {
		e(&cfg)
	}
	c, err := streamable.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (m message) result(w http.ResponseWriter, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// fault answers with an error, as HTTP 400.
func (m message) fault(w http.ResponseWriter, e string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":%s}`, m.ID, e)
}

const discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}`

// modern answers the probe, and hands on the rest.
func modern(f fake) fake {
	return func(w http.ResponseWriter, r *http.Request, m message) {
		switch m.Method {
		case "server/discover":
			m.result(w, discovered)
		case "tools/list":
			m.result(w, `{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}`)
		default:
			f(w, r, m)
		}
	}
}

// past opens sessions, and hands on the rest.
func past(f fake) fake {
	var n atomic.Int32
	return func(w http.ResponseWriter, r *http.Request, m message) {
		switch {
		case m.Method == "server/discover":
			http.Error(w, "what?", http.StatusBadRequest)
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "session-"+strconv.Itoa(int(n.Add(1))))
			m.result(w, `{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`)
		case m.Method == "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		case r.Method == http.MethodGet && r.Header.Get("Last-Event-Id") == "":
			http.Error(w, "no", http.StatusMethodNotAllowed)
		default:
			f(w, r, m)
		}
	}
}

func toolCall(tool string, members ...string) *protocol.Request {
	return &protocol.Request{
		Method: "tools/call", Params: json.RawMessage(`{` + strings.Join(append([]string{`"name":"` + tool + `"`}, members...), ",") + `}`),
		Meta: protocol.Meta{Revision: protocol.Revision20260728}, Caller: &protocol.Caller{Transport: "test"},
	}
}

func errorOf(t *testing.T, c *streamable.Client) *protocol.UpstreamError {
	t.Helper()
	_, err := c.Handle(t.Context(), toolCall("x"), protocol.Discard)
	fault, ok := errors.AsType[*protocol.UpstreamError](err)
	if !ok {
		t.Fatalf("error %v, want an UpstreamError", err)
	}
	return fault
}

// TestClientFaults is about single answers that are no results.
func TestClientFaults(t *testing.T) {
	t.Parallel()
	status := func(code int, header ...string) fake {
		return func(w http.ResponseWriter, _ *http.Request, _ message) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			http.Error(w, "the reason", code)
		}
	}
	raw := func(contentType, body string) fake {
		return func(w http.ResponseWriter, _ *http.Request, _ message) {
			w.Header().Set("Content-Type", contentType)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, tt := range map[string]struct {
		answer fake
		want   protocol.UpstreamError
		err    string
	}{
		"401": {status(401, "Www-Authenticate", `Bearer realm="x"`), protocol.UpstreamError{Kind: protocol.UpstreamUnauthenticated, HTTPStatus: 401, Challenge: `Bearer realm="x"`, Unsent: true}, `the MCP server answered HTTP 401 Unauthorized: it said: "the reason"`},
		"403": {status(403), protocol.UpstreamError{Kind: protocol.UpstreamPermissionDenied, HTTPStatus: 403, Unsent: true}, `the MCP server answered HTTP 403 Forbidden: it said: "the reason"`},
		"429": {status(429, "Retry-After", "7"), protocol.UpstreamError{Kind: protocol.UpstreamThrottled, HTTPStatus: 429, RetryAfter: 7 * time.Second, Unsent: true}, `the MCP server answered HTTP 429 Too Many Requests: it said: "the reason"`},
		"500": {status(500, "Retry-After", "-7"), protocol.UpstreamError{Kind: protocol.UpstreamUnavailable, HTTPStatus: 500}, `the MCP server answered HTTP 500 Internal Server Error: it said: "the reason"`},
		"502": {status(502, "Retry-After", "99999999999"), protocol.UpstreamError{Kind: protocol.UpstreamUnavailable, HTTPStatus: 502, RetryAfter: 24 * time.Hour}, `the MCP server answered HTTP 502 Bad Gateway: it said: "the reason"`},
		"503": {status(503), protocol.UpstreamError{Kind: protocol.UpstreamUnavailable, HTTPStatus: 503, Unsent: true}, `the MCP server answered HTTP 503 Service Unavailable: it said: "the reason"`},
		"504": {status(504), protocol.UpstreamError{Kind: protocol.UpstreamTimeout, HTTPStatus: 504}, `the MCP server answered HTTP 504 Gateway Timeout: it said: "the reason"`},
		"418": {status(418), protocol.UpstreamError{Kind: protocol.UpstreamRejected, HTTPStatus: 418}, `the MCP server answered HTTP 418 I'm a teapot: it said: "the reason"`},
		"202": {status(202), protocol.UpstreamError{Kind: protocol.UpstreamMalformed}, `the MCP server took the request and gave no response: HTTP status 202`},
		"redirect": {
			func(w http.ResponseWriter, r *http.Request, _ message) {
				http.Redirect(w, r, "http://127.0.0.2:1/", http.StatusTemporaryRedirect)
			},
			protocol.UpstreamError{Kind: protocol.UpstreamRejected, Unsent: true}, "",
		},
		"see other": {
			func(w http.ResponseWriter, r *http.Request, _ message) {
				http.Redirect(w, r, "/x", http.StatusSeeOther)
			},
			protocol.UpstreamError{Kind: protocol.UpstreamRejected, Unsent: true}, "",
		},
		"dropped": {
			func(http.ResponseWriter, *http.Request, message) { panic(http.ErrAbortHandler) },
			protocol.UpstreamError{Kind: protocol.UpstreamUnavailable}, "",
		},
		"HTML":          {raw("text/html", "<html>"), protocol.UpstreamError{Kind: protocol.UpstreamMalformed}, `the MCP server answered neither JSON nor an event stream: content type "text/html"`},
		"no JSON":       {raw("application/json", "{"), protocol.UpstreamError{Kind: protocol.UpstreamMalformed}, ""},
		"foreign":       {raw("application/json", `{"jsonrpc":"2.0","id":"x","result":{}}`), protocol.UpstreamError{Kind: protocol.UpstreamMalformed}, "the MCP server's answer is no response to the request"},
		"no object":     {func(w http.ResponseWriter, _ *http.Request, m message) { m.result(w, "[]") }, protocol.UpstreamError{Kind: protocol.UpstreamMalformed}, ""},
		"large":         {raw("application/json", strings.Repeat(" ", 2000)), protocol.UpstreamError{Kind: protocol.UpstreamTooLarge}, "the MCP server sent a message of more than 1000 bytes"},
		"large event":   {raw("text/event-stream", "data: "+strings.Repeat("x", 2000)), protocol.UpstreamError{Kind: protocol.UpstreamTooLarge}, "the MCP server sent a message of more than 1000 bytes"},
		"empty stream":  {raw("text/event-stream", ""), protocol.UpstreamError{Kind: protocol.UpstreamUnavailable}, "the MCP server has ended the event stream before the response"},
		"broken event":  {raw("text/event-stream", "data: {\n\n"), protocol.UpstreamError{Kind: protocol.UpstreamMalformed}, ""},
		"unsafe resume": {raw("text/event-stream", "id: 1\ndata:\n\n"), protocol.UpstreamError{Kind: protocol.UpstreamUnavailable}, "the MCP server has ended the event stream before the response"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startFake(t, modern(tt.answer), func(cfg *streamable.ClientConfig) { cfg.MaxMessageBytes = 1000 })
			got := errorOf(t, c)
			text := got.Error()
			got.Message, got.Hint, got.Err = "", "", nil
			if *got != tt.want || tt.err != "" && text != tt.err {
				t.Errorf("got %+v\nwant %+v\ntext %s\nwant %s", *got, tt.want, text, tt.err)
			}
		})
	}
	t.Run("nobody", func(t *testing.T) {
		t.Parallel()
		c, err := streamable.NewClient(streamable.ClientConfig{URL: "http://127.0.0.1:1/"})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if fault := errorOf(t, c); fault.Kind != protocol.UpstreamUnavailable || !fault.Unsent || fault.Message != "the MCP server could not be reached" {
			t.Errorf("error %+v", fault)
		}
	})
}

// TestDetection: which answers to the probe mean which era.
func TestDetection(t *testing.T) {
	t.Parallel()
	json400 := func(e string) fake {
		return func(w http.ResponseWriter, _ *http.Request, m message) { m.fault(w, e) }
	}
	plain := func(code int) fake {
		return func(w http.ResponseWriter, _ *http.Request, _ message) { http.Error(w, "", code) }
	}
	for name, tt := range map[string]struct {
		probe fake
		want  string
	}{
		"discovered":          {func(w http.ResponseWriter, _ *http.Request, m message) { m.result(w, discovered) }, "modern"},
		"header mismatch":     {json400(`{"code":-32020,"message":"m"}`), "modern"},
		"missing capability":  {json400(`{"code":-32021,"message":"m"}`), "modern"},
		"supported":           {json400(`{"code":-32022,"message":"m","data":{"supported":["2026-07-28"]}}`), "modern"},
		"supported, in draft": {json400(`{"code":-32004,"message":"m","data":{"supported":["2026-07-28"]}}`), "modern"},
		"supported before":    {json400(`{"code":-32022,"message":"m","data":{"supported":["2025-11-25"]}}`), "legacy"},
		"supported later":     {json400(`{"code":-32022,"message":"m","data":{"supported":["2030-01-01"]}}`), "the MCP server supports none of the protocol versions spoken here"},
		"everything":          {json400(`{"code":-32000,"message":"Bad Request: No valid session ID provided"}`), "legacy"},
		"unknown method":      {json400(`{"code":-32601,"message":"m"}`), "legacy"},
		"empty 400":           {plain(400), "legacy"},
		"404":                 {plain(404), "legacy"},
		"405":                 {plain(405), "legacy"},
		"406":                 {plain(406), "legacy"},
		"other result":        {func(w http.ResponseWriter, _ *http.Request, m message) { m.result(w, `{}`) }, "legacy"},
		"401":                 {plain(401), "the MCP server answered HTTP 401 Unauthorized"},
		"503":                 {plain(503), "the MCP server answered HTTP 503 Service Unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var probes atomic.Int32
			old := past(func(w http.ResponseWriter, _ *http.Request, m message) { m.result(w, `{"era":"legacy"}`) })
			c := startFake(t, func(w http.ResponseWriter, r *http.Request, m message) {
				switch {
				case m.Method == "server/discover":
					probes.Add(1)
					tt.probe(w, r, m)
				case strings.Contains(m.body, protocol.MetaProtocolVersion):
					m.result(w, `{"resultType":"complete","era":"modern"}`)
				default:
					old(w, r, m)
				}
			})
			for range 3 {
				res, err := c.Handle(t.Context(), toolCall("x"), protocol.Discard)
				var got string
				if err != nil {
					got = err.Error()
				} else {
					_, got, _ = strings.Cut(strings.TrimSuffix(string(res.Body), `"}`), `:"`)
				}
				if got != tt.want {
					t.Errorf("%s, want %s", got, tt.want)
				}
			}
			wantProbes := int32(1)
			if tt.want != "modern" && tt.want != "legacy" {
				wantProbes = 3 // nothing is known, so nothing is remembered
			}
			if n := probes.Load(); n != wantProbes {
				t.Errorf("%d probes, want %d", n, wantProbes)
			}
		})
	}
}

// TestEraChanges: a server that is replaced by one of the other era.
func TestEraChanges(t *testing.T) {
	t.Parallel()
	var isNew atomic.Bool
	fresh := modern(func(w http.ResponseWriter, _ *http.Request, m message) {
		m.result(w, `{"resultType":"complete","era":"modern"}`)
	})
	old := past(func(w http.ResponseWriter, _ *http.Request, m message) { m.result(w, `{"era":"legacy"}`) })
	c := startFake(t, func(w http.ResponseWriter, r *http.Request, m message) {
		switch {
		case !isNew.Load() && strings.Contains(m.body, protocol.MetaProtocolVersion):
			http.Error(w, "what?", http.StatusBadRequest)
		case isNew.Load() && r.Header.Get("Mcp-Session-Id") != "":
			http.Error(w, "what?", http.StatusNotFound)
		case isNew.Load() && m.Method == "initialize":
			m.fault(w, `{"code":-32022,"message":"m"}`)
		case isNew.Load():
			fresh(w, r, m)
		default:
			old(w, r, m)
		}
	})
	for _, want := range []string{"legacy", "modern", "modern", "legacy"} {
		isNew.Store(want == "modern")
		res, err := c.Handle(t.Context(), toolCall("x"), protocol.Discard)
		if err != nil || string(res.Body) != `{"era":"`+want+`"}` {
			t.Errorf("%v, %v; want %s", res, err, want)
		}
	}
}

// TestSessionGone: a session that the server has forgotten is opened again,
// once, and the call is repeated.
func TestSessionGone(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(w http.ResponseWriter, m message){
		"404": func(w http.ResponseWriter, _ message) { http.Error(w, "gone", http.StatusNotFound) },
		"400": func(w http.ResponseWriter, m message) {
			m.fault(w, `{"code":-32000,"message":"Bad Request: No valid session ID provided"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var (
				mu   sync.Mutex
				seen []string
			)
			c := startFake(t, past(func(w http.ResponseWriter, r *http.Request, m message) {
				id := r.Header.Get("Mcp-Session-Id")
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, id)
				if id == "session-1" || strings.Contains(m.body, `"never"`) {
					refuse(w, m)
					return
				}
				if v := r.Header.Get("Mcp-Protocol-Version"); v != "2025-06-18" {
					t.Errorf("version header %q", v)
				}
				m.result(w, `{"session":"`+id+`"}`)
			}))
			res, err := c.Handle(t.Context(), toolCall("x"), protocol.Discard)
			if err != nil || string(res.Body) != `{"session":"session-2"}` {
				t.Errorf("%v, %v", res, err)
			}
			_, err = c.Handle(t.Context(), toolCall("never"), protocol.Discard)
			if fault, ok := errors.AsType[*protocol.UpstreamError](err); !ok || fault.Message != "the MCP server has ended the session" {
				t.Errorf("error %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			if want := []string{"session-1", "session-2", "session-2", "session-3"}; !slices.Equal(seen, want) {
				t.Errorf("sessions %q, want %q", seen, want)
			}
		})
	}
}

// TestClientResumes: a stream that breaks is taken up where it broke, for as
// long as something new comes.
func TestClientResumes(t *testing.T) {
	t.Parallel()
	var gets atomic.Int32
	var id string
	c := startFake(t, past(func(w http.ResponseWriter, r *http.Request, m message) {
		w.Header().Set("Content-Type", "text/event-stream")
		progress := func(n int) {
			fmt.Fprintf(w, "id: %d\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":%d}}\n\n", n, id, n)
		}
		if r.Method == http.MethodPost {
			id = string(m.ID)
			fmt.Fprint(w, "retry: 1\nid: 0\ndata:\n\n")
			progress(1)
			fmt.Fprint(w, "id: x\ndata: {\"json") // is not complete
			return
		}
		last := r.Header.Get("Last-Event-Id")
		n, _ := strconv.Atoi(last)
		switch gets.Add(1) {
		case 2:
			http.Error(w, "busy", http.StatusBadGateway)
		case 3:
			panic(http.ErrAbortHandler)
		default:
			if n < 4 {
				progress(n + 1)
				return
			}
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"last\":%q}}\n\n", id, last)
		}
	}))
	r := toolCall("x")
	r.Meta.ProgressToken = json.RawMessage(`"t"`)
	n := 0
	res, err := c.Handle(t.Context(), r, protocol.NotifierFunc(func(_ context.Context, note *protocol.Notification) error {
		n++
		if want := fmt.Sprintf(`{"progressToken":"t","progress":%d}`, n); string(note.Params) != want {
			t.Errorf("progress %s, want %s", note.Params, want)
		}
		return nil
	}))
	if err != nil || string(res.Body) != `{"last":"4"}` || n != 4 {
		t.Errorf("%v, %v, %d notifications", res, err, n)
	}
}

// TestResumeGivesUp: a stream that brings nothing new is given up, with the
// error of its end.
func TestResumeGivesUp(t *testing.T) {
	t.Parallel()
	var gets atomic.Int32
	c := startFake(t, past(func(w http.ResponseWriter, r *http.Request, _ message) {
		w.Header().Set("Content-Type", "text/event-stream")
		if r.Method == http.MethodPost {
			fmt.Fprint(w, "retry: 1\nid: 0\ndata:\n\n")
			return
		}
		gets.Add(1)
	}))
	if fault := errorOf(t, c); fault.Message != "the MCP server has ended the event stream before the response" {
		t.Errorf("error %v", fault)
	}
	if n := gets.Load(); n != 5 {
		t.Errorf("%d attempts", n)
	}
}

// TestCallerLeaves: a caller that leaves while it is asked something costs
// the server no call for longer than the limit.
func TestCallerLeaves(t *testing.T) {
	t.Parallel()
	cancelled := make(chan string, 1)
	c := startFake(t, past(func(w http.ResponseWriter, r *http.Request, m message) {
		switch m.Method {
		case "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, `data: {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}`+"\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case "notifications/cancelled":
			w.WriteHeader(http.StatusAccepted)
			cancelled <- string(m.Params)
		}
	}), func(cfg *streamable.ClientConfig) { cfg.ParkTimeout, cfg.MaxParked = 20*time.Millisecond, 1 })
	r := toolCall("x")
	r.Meta.Capabilities = json.RawMessage(`{"elicitation":{}}`)
	res, err := c.Handle(t.Context(), r, protocol.Discard)
	if err != nil || res.Type != protocol.ResultInputRequired {
		t.Fatalf("%v, %v", res, err)
	}
	if got := prototest.Await(t, cancelled, "the cancellation"); !strings.Contains(got, "requestId") {
		t.Errorf("cancelled %s", got)
	}
	var body struct{ RequestState string }
	if err := json.Unmarshal(res.Body, &body); err != nil {
		t.Fatal(err)
	}
	late := toolCall("x", `"requestState":"`+body.RequestState+`"`)
	late.Meta.Capabilities = r.Meta.Capabilities
	if _, err := c.Handle(t.Context(), late, protocol.Discard); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("late: %v", err)
	}
}

// TestCloseCancels: a server that waits for its calls before it ends a session
// hears first that they are cancelled.
func TestCloseCancels(t *testing.T) {
	t.Parallel()
	var (
		serve     = past(func(http.ResponseWriter, *http.Request, message) {})
		asked     = make(chan struct{}, 2)
		cancelled = make(chan struct{}, 2)
		ended     = make(chan int, 1)
	)
	c := startFake(t, func(w http.ResponseWriter, r *http.Request, m message) {
		switch {
		case m.Method == "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			if strings.Contains(m.body, "parked") {
				fmt.Fprint(w, `data: {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}`+"\n\n")
			}
			w.(http.Flusher).Flush()
			asked <- struct{}{}
			<-r.Context().Done()
		case m.Method == "notifications/cancelled":
			cancelled <- struct{}{}
			w.WriteHeader(http.StatusAccepted)
		case r.Method == http.MethodDelete:
			ended <- len(cancelled)
			w.WriteHeader(http.StatusNoContent)
		default:
			serve(w, r, m)
		}
	})
	r := toolCall("parked")
	r.Meta.Capabilities = json.RawMessage(`{"elicitation":{}}`)
	if res, err := c.Handle(t.Context(), r, protocol.Discard); err != nil || res.Type != protocol.ResultInputRequired {
		t.Fatalf("%v, %v", res, err)
	}
	prototest.Await(t, asked, "the first call")
	done := make(chan error, 1)
	go func() {
		r := toolCall("slow")
		r.Meta.Capabilities = json.RawMessage(`{"elicitation":{}}`)
		_, err := c.Handle(context.Background(), r, protocol.Discard)
		done <- err
	}()
	prototest.Await(t, asked, "the second call")
	c.Close()
	if n := prototest.Await(t, ended, "the end of the session"); n != 2 {
		t.Errorf("%d of 2 calls were cancelled before the session ended", n)
	}
	if err := prototest.Await(t, done, "the second call's end"); err == nil {
		t.Error("a call of a closed client ended well")
	}
}

// TestUnknownMethod: to a legacy server without an error of JSON-RPC for a
// method that it does not know, it is one. A method of MCP that it refuses as
// HTTP is another matter.
func TestUnknownMethod(t *testing.T) {
	t.Parallel()
	c := startFake(t, past(func(w http.ResponseWriter, _ *http.Request, m message) {
		code, err := strconv.Atoi(strings.TrimPrefix(m.Method, "x/"))
		if err != nil {
			code = http.StatusBadRequest
		}
		http.Error(w, "what?", code)
	}))
	for method, want := range map[string]int{
		"x/400": protocol.CodeMethodNotFound, "x/501": protocol.CodeMethodNotFound,
		"x/500": protocol.CodeInternalError, "prompts/list": protocol.CodeInternalError,
	} {
		_, err := c.Handle(t.Context(), &protocol.Request{
			Method: method, Meta: protocol.Meta{Revision: protocol.Revision20260728}, Caller: &protocol.Caller{Transport: "test"},
		}, protocol.Discard)
		if got := protocol.AsError(err); err == nil || got.Code != want {
			t.Errorf("%s: %v, want code %d", method, err, want)
		}
	}
}

// TestParkedLimit: of the calls of one caller that wait, there is a limit, and
// the oldest make room.
func TestParkedLimit(t *testing.T) {
	t.Parallel()
	cancelled := make(chan string, 3)
	c := startFake(t, past(func(w http.ResponseWriter, r *http.Request, m message) {
		if m.Method != "tools/call" {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"jsonrpc":"2.0","id":"q","method":"roots/list"}`+"\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		cancelled <- string(m.Params)
	}), func(cfg *streamable.ClientConfig) { cfg.MaxParkedPerCaller = 2 })
	for i := range 3 {
		r := toolCall(fmt.Sprint("call-", i))
		r.Meta.Capabilities = json.RawMessage(`{"roots":{}}`)
		if res, err := c.Handle(t.Context(), r, protocol.Discard); err != nil || res.Type != protocol.ResultInputRequired {
			t.Errorf("call %d: %v, %v", i, res, err)
		}
	}
	if got := prototest.Await(t, cancelled, "the cancellation"); !strings.Contains(got, "call-0") {
		t.Errorf("cancelled %s, want the oldest", got)
	}
	if len(cancelled) != 0 {
		t.Errorf("cancelled as well: %s", <-cancelled)
	}
}

// TestSecretsOfTheClient: a server that repeats what it has been sent tells
// nobody.
func TestSecretsOfTheClient(t *testing.T) {
	t.Parallel()
	echo := func(r *http.Request) string {
		return r.Header.Get("Authorization") + " " + r.Header.Get("X-Api-Key") + " " + r.Header.Get("Cookie") + " " + r.URL.RawQuery
	}
	for name, f := range map[string]fake{
		"HTTP error": func(w http.ResponseWriter, r *http.Request, _ message) {
			http.Error(w, echo(r), http.StatusInternalServerError)
		},
		"JSON-RPC": func(w http.ResponseWriter, r *http.Request, m message) {
			m.fault(w, fmt.Sprintf(`{"code":-1,"message":%q,"data":[%q]}`, echo(r), echo(r)))
		},
		"content type":  func(w http.ResponseWriter, r *http.Request, _ message) { w.Header().Set("Content-Type", echo(r)) },
		"no connection": func(http.ResponseWriter, *http.Request, message) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			c := startFake(t, modern(f), func(cfg *streamable.ClientConfig) {
				cfg.URL += "?access_token=in-the-url"
				cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
				cfg.Header = http.Header{"X-Api-Key": {"configured"}}
				cfg.Token = func(context.Context) (string, error) { return "the-token", nil }
				cfg.Forward = func(context.Context, *protocol.Request) (http.Header, error) {
					return http.Header{"Cookie": {"session=forwarded"}}, nil
				}
			})
			_, err := c.Handle(t.Context(), toolCall("x"), protocol.Discard)
			if err == nil {
				t.Fatal("no error")
			}
			text := err.Error() + log.String()
			if fault, ok := errors.AsType[*protocol.Error](err); ok {
				text += string(fault.Data)
			}
			for _, secret := range []string{"the-token", "configured", "forwarded", "in-the-url"} {
				if strings.Contains(text, secret) {
					t.Errorf("%s is in %s", secret, text)
				}
			}
		})
	}
}

// TestErrorsNameWhatWasAskedFor: the header Mcp-Name, which mirrors a request, is
// no secret.
func TestErrorsNameWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	c := startFake(t, modern(func(w http.ResponseWriter, r *http.Request, m message) {
		m.fault(w, fmt.Sprintf(`{"code":-32602,"message":"There is no %s.","data":{"uri":%q}}`, r.Header.Get("Mcp-Name"), r.Header.Get("Mcp-Name")))
	}))
	_, err := c.Handle(t.Context(), toolCall("a-long-name"), protocol.Discard)
	fault, ok := errors.AsType[*protocol.Error](err)
	if !ok || fault.Message != "There is no a-long-name." || string(fault.Data) != `{"uri":"a-long-name"}` {
		t.Errorf("%v, data %s", err, fault.Data)
	}
}
