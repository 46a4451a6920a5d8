package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
)

// fakeHTTP is an MCP server over Streamable HTTP that misbehaves as its tools
// are asked to.
type fakeHTTP struct {
	legacy bool // speaks 2025-06-18, with sessions
	addr   string
	// cancelled gets what ends calls of "hang".
	cancelled chan string

	mu       sync.Mutex
	opened   int             // sessions
	known    map[string]bool // those that still are
	amnesia  bool            // whether sessions are forgotten as soon as they are opened
	calls    map[string]int
	shutdown func()
}

// startFakeHTTP serves a fake until the test ends.
func startFakeHTTP(t *testing.T, legacy bool) *fakeHTTP {
	t.Helper()
	f := &fakeHTTP{legacy: legacy, addr: "127.0.0.1:0", cancelled: make(chan string, 100), known: make(map[string]bool), calls: make(map[string]int)}
	f.up(t)
	t.Cleanup(f.down)
	return f
}

// up serves the fake, at the same address as before.
func (f *fakeHTTP) up(t *testing.T) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	f.addr = l.Addr().String()
	server := &http.Server{Handler: f, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l) // until it is closed
	}()
	f.shutdown = sync.OnceFunc(func() {
		_ = server.Close()
		<-done
	})
}

// down ends it, and whatever is under way.
func (f *fakeHTTP) down() { f.shutdown() }

func (f *fakeHTTP) url() string { return "http://" + f.addr + "/mcp" }

func (f *fakeHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		http.Error(w, "no", http.StatusMethodNotAllowed)
		return
	case http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
		return
	}
	body, err := io.ReadAll(r.Body)
	var m fakeMessage
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if f.legacy && !f.session(w, r, &m) {
		return
	}
	switch m.Method {
	case "notifications/cancelled":
		f.cancelled <- m.Method
		w.WriteHeader(http.StatusAccepted)
	case "server/discover":
		f.result(w, &m, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`)
	case "tools/list":
		f.result(w, &m, `{"resultType":"complete","tools":[{"name":"fine","inputSchema":{"type":"object"}}],"ttlMs":0,"cacheScope":"private"}`)
	case "tools/call":
		if m.Params.Name == "hang" {
			f.mu.Lock()
			f.calls["hang"]++
			f.mu.Unlock()
			<-r.Context().Done()
			f.cancelled <- "hung up"
			return
		}
		f.call(w, &m)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

// session does what a server of sessions does, and reports whether the message
// belongs to one.
func (f *fakeHTTP) session(w http.ResponseWriter, r *http.Request, m *fakeMessage) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch m.Method {
	case "server/discover":
		http.Error(w, "what?", http.StatusBadRequest)
		return false
	case "initialize":
		f.opened++
		id := strconv.Itoa(f.opened)
		f.known[id] = true
		w.Header().Set("Mcp-Session-Id", id)
		f.result(w, m, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"fake","version":"1"}}`)
		return false
	case "notifications/initialized":
		if f.amnesia {
			clear(f.known)
		}
		w.WriteHeader(http.StatusAccepted)
		return false
	}
	if !f.known[r.Header.Get("Mcp-Session-Id")] {
		http.Error(w, "no such session", http.StatusNotFound)
		return false
	}
	return true
}

func (f *fakeHTTP) result(w http.ResponseWriter, m *fakeMessage, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// call does what a tool does. A number is the status that it answers.
func (f *fakeHTTP) call(w http.ResponseWriter, m *fakeMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[m.Params.Name]++
	switch name := m.Params.Name; name {
	case "fine":
		f.result(w, m, `{"resultType":"complete","content":[{"type":"text","text":"fine"}]}`)
	case "drop": // in the middle of a stream
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\ndata: {\"jsonrpc\"")
		_ = http.NewResponseController(w).Flush() // the client may have gone
		panic(http.ErrAbortHandler)
	case "end": // the stream, before the response
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": nothing\n\n")
	case "page":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html>")
	case "forget":
		clear(f.known)
		f.result(w, m, `{"content":[]}`)
	default:
		status, err := strconv.Atoi(name)
		if err != nil {
			status = http.StatusTeapot
		}
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "7")
		}
		http.Error(w, "secret reason", status)
	}
}

// counts returns how many sessions there were, and calls of a tool.
func (f *fakeHTTP) counts(tool string) (sessions, calls int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opened, f.calls[tool]
}

