package eraclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcp-bridge/mcp-bridge/internal/ways"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
)

func TestMain(m *testing.M) {
	if os.Getenv(driverEnv) != "" {
		if err := drive(os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// sdk serves a server of the official Go SDK.
func sdk(s *mcp.Server) ways.Server {
	get := func(*http.Request) *mcp.Server { return s }
	sessions := mcp.NewStreamableHTTPHandler(get, nil)
	modern := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true})
	return ways.Server{
		Stdio: func(ctx context.Context, in io.Reader, out io.Writer) error {
			return s.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: nopCloser{out}})
		},
		HTTP: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Mcp-Protocol-Version") < ways.Modern {
				sessions.ServeHTTP(w, r)
				return
			}
			modern.ServeHTTP(w, r) // handlers with sessions refuse the revision
		}),
		SSE: mcp.NewSSEHandler(get, nil),
	}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

var caller = &protocol.Caller{Transport: "test", RemoteAddr: "192.0.2.1:1"}

func request(method, params string, edit ...func(*protocol.Meta)) *protocol.Request {
	r := &protocol.Request{Method: method, Caller: caller, Meta: protocol.Meta{
		Revision: protocol.Revision20260728, Capabilities: json.RawMessage(`{}`),
		ClientInfo: json.RawMessage(`{"name":"tester","version":"1"}`),
	}}
	if params != "" {
		r.Params = json.RawMessage(params)
	}
	for _, f := range edit {
		f(&r.Meta)
	}
	return r
}

// notes collects notifications.
type notes chan *protocol.Notification

func (n notes) Notify(_ context.Context, note *protocol.Notification) error {
	n <- note
	return nil
}

func (n notes) all() string {
	var b strings.Builder
	for len(n) > 0 {
		note := <-n
		b.WriteString(note.Method + " " + string(note.Params) + "\n")
	}
	return b.String()
}

func ask(t *testing.T, c ways.Client, r *protocol.Request) (string, string) {
	t.Helper()
	n := make(notes, 100)
	res, err := c.Handle(t.Context(), r, n)
	if err != nil {
		return "error: " + err.Error(), n.all()
	}
	kind := string(res.Type)
	if kind == "" {
		kind = "complete"
	}
	return kind + " " + string(res.Body), n.all()
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, way := range ways.JSONRPC() {
		t.Run(way.String(), func(t *testing.T) {
			t.Parallel()
			h := prototest.NewHandler()
			c := ways.Connect(t, way, ways.Serve(t, h))
			token := func(m *protocol.Meta) { m.ProgressToken = json.RawMessage(`"my \u0074oken"`) }
			level := func(l protocol.LogLevel) func(*protocol.Meta) {
				return func(m *protocol.Meta) { m.LogLevel = l }
			}
			for _, tt := range []struct {
				request     *protocol.Request
				want, notes string
			}{
				{
					request: request("tools/list", ""),
					want:    `complete {"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`,
				},
				{
					request: request("tools/call", `{"name":"echo","arguments":{"a":1.0,"b":"\u00e9"}}`),
					want:    `complete {"content":[{"type":"text","text":"{\"a\":1.0,\"b\":\"\\u00e9\"}"}]}`,
				},
				{
					request: request("tools/call", `{"_meta":{"progressToken":"my \u0074oken"},"name":"progress","arguments":{"count":2}}`, token),
					want:    `complete {"content":[{"type":"text","text":"done"}]}`,
					notes: `notifications/progress {"progressToken":"my \u0074oken","progress":1,"total":2}` + "\n" +
						`notifications/progress {"progressToken":"my \u0074oken","progress":2,"total":2}` + "\n",
				},
				{
					request: request("tools/call", `{"name":"log","arguments":{"level":"info"}}`),
					want:    `complete {"content":[{"type":"text","text":"logged"}]}`,
				},
				{
					request: request("tools/call", `{"name":"log","arguments":{"level":"info"}}`, level(protocol.LogInfo)),
					want:    `complete {"content":[{"type":"text","text":"logged"}]}`,
					notes:   `notifications/message {"level":"info","data":"a line"}` + "\n",
				},
				{
					request: request("tools/call", `{"name":"log","arguments":{"level":"info"}}`, level(protocol.LogError)),
					want:    `complete {"content":[{"type":"text","text":"logged"}]}`,
				},
				{
					request: request("tools/call", `{"name":"fail","arguments":{"code":-7,"message":"no","data":[1.0]}}`),
					want:    `error: no (code -7)`,
				},
				{
					request: request("tools/call", `{"name":"object"}`),
					want:    `complete {"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1},"isError":false,"example.com/unknown":null}`,
				},
				{
					request: request("example/echo", `{"_meta":{"example.com/x":[1.0]},"b":null}`),
					want:    `complete {"params":{"_meta":{"example.com/x":[1.0]},"b":null}}`,
				},
				{
					request: request("logging/setLevel", `{"level":"info"}`),
					want:    `error: method "logging/setLevel" is not available (code -32601)`,
				},
				{request: request("prompts/get", `{"name":"h\u00e9"}`), want: `complete {"messages":[]}`},
			} {
				got, notes := ask(t, c, tt.request)
				if tt.request.Method == "example/echo" { // where _meta stands does not matter, nor what else it has
					got = strings.ReplaceAll(got, `{"b":null,"_meta":{"example.com/x":[1.0]}}`, `{"_meta":{"example.com/x":[1.0]},"b":null}`)
					if i := strings.Index(got, `"io.modelcontextprotocol/protocolVersion"`); i > 0 {
						j := strings.Index(got, `"example.com/x"`)
						got = got[:i] + got[j:]
					}
				}
				got = compact(got)
				if got != tt.want || notes != tt.notes {
					t.Errorf("%s %s:\n got %s\nwant %s\nnotes %s\nwant  %s", tt.request.Method, tt.request.Params, got, tt.want, notes, tt.notes)
				}
			}
			res, err := c.Handle(t.Context(), request("server/discover", ""), protocol.Discard)
			if err != nil || string(res.Server) != `{"name":"prototest","version":"1"}` || !strings.Contains(string(res.Body), `"instructions":"Ask \"me\"."`) {
				t.Errorf("discover: %v, %v", res, err)
			}
		})
	}
}

