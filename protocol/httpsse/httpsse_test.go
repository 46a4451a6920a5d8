package httpsse_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol/httpsse"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
)

// connect opens a stream and returns it with the URL for POSTs.
func connect(t *testing.T, url string) (stream *prototest.Stream, post string) {
	t.Helper()
	stream = prototest.Open(t, http.MethodGet, url, "")
	if stream.Status != http.StatusOK {
		t.Fatalf("status %d", stream.Status)
	}
	endpoint, ok := strings.CutPrefix(stream.Block(), "event: endpoint\ndata: /sse?")
	if !ok {
		t.Fatal("the stream does not begin with its endpoint")
	}
	return stream, url + "?" + strings.TrimSpace(endpoint)
}

// send posts a message, which must be accepted.
func send(t *testing.T, url, message string, header ...string) {
	t.Helper()
	if r := prototest.Do(t, http.MethodPost, url, message, header...); r.Status != http.StatusAccepted || r.Body != "" {
		t.Errorf("%.100s: status %d, body %q; want 202 and nothing", message, r.Status, r.Body)
	}
}

// initialize opens the session of a stream.
func initialize(t *testing.T, stream *prototest.Stream, url string, header ...string) {
	t.Helper()
	send(t, url, prototest.Initialize("2024-11-05"), header...)
	if m := stream.Message(); !strings.Contains(m, `"protocolVersion":"2024-11-05"`) {
		t.Fatalf("initialize: %s", m)
	}
}

func checkMessage(t *testing.T, stream *prototest.Stream, want string) {
	t.Helper()
	if m := stream.Message(); !strings.Contains(m, want) {
		t.Errorf("message %s, want one with %s", m, want)
	}
}

func TestNewReportsFaults(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]httpsse.Config{
		"httpsse: Config.Handler is nil":                                {},
		`httpsse: allowed origin "x" needs a scheme, such as https://x`: {Handler: prototest.NewHandler(), AllowedOrigins: []string{"x"}},
	} {
		if _, err := httpsse.New(cfg); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestNotificationsAreNeverAnswered(t *testing.T) {
	t.Parallel()
	url, _ := start(t, httpsse.Config{Handler: prototest.NewHandler()})
	stream, url := connect(t, url)
	initialize(t, stream, url)
	for _, message := range []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/unknown","params":7}`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"panic"}}`,
		`[{"jsonrpc":"2.0","method":"notifications/initialized"}]`,
		`{"jsonrpc":"2.0","id":5,"result":{}}`,
	} {
		send(t, url, message)
	}
	send(t, url, `{"jsonrpc":"2.0","id":"last","method":"ping"}`)
	checkMessage(t, stream, `"id":"last","result":{}`)
}

func TestCredentialsAreThoseOfEachRequest(t *testing.T) {
	t.Parallel()
	url, _ := start(t, httpsse.Config{Handler: prototest.NewHandler()})
	stream, url := connect(t, url)
	initialize(t, stream, url, "Authorization", "Bearer first")
	for _, token := range []string{"second", "third"} {
		send(t, url, prototest.Call("1", "whoami"), "Authorization", "Bearer "+token)
		checkMessage(t, stream, `"sse Bearer `+token+`"`)
	}
	send(t, url, prototest.Call("1", "whoami"))
	checkMessage(t, stream, `"sse "`)
}

func TestIDsComeBackByteForByte(t *testing.T) {
	t.Parallel()
	url, _ := start(t, httpsse.Config{Handler: prototest.NewHandler()})
	stream, url := connect(t, url)
	initialize(t, stream, url)
	for _, id := range []string{`1.0`, `9007199254740993`, `"a\u0062\n"`, `"\ud800"`, `"` + strings.Repeat("long", 5000) + `"`} {
		send(t, url, prototest.Call(id, "echo"))
		checkMessage(t, stream, `"id":`+id+`,"result"`)
	}
}

