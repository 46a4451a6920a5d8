package streamable_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// The tests in this file are named after what bridges have got wrong on the
// wire.

// open opens a session of a revision and returns its headers.
func open(t *testing.T, url, rev string, header ...string) []string {
	t.Helper()
	r := prototest.Do(t, http.MethodPost, url, prototest.Initialize(rev), header...)
	id := r.Header.Get("Mcp-Session-Id")
	if r.Status != http.StatusOK || id == "" {
		t.Fatalf("initialize: status %d, session %q, body %s", r.Status, id, r.Body)
	}
	return []string{"Mcp-Session-Id", id, "Mcp-Protocol-Version", rev}
}

func checkResponse(t *testing.T, r prototest.Response, status int, body string) {
	t.Helper()
	if r.Status != status || !strings.Contains(r.Body, body) {
		t.Errorf("status %d, body %s\nwant status %d, body with %s", r.Status, r.Body, status, body)
	}
}

func TestNotificationsAreNeverAnswered(t *testing.T) {
	t.Parallel()
	url, _ := start(t, streamable.Config{Handler: prototest.NewHandler()})
	session := open(t, url, "2025-11-25")
	for _, message := range []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/unknown","params":{"a":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":null}`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"panic"}}`,
		`{"jsonrpc":"2.0","method":"initialize"}`,
		`{"jsonrpc":"2.0","method":"x","params":{"_meta":7}}`,
		`{"jsonrpc":"2.0","id":5,"result":{}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`,
	} {
		headers := map[string][]string{"session": session, "no session": nil}
		if strings.Contains(message, "method") {
			headers["modern"] = []string{"Mcp-Protocol-Version", "2026-07-28"}
		}
		for name, header := range headers {
			r := prototest.Do(t, http.MethodPost, url, message, header...)
			if r.Status != http.StatusAccepted || r.Body != "" || r.Header.Get("Content-Type") != "" {
				t.Errorf("%s, %s: status %d, Content-Type %q, body %q; want 202 and nothing",
					name, message, r.Status, r.Header.Get("Content-Type"), r.Body)
			}
		}
	}
}

func TestGETIsNeverAnsweredWithAResult(t *testing.T) {
	t.Parallel()
	url, _ := start(t, streamable.Config{Handler: prototest.NewHandler()})
	session := open(t, url, "2025-06-18")
	request := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for _, header := range [][]string{nil, {"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "ping"}} {
		r := prototest.Do(t, http.MethodGet, url, request, header...)
		if r.Status != http.StatusMethodNotAllowed || strings.Contains(r.Body, "result") || r.Header.Get("Allow") == "" {
			t.Errorf("headers %q: status %d, body %q; want 405 with Allow", header, r.Status, r.Body)
		}
	}
	s := prototest.Open(t, http.MethodGet, url, request, session...)
	if s.Status != http.StatusOK || s.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %d, Content-Type %q; want an event stream", s.Status, s.Header.Get("Content-Type"))
	}
	if r := prototest.Do(t, http.MethodDelete, url, "", session...); r.Status != http.StatusNoContent {
		t.Errorf("DELETE: status %d, want 204", r.Status)
	}
	if block := s.Block(); block != "" {
		t.Errorf("the GET stream has %q, want nothing", block)
	}
}

func TestCredentialsAreThoseOfEachRequest(t *testing.T) {
	t.Parallel()
	url, _ := start(t, streamable.Config{Handler: prototest.NewHandler()})
	session := open(t, url, "2025-11-25", "Authorization", "Bearer first")
	who := func(header ...string) string {
		t.Helper()
		return prototest.Do(t, http.MethodPost, url, prototest.Call("1", "whoami"), append(header, session...)...).Body
	}
	for _, token := range []string{"second", "third", "first"} {
		if body := who("Authorization", "Bearer "+token); !strings.Contains(body, `"http Bearer `+token+`"`) {
			t.Errorf("with token %s the caller is %s", token, body)
		}
	}
	if body := who(); !strings.Contains(body, `"http "`) {
		t.Errorf("without a token the caller is %s, want nobody", body)
	}
	batch := open(t, url, "2025-03-26", "Authorization", "Bearer first")
	r := prototest.Do(t, http.MethodPost, url, "["+prototest.Call("1", "whoami")+"]", append(batch, "Authorization", "Bearer second")...)
	checkResponse(t, r, http.StatusOK, `"http Bearer second"`)
}