func compact(s string) string {
	kind, body, _ := strings.Cut(s, " ")
	var b bytes.Buffer
	if json.Compact(&b, []byte(body)) != nil {
		return s
	}
	return kind + " " + b.String()
}

func TestCancel(t *testing.T) {
	t.Parallel()
	for _, way := range ways.JSONRPC() {
		t.Run(way.String(), func(t *testing.T) {
			t.Parallel()
			h := prototest.NewHandler()
			c := ways.Connect(t, way, ways.Serve(t, h))
			why := errors.New("changed my mind")
			ctx, cancel := context.WithCancelCause(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := c.Handle(ctx, request("tools/call", `{"name":"block"}`), protocol.Discard)
				done <- err
			}()
			prototest.Await(t, h.Started(), "the call")
			cancel(why)
			if err := prototest.Await(t, done, "the end"); !errors.Is(err, why) {
				t.Errorf("error %v", err)
			}
			if err := prototest.Await(t, h.Causes(), "the cancellation"); err == nil {
				t.Error("the call has no cause to end")
			}
			if got, _ := ask(t, c, request("tools/call", `{"name":"echo"}`)); !strings.HasPrefix(got, "complete") {
				t.Errorf("afterwards: %s", got)
			}
		})
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	for _, way := range ways.JSONRPC() {
		t.Run(way.String(), func(t *testing.T) {
			t.Parallel()
			h := prototest.NewHandler()
			c := ways.Connect(t, way, ways.Serve(t, h))
			ctx, cancel := context.WithCancel(t.Context())
			n := make(notes, 100)
			done := make(chan error, 1)
			go func() {
				_, err := c.Handle(ctx, request("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`), n)
				done <- err
			}()
			ack := prototest.Await(t, n, "the acknowledgement")
			if ack.Method != protocol.NotificationAcknowledged || string(ack.Params) != `{"notifications":{"toolsListChanged":true}}` {
				t.Errorf("acknowledged %s %s", ack.Method, ack.Params)
			}
			h.Trigger(protocol.NotificationToolsChanged)
			note := prototest.Await(t, n, "the change")
			if note.Method != protocol.NotificationToolsChanged || note.Params != nil && string(note.Params) != "{}" {
				t.Errorf("change %s %s", note.Method, note.Params)
			}
			if way.Revision == ways.Modern {
				h.EndListen()
				if err := prototest.Await(t, done, "the end"); err != nil {
					t.Errorf("ended by the server: %v", err)
				}
			}
			cancel()
			if way.Revision != ways.Modern {
				if err := prototest.Await(t, done, "the end"); !errors.Is(err, context.Canceled) {
					t.Errorf("ended by the client: %v", err)
				}
			}
		})
	}
}