// TestServerWriteTimeoutDoesNotCutStreams has a server whose write timeout is
// over before anything could be sent.
func TestServerWriteTimeoutDoesNotCutStreams(t *testing.T) {
	t.Parallel()
	h, err := httpsse.New(httpsse.Config{Handler: prototest.NewHandler()})
	if err != nil {
		t.Fatal(err)
	}
	gets := httptest.NewUnstartedServer(h)
	gets.Config.WriteTimeout = time.Nanosecond
	gets.Start()
	posts := httptest.NewServer(h)
	t.Cleanup(func() { h.Close(); gets.Close(); posts.Close() })
	stream, url := connect(t, gets.URL+"/sse")
	url = posts.URL + url[len(gets.URL):]
	initialize(t, stream, url)
	send(t, url, prototest.Call("1", "progress", `"arguments":{"count":1}`, `"_meta":{"progressToken":1}`))
	checkMessage(t, stream, "notifications/progress")
	checkMessage(t, stream, `"id":1,"result"`)
}

func TestNothingFollowsTheResponse(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	url, _ := start(t, httpsse.Config{Handler: handler})
	stream, url := connect(t, url)
	initialize(t, stream, url)
	send(t, url, prototest.Call("1", "late"))
	checkMessage(t, stream, "to be continued")
	if err := handler.NotifyLate(t.Context()); err == nil {
		t.Error("a Notifier accepts notifications after the response")
	}
	send(t, url, `{"jsonrpc":"2.0","id":"last","method":"ping"}`)
	checkMessage(t, stream, `"id":"last"`)
}

func TestSilentStreamsAreKeptAlive(t *testing.T) {
	t.Parallel()
	url, _ := start(t, httpsse.Config{Handler: prototest.NewHandler(), KeepAlive: time.Millisecond})
	stream, _ := connect(t, url)
	if got := stream.Header.Get("X-Accel-Buffering"); got != "no" {
		t.Errorf("X-Accel-Buffering is %q, want no", got)
	}
	for range 3 {
		if block := stream.Block(); !strings.HasPrefix(block, ":") {
			t.Errorf("block %q, want a comment", block)
		}
	}
}

func TestConnectionsHaveALimit(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	url, _ := start(t, httpsse.Config{Handler: handler, MaxConnections: 1})
	stream, post := connect(t, url)
	r := prototest.Do(t, http.MethodGet, url, "")
	if r.Status != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("status %d, header %v; want 503 with Retry-After", r.Status, r.Header)
	}
	initialize(t, stream, post)
	send(t, post, prototest.Call("1", "block"))
	prototest.Await(t, handler.Started(), "start")
	stream.Close()
	_ = prototest.Await(t, handler.Causes(), "end of the call")
	for prototest.Do(t, http.MethodPost, post, `{"jsonrpc":"2.0","id":1,"method":"ping"}`).Status != http.StatusNotFound {
		continue // until the server has noticed
	}
	connect(t, url)
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	url, h := start(t, httpsse.Config{Handler: handler})
	stream, post := connect(t, url)
	initialize(t, stream, post)
	send(t, post, prototest.Call("1", "block"))
	prototest.Await(t, handler.Started(), "start")
	h.Close()
	for stream.Block() != "" {
		continue // what is sent last does not matter
	}
	_ = prototest.Await(t, handler.Causes(), "end of the call")
	if r := prototest.Do(t, http.MethodPost, post, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); r.Status != http.StatusNotFound {
		t.Errorf("POST: status %d, want 404", r.Status)
	}
	if r := prototest.Do(t, http.MethodGet, url, ""); r.Status != http.StatusServiceUnavailable {
		t.Errorf("GET: status %d, want 503", r.Status)
	}
}

// TestConcurrency is for the race detector.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	url, h := start(t, httpsse.Config{Handler: handler, KeepAlive: 100 * time.Microsecond})
	var wg sync.WaitGroup
	for worker := range 4 {
		stream, post := connect(t, url)
		wg.Go(func() {
			for stream.Block() != "" {
				continue
			}
		})
		var posts sync.WaitGroup
		for range 3 {
			posts.Go(func() {
				for i := range 20 {
					for _, message := range []string{
						prototest.Initialize("2024-11-05"),
						prototest.Call(fmt.Sprint(i), []string{"progress", "block", "panic"}[i%3], `"arguments":{"count":2}`, `"_meta":{"progressToken":1}`),
						fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i),
					} {
						if s, err := prototest.TryOpen(t, http.MethodPost, post, message); err == nil {
							s.Close()
						}
					}
				}
			})
		}
		if worker == 0 {
			posts.Wait()
			for range 20 {
				handler.Trigger("notifications/tools/list_changed")
			}
		}
		wg.Go(posts.Wait)
	}
	h.Close() // while calls come in
	wg.Wait()
}
