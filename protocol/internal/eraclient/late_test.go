package eraclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/ways"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// lateProgress answers, and writes progress at once after it.
func lateProgress(discovery string) func(say func(string), id json.RawMessage, method, line string) {
	return func(say func(string), id json.RawMessage, method, line string) {
		var m struct {
			Params struct {
				Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
			}
		}
		_ = json.Unmarshal([]byte(line), &m) // shows in the test
		switch {
		case method == "server/discover" && discovery != "":
			say(result(id, discovery))
		case method == "initialize":
			say(result(id, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`))
		case method == "tools/call":
			say(result(id, `{"resultType":"complete","content":[]}`))
			say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, m.Params.Meta.ProgressToken))
		case id != nil:
			say(unknown(id))
		}
	}
}

// callWithProgress calls a tool, and returns what notifications came before the
// result.
func callWithProgress(t *testing.T, h protocol.Handler, rev protocol.Revision) string {
	t.Helper()
	r := request("tools/call", `{"name":"t"}`, func(m *protocol.Meta) { m.Revision, m.ProgressToken = rev, json.RawMessage(`"mine"`) })
	n := make(notes, 10)
	if _, err := h.Handle(t.Context(), r, n); err != nil {
		t.Error(err)
	}
	return n.all()
}

const oneProgress = `notifications/progress {"progressToken":"mine","progress":1}` + "\n"

// TestProgressAfterResult: progress that a server writes just after its result is
// passed on, on streams of both eras.
func TestProgressAfterResult(t *testing.T) {
	t.Parallel()
	for rev, discovery := range map[protocol.Revision]string{protocol.Revision20251125: "", protocol.Revision20260728: discovered} {
		t.Run("stdio "+string(rev), func(t *testing.T) {
			t.Parallel()
			serve := script(lateProgress(discovery))
			c, err := stdio.NewClient(stdio.ClientConfig{Dial: func(context.Context) (io.ReadWriteCloser, error) { return ways.Dial(serve, ways.All), nil }})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			wantProgress(t, c, rev)
		})
		t.Run("http "+string(rev), func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(overHTTP(lateProgress(discovery)))
			defer server.Close()
			hc := &http.Client{Transport: &http.Transport{}}
			defer hc.CloseIdleConnections()
			c, err := streamable.NewClient(streamable.ClientConfig{URL: server.URL, HTTPClient: hc, DisableSSE: true})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			wantProgress(t, c, rev)
		})
	}
}

// TestProgressOnOtherStream: progress that a server sends on the stream for what
// belongs to no call finds its call by its token.
func TestProgressOnOtherStream(t *testing.T) {
	t.Parallel()
	aside := make(chan string, 10)
	answer := lateProgress("")
	front := overHTTP(func(say func(string), id json.RawMessage, method, line string) {
		first := true
		answer(func(text string) {
			if first || method != "tools/call" {
				say(text)
			} else {
				aside <- text
			}
			first = false
		}, id, method, line)
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			front.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		flush := http.NewResponseController(w)
		_ = flush.Flush()
		for {
			select {
			case text := <-aside:
				fmt.Fprintf(w, "data: %s\n\n", text)
				_ = flush.Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	defer server.Close()
	hc := &http.Client{Transport: &http.Transport{}}
	defer hc.CloseIdleConnections()
	c, err := streamable.NewClient(streamable.ClientConfig{URL: server.URL, HTTPClient: hc, DisableSSE: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	wantProgress(t, c, protocol.Revision20251125)
}

// wantProgress fails unless progress comes before the result. A machine may be busy
// for longer than progress is waited for, so there are many calls.
func wantProgress(t *testing.T, h protocol.Handler, rev protocol.Revision) {
	t.Helper()
	for range 100 {
		switch got := callWithProgress(t, h, rev); got {
		case oneProgress:
			return
		case "":
		default:
			t.Fatalf("got %q", got)
		}
	}
	t.Error("no progress came")
}

// overHTTP serves a script by Streamable HTTP, with an event stream for every
// request.
func overHTTP(f func(say func(string), id json.RawMessage, method, line string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.Error(w, "no", http.StatusMethodNotAllowed)
			return
		}
		line, err := bufio.NewReader(r.Body).ReadString(0)
		if err != nil && err != io.EOF {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal([]byte(line), &m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Mcp-Session-Id", "s")
		f(func(text string) {
			fmt.Fprintf(w, "data: %s\n\n", text)
			_ = http.NewResponseController(w).Flush() // the client may have gone
		}, m.ID, m.Method, line)
	})
}
