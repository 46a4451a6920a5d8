package httpsse_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/httpsse"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
)

func sseClient(t *testing.T, h http.HandlerFunc, edit ...func(*httpsse.ClientConfig)) *httpsse.Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	hc := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(hc.CloseIdleConnections)
	cfg := httpsse.ClientConfig{URL: server.URL + "/sse", HTTPClient: hc}
	for _, f := range edit {
		f(&cfg)
	}
	c, err := httpsse.NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func toolCall() *protocol.Request {
	return &protocol.Request{
		Method: "tools/call", Params: json.RawMessage(`{"name":"x"}`),
		Meta: protocol.Meta{Revision: protocol.Revision20260728}, Caller: &protocol.Caller{Transport: "test"},
	}
}

// TestClientOpening is about streams that do not begin as they must.
func TestClientOpening(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		contentType, stream string
		status              int
		want                string
		kind                protocol.UpstreamKind
	}{
		"404":            {"text/plain", "no", 404, `the MCP server answered HTTP 404 Not Found: it said: "no"`, protocol.UpstreamRejected},
		"401":            {"text/plain", "", 401, "the MCP server answered HTTP 401 Unauthorized", protocol.UpstreamUnauthenticated},
		"no stream":      {"application/json", "{}", 200, "the MCP server's answer to GET is no event stream", protocol.UpstreamMalformed},
		"no endpoint":    {"text/event-stream", "data: x\n\n", 200, "the first event of the MCP server's stream is no endpoint event", protocol.UpstreamMalformed},
		"empty":          {"text/event-stream", "", 200, "the MCP server has ended the event stream", protocol.UpstreamUnavailable},
		"other host":     {"text/event-stream", "event: endpoint\ndata: http://evil.example/post\n\n", 200, "the MCP server names an endpoint of another origin", protocol.UpstreamMalformed},
		"other host, //": {"text/event-stream", "event: endpoint\ndata: //evil.example/post\n\n", 200, "the MCP server names an endpoint of another origin", protocol.UpstreamMalformed},
		"other scheme":   {"text/event-stream", "event: endpoint\ndata: file:///etc/passwd\n\n", 200, "the MCP server names an endpoint of another origin", protocol.UpstreamMalformed},
		"large":          {"text/event-stream", "event: endpoint\ndata: " + strings.Repeat("x", 2000), 200, "the MCP server sent a message of more than 1000 bytes", protocol.UpstreamTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := sseClient(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.contentType)
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.stream)
			}, func(cfg *httpsse.ClientConfig) { cfg.MaxMessageBytes = 1000 })
			_, err := c.Handle(t.Context(), toolCall(), protocol.Discard)
			fault, ok := errors.AsType[*protocol.UpstreamError](err)
			if !ok || fault.Kind != tt.kind || err.Error() != tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
}

// TestClientHangs: a server that opens the stream and says nothing.
func TestClientHangs(t *testing.T) {
	t.Parallel()
	c := sseClient(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, func(cfg *httpsse.ClientConfig) { cfg.HandshakeTimeout = 20 * time.Millisecond })
	_, err := c.Handle(t.Context(), toolCall(), protocol.Discard)
	if fault, ok := errors.AsType[*protocol.UpstreamError](err); !ok || fault.Kind != protocol.UpstreamTimeout || fault.Message != "the MCP server did not answer initialize in time" {
		t.Errorf("error %v", err)
	}
}

// TestClientStreamBreaks: calls under way fail, and the next one gets a new
// connection.
func TestClientStreamBreaks(t *testing.T) {
	t.Parallel()
	h := prototest.NewHandler()
	server, err := httpsse.New(httpsse.Config{Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	var opened atomic.Int32
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			opened.Add(1)
		}
		server.ServeHTTP(w, r)
	}))
	defer backend.Close()
	c, err := httpsse.NewClient(httpsse.ClientConfig{URL: backend.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := toolCall()
	r.Params = json.RawMessage(`{"name":"block"}`)
	done := make(chan error, 1)
	go func() {
		_, err := c.Handle(t.Context(), r, protocol.Discard)
		done <- err
	}()
	prototest.Await(t, h.Started(), "the call")
	backend.CloseClientConnections()
	err = prototest.Await(t, done, "the end")
	if fault, ok := errors.AsType[*protocol.UpstreamError](err); !ok || !strings.HasPrefix(fault.Message, "the event stream of the MCP server broke off") || fault.Unsent {
		t.Errorf("error %v", err)
	}
	r.Params = json.RawMessage(`{"name":"echo","arguments":[1]}`)
	if res, err := c.Handle(t.Context(), r, protocol.Discard); err == nil || !strings.Contains(err.Error(), "params.arguments") {
		t.Errorf("afterwards: %v, %v", res, err)
	}
	if n := opened.Load(); n != 2 {
		t.Errorf("%d connections", n)
	}
}

// TestClientPostFails: what is wrong with a POST is the error of its call.
func TestClientPostFails(t *testing.T) {
	t.Parallel()
	events := make(chan string, 10)
	c := sseClient(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: endpoint\ndata: /post?a=b#c\n\n")
			for {
				w.(http.Flusher).Flush()
				select {
				case e := <-events:
					fmt.Fprintf(w, "data: %s\n\n", e)
				case <-r.Context().Done():
					return
				}
			}
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || r.URL.String() != "/post?a=b" {
			t.Errorf("POST to %s: %v", r.URL, err)
		}
		switch m.Method {
		case "initialize":
			events <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`, m.ID)
		case "tools/call":
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
	_, err := c.Handle(t.Context(), toolCall(), protocol.Discard)
	if fault, ok := errors.AsType[*protocol.UpstreamError](err); !ok || fault.Kind != protocol.UpstreamThrottled || fault.RetryAfter != 3*time.Second {
		t.Errorf("error %v", err)
	}
}