func TestUnknownSessionsAreNeverReplaced(t *testing.T) {
	t.Parallel()
	url, _ := start(t, streamable.Config{Handler: prototest.NewHandler()})
	for name, message := range map[string]string{
		"request":      prototest.Call("1", "echo"),
		"notification": `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		"initialize":   prototest.Initialize("2025-11-25"),
		"batch":        `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		"GET":          "",
		"DELETE":       "",
	} {
		method := http.MethodPost
		if message == "" {
			method = name
		}
		r := prototest.Do(t, method, url, message, "Mcp-Session-Id", "of-somebody-else", "Mcp-Protocol-Version", "2025-03-26")
		if r.Status != http.StatusNotFound || r.Header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: status %d, session %q; want 404 and none", name, r.Status, r.Header.Get("Mcp-Session-Id"))
		}
	}
}

func TestSessionIDsAreUnguessable(t *testing.T) {
	t.Parallel()
	url, _ := start(t, streamable.Config{Handler: prototest.NewHandler()})
	seen := make(map[string]bool)
	for range 20 {
		id := open(t, url, "2025-11-25")[1]
		if seen[id] || len(id) < 26 || strings.ContainsFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
			t.Errorf("session id %q, want 128 new random bits in visible ASCII", id)
		}
		seen[id] = true
	}
}

// TestServerWriteTimeoutDoesNotCutCalls has a server whose write timeout is
// over before any call could be answered.
func TestServerWriteTimeoutDoesNotCutCalls(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	h, err := streamable.New(streamable.Config{Handler: handler})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	server.Config.WriteTimeout = time.Nanosecond
	server.Start()
	t.Cleanup(func() { h.Close(); server.Close() })
	url := server.URL

	session := open(t, url, "2025-11-25")
	modern, header := prototest.ModernCall("1", "echo")
	checkResponse(t, prototest.Do(t, http.MethodPost, url, modern, header...), http.StatusOK, `"result"`)
	checkResponse(t, prototest.Do(t, http.MethodPost, url, modern, append(header, "Accept", "text/event-stream")...), http.StatusOK, `"result"`)
	unknown, header := prototest.ModernRequest("1", "unknown/method")
	checkResponse(t, prototest.Do(t, http.MethodPost, url, unknown, header...), http.StatusNotFound, `-32601`)
	checkResponse(t, prototest.Do(t, http.MethodPost, url, prototest.Call("1", "echo"), session...), http.StatusOK, `"result"`)
	checkResponse(t, prototest.Do(t, http.MethodPost, url, prototest.Call("1", "progress", `"arguments":{"count":3}`, `"_meta":{"progressToken":1}`), session...), http.StatusOK, `"result"`)

	stream := prototest.Open(t, http.MethodGet, url, "", session...)
	handler.Trigger("notifications/tools/list_changed")
	if m := stream.Message(); !strings.Contains(m, "list_changed") {
		t.Errorf("the GET stream has %s", m)
	}
}

func TestNothingFollowsTheResponse(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	url, _ := start(t, streamable.Config{Handler: handler})
	session := open(t, url, "2025-11-25")
	stream := prototest.Open(t, http.MethodGet, url, "", session...)
	streaming := []string{"Accept", "text/event-stream"}
	modern, header := prototest.ModernCall("1", "late")
	for _, s := range []*prototest.Stream{
		prototest.Open(t, http.MethodPost, url, prototest.Call("1", "late"), append(session, streaming...)...),
		prototest.Open(t, http.MethodPost, url, modern, append(header, streaming...)...),
	} {
		if m := s.Message(); !strings.Contains(m, "to be continued") {
			t.Fatalf("message %s, want the result", m)
		}
		// What the client has read, the server may still be returning from.
		if block := s.Block(); block != "" {
			t.Errorf("after the result comes %q", block)
		}
	}
	if err := handler.NotifyLate(t.Context()); err == nil {
		t.Error("a Notifier accepts notifications after the response")
	}
	handler.Trigger("notifications/tools/list_changed")
	if m := stream.Message(); !strings.Contains(m, "list_changed") {
		t.Errorf("the GET stream has %s, want what comes after the late progress", m)
	}
	body := prototest.Do(t, http.MethodGet, url, "", append(session, "Last-Event-ID", "1-0")...).Body
	if strings.Contains(body, `"late"`) || !strings.Contains(body, "to be continued") {
		t.Errorf("the resumed stream has %q, want the result and nothing after it", body)
	}
}