// TestHTTPFaults: what goes wrong on the way to a server over HTTP is said to
// clients of every protocol, without what the server has said about it.
func TestHTTPFaults(t *testing.T) {
	t.Parallel()
	for name, legacy := range map[string]bool{"legacy": true, "modern": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startFakeHTTP(t, legacy)
			b := bridgeTo(t, f.url())
			for _, tt := range []struct {
				tool  string
				code  connect.Code
				want  string
				retry time.Duration
			}{
				{"drop", connect.CodeUnavailable, "the event stream of the MCP server broke off before the response", 0},
				{"end", connect.CodeUnavailable, "the MCP server has ended the event stream before the response", 0},
				{"page", connect.CodeInternal, "the MCP server answered neither JSON nor an event stream", 0},
				{"401", connect.CodeUnauthenticated, "the MCP server answered HTTP 401 Unauthorized", 0},
				{"403", connect.CodePermissionDenied, "the MCP server answered HTTP 403 Forbidden", 0},
				{"418", connect.CodeUnknown, "the MCP server answered HTTP 418 I'm a teapot", 0},
				{"429", connect.CodeResourceExhausted, "the MCP server answered HTTP 429 Too Many Requests", 7 * time.Second},
				{"500", connect.CodeUnavailable, "the MCP server answered HTTP 500 Internal Server Error", 0},
				{"502", connect.CodeUnavailable, "the MCP server answered HTTP 502 Bad Gateway", 0},
				{"503", connect.CodeUnavailable, "the MCP server answered HTTP 503 Service Unavailable", 0},
				{"504", connect.CodeDeadlineExceeded, "the MCP server answered HTTP 504 Gateway Timeout", 0},
			} {
				for protocol, client := range b.rpc {
					_, err := client.CallTool(t.Context(), &mcpv1.CallToolRequest{Name: tt.tool})
					wantStatus(t, err, tt.code, tt.want)
					if got := retryDelay(t, err); got != tt.retry {
						t.Errorf("%s, %s: retry after %v", tt.tool, protocol, got)
					}
				}
				for _, r := range []*http.Request{
					modernCall(t, b.base+"/mcp", tt.tool),
					request(t, http.MethodPost, b.base+"/mcp", legacyCall(tt.tool)),
				} {
					_, got := do(t, b.web, r)
					if code, message := rpcError(t, got); code != -32603 || message != tt.want {
						t.Errorf("%s: error %d %s", tt.tool, code, message)
					}
					if strings.Contains(got, "secret") {
						t.Errorf("%s: %s", tt.tool, got)
					}
				}
				if _, calls := f.counts(tt.tool); calls != 5 {
					t.Errorf("%s was called %d times for five calls", tt.tool, calls)
				}
				if got := b.must("fine"); got != "fine" {
					t.Error(got)
				}
			}
			if sessions, _ := f.counts(""); legacy && sessions > 6 {
				t.Errorf("%d sessions were opened", sessions)
			}
		})
	}
}

// TestSessionForgotten: where the server has forgotten the session, another one
// is opened, once a call.
func TestSessionForgotten(t *testing.T) {
	t.Parallel()
	f := startFakeHTTP(t, true)
	b := bridgeTo(t, f.url())
	b.must("fine")
	before, _ := f.counts("")
	for range 3 {
		if _, err := b.rpc["gRPC"].CallTool(t.Context(), &mcpv1.CallToolRequest{Name: "forget"}); err != nil {
			t.Fatal(err)
		}
		b.must("fine")
	}
	after, calls := f.counts("fine")
	if after != before+3 || calls != 4 {
		t.Errorf("%d new sessions, %d calls", after-before, calls)
	}
	f.mu.Lock()
	clear(f.known)
	f.amnesia = true
	f.mu.Unlock()
	_, err := b.call(t.Context(), "fine")
	wantStatus(t, err, connect.CodeUnavailable, "the MCP server has ended the session")
	if again, calls := f.counts("fine"); again != after+1 || calls != 4 {
		t.Errorf("%d new sessions, %d calls", again-after, calls)
	}
}

// TestRefusedThenBack: a server that is not there is said not to be, and the
// next call after it is back is answered.
func TestRefusedThenBack(t *testing.T) {
	t.Parallel()
	for name, legacy := range map[string]bool{"legacy": true, "modern": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := startFakeHTTP(t, legacy)
			b := bridgeTo(t, f.url())
			for range 2 {
				b.must("fine")
				f.down()
				for _, client := range b.rpc {
					_, err := client.CallTool(t.Context(), &mcpv1.CallToolRequest{Name: "fine"})
					wantStatus(t, err, connect.CodeUnavailable, "the MCP server could not be reached")
				}
				_, got := do(t, b.web, modernCall(t, b.base+"/mcp", "fine"))
				if code, message := rpcError(t, got); code != -32603 || message != "the MCP server could not be reached" {
					t.Errorf("error %d %s", code, message)
				}
				f.up(t)
			}
			b.must("fine")
		})
	}
}

// TestHungHTTP: a client's deadline ends a call that hangs, and the server is
// told in the way of its revision.
func TestHungHTTP(t *testing.T) {
	t.Parallel()
	for want, legacy := range map[string]bool{"notifications/cancelled": true, "hung up": false} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			f := startFakeHTTP(t, legacy)
			b := bridgeTo(t, f.url())
			for _, client := range b.rpc {
				b.hang(client, func() string {
					_, calls := f.counts("hang")
					return strconv.Itoa(calls)
				})
				for heard := ""; heard != want; {
					select {
					case heard = <-f.cancelled:
					case <-t.Context().Done():
						t.Fatal("the server is not told")
					}
				}
			}
			b.must("fine")
		})
	}
}
