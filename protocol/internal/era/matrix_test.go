package era_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/httpsse"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
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

const modern = string(protocol.Revision20260728)

// ways are all transports with all revisions that they carry.
var ways = []struct{ transport, revision string }{
	{"stdio", "2024-11-05"}, {"stdio", "2025-03-26"}, {"stdio", "2025-06-18"}, {"stdio", "2025-11-25"}, {"stdio", modern},
	{"http", "2025-03-26"}, {"http", "2025-06-18"}, {"http", "2025-11-25"}, {"http", modern},
	{"sse", "2024-11-05"}, {"fallback", "2024-11-05"},
}

// client is what all transports give.
type client interface {
	protocol.Handler
	Close()
}

// serving are the fronts of a server.
type serving struct {
	stdio func(ctx context.Context, in io.Reader, out io.Writer) error
	http  http.Handler
	sse   http.Handler
}

// connect returns a client whose server serves no revision but the given one.
func connect(t *testing.T, transport, revision string, s serving) client {
	t.Helper()
	var (
		c   client
		err error
	)
	switch transport {
	case "stdio":
		c, err = stdio.NewClient(stdio.ClientConfig{Dial: func(context.Context) (io.ReadWriteCloser, error) {
			return dial(s.stdio, revision), nil
		}})
	default:
		h := s.http
		if transport != "http" {
			h = s.sse
		}
		if revision != modern {
			h = onlyLegacy(h, revision)
		}
		server := httptest.NewServer(h)
		t.Cleanup(server.Close)
		hc := &http.Client{Transport: &http.Transport{}}
		t.Cleanup(hc.CloseIdleConnections)
		if transport == "sse" {
			c, err = httpsse.NewClient(httpsse.ClientConfig{URL: server.URL, HTTPClient: hc})
		} else {
			c, err = streamable.NewClient(streamable.ClientConfig{URL: server.URL, HTTPClient: hc})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// duplex is one end of a server that runs in this process.
type duplex struct {
	revision string
	out      *io.PipeWriter // to the server
	in       *io.PipeReader // what the client reads
	inject   *io.PipeWriter
	mu       sync.Mutex
	cancel   context.CancelFunc
	wg       sync.WaitGroup
}

func dial(serve func(ctx context.Context, in io.Reader, out io.Writer) error, revision string) *duplex {
	ctx, cancel := context.WithCancel(context.Background())
	serverIn, out := io.Pipe()
	fromServer, serverOut := io.Pipe()
	in, inject := io.Pipe()
	d := &duplex{revision: revision, out: out, in: in, inject: inject, cancel: cancel}
	d.wg.Go(func() {
		err := serve(ctx, serverIn, serverOut)
		_ = serverOut.CloseWithError(io.EOF)
		_ = serverIn.CloseWithError(errors.Join(io.ErrClosedPipe, err))
	})
	d.wg.Go(func() {
		r := bufio.NewReader(fromServer)
		for {
			line, err := r.ReadBytes('\n')
			if err != nil {
				_ = inject.CloseWithError(err)
				_ = fromServer.CloseWithError(err)
				return
			}
			d.say(line)
		}
	})
	return d
}

func (d *duplex) say(line []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, _ = d.inject.Write(line)
}

func (d *duplex) Read(p []byte) (int, error) { return d.in.Read(p) }

var idMember = regexp.MustCompile(`"id":(\d+)`)

// Write hides from the server what its revision does not have.
func (d *duplex) Write(p []byte) (int, error) {
	if d.revision != modern && bytes.Contains(p, []byte(`"server/discover"`)) {
		id := idMember.FindSubmatch(p)[1]
		go d.say([]byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"code":-32601,"message":"what?"}}` + "\n"))
		return len(p), nil
	}
	_, err := d.out.Write(asking(p, d.revision))
	return len(p), err
}

func (d *duplex) Close() error {
	_ = d.out.Close()
	_ = d.in.Close()
	d.cancel()
	d.wg.Wait()
	return nil
}

// asking rewrites initialize to ask for another revision.
func asking(p []byte, revision string) []byte {
	if revision == modern || !bytes.Contains(p, []byte(`"method":"initialize"`)) {
		return p
	}
	return bytes.Replace(p, []byte(`"protocolVersion":"2025-11-25"`), []byte(`"protocolVersion":"`+revision+`"`), 1)
}

// onlyLegacy hides from a server what its revision does not have.
func onlyLegacy(h http.Handler, revision string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			if bytes.Contains(body, []byte(protocol.MetaProtocolVersion)) || r.Header.Get("Mcp-Protocol-Version") >= modern {
				http.Error(w, "Bad Request: no session", http.StatusBadRequest)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(asking(body, revision)))
			r.ContentLength = int64(len(asking(body, revision)))
		}
		h.ServeHTTP(w, r)
	})
}

// ours serves a Handler by our own fronts.
func ours(t *testing.T, h protocol.Handler) serving {
	t.Helper()
	web, err := streamable.New(streamable.Config{Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	sse, err := httpsse.New(httpsse.Config{Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { web.Close(); sse.Close() })
	return serving{
		stdio: func(ctx context.Context, in io.Reader, out io.Writer) error {
			return stdio.Serve(ctx, in, out, stdio.Config{Handler: h})
		},
		http: web, sse: sse,
	}
}

// sdk serves a server of the official Go SDK.
func sdk(s *mcp.Server) serving {
	get := func(*http.Request) *mcp.Server { return s }
	return serving{
		stdio: func(ctx context.Context, in io.Reader, out io.Writer) error {
			return s.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(in), Writer: nopCloser{out}})
		},
		http: mcp.NewStreamableHTTPHandler(get, nil),
		sse:  mcp.NewSSEHandler(get, nil),
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

func ask(t *testing.T, c client, r *protocol.Request) (string, string) {
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
	for _, way := range ways {
		t.Run(way.transport+" "+way.revision, func(t *testing.T) {
			t.Parallel()
			h := prototest.NewHandler()
			c := connect(t, way.transport, way.revision, ours(t, h))
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
	for _, way := range ways {
		t.Run(way.transport+" "+way.revision, func(t *testing.T) {
			t.Parallel()
			h := prototest.NewHandler()
			c := connect(t, way.transport, way.revision, ours(t, h))
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
	for _, way := range ways {
		t.Run(way.transport+" "+way.revision, func(t *testing.T) {
			t.Parallel()
			h := prototest.NewHandler()
			c := connect(t, way.transport, way.revision, ours(t, h))
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
			if way.revision == modern {
				h.EndListen()
				if err := prototest.Await(t, done, "the end"); err != nil {
					t.Errorf("ended by the server: %v", err)
				}
			}
			cancel()
			if way.revision != modern {
				if err := prototest.Await(t, done, "the end"); !errors.Is(err, context.Canceled) {
					t.Errorf("ended by the client: %v", err)
				}
			}
		})
	}
}
