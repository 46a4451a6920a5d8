package streamable_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// TestResumeAgainAndAgain has a client with a bad line: it must not lose the
// stream however often it comes back, nor by what else it does meanwhile.
func TestResumeAgainAndAgain(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	url, _ := start(t, streamable.Config{Handler: handler, StreamAfter: time.Nanosecond})
	session := open(t, url, "2025-11-25")
	call := prototest.Open(t, http.MethodPost, url, prototest.Call("1", "wait", `"_meta":{"progressToken":1}`), session...)
	if m := call.Message(); !strings.Contains(m, "progress") {
		t.Fatalf("message %s", m)
	}
	resume := append([]string{"Last-Event-ID", "1-1"}, session...)
	for i := range 40 {
		if i%2 == 0 { // either side may notice first that the line is dead
			call.Close()
		}
		call = prototest.Open(t, http.MethodGet, url, "", resume...)
		if call.Status != http.StatusOK {
			t.Fatalf("after %d resumptions: status %d", i, call.Status)
		}
		other := prototest.Do(t, http.MethodPost, url, prototest.Call("2", "progress", `"arguments":{"count":1}`, `"_meta":{"progressToken":2}`), session...)
		checkResponse(t, other, http.StatusOK, `"id":2,"result"`)
	}
	handler.Release()
	if m := call.Message(); !strings.Contains(m, `"id":1,"result"`) {
		t.Errorf("message %s, want the result", m)
	}
	if block := call.Block(); block != "" {
		t.Errorf("after the result comes %q", block)
	}
}

// TestDisconnectIsNoCancellation: the result of a call whose connection broke
// is there for whoever comes back, once the call is over too.
func TestDisconnectIsNoCancellation(t *testing.T) {
	t.Parallel()
	for _, rev := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(rev, func(t *testing.T) {
			t.Parallel()
			handler := prototest.NewHandler()
			url, _ := start(t, streamable.Config{Handler: handler})
			session := open(t, url, rev)
			call := prototest.Open(t, http.MethodPost, url, prototest.Call("1", "wait", `"_meta":{"progressToken":1}`), session...)
			call.Message()
			call.Close()
			handler.Release()
			select {
			case cause := <-handler.Causes():
				t.Errorf("the call was cancelled: %v", cause)
			default:
			}
			r := prototest.Do(t, http.MethodGet, url, "", append(session, "Last-Event-ID", "1-1")...)
			checkResponse(t, r, http.StatusOK, `"id":1,"result"`)
			if r := prototest.Do(t, http.MethodGet, url, "", append(open(t, url, rev), "Last-Event-ID", "1-1")...); r.Status != http.StatusBadRequest {
				t.Errorf("another session resumes the stream: status %d", r.Status)
			}
		})
	}
}

// TestDisconnectCancels what is of no use to anybody then: modern calls, and
// legacy ones without a session.
func TestDisconnectCancels(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	url, _ := start(t, streamable.Config{Handler: handler, StreamAfter: time.Nanosecond})
	modern, modernHeader := prototest.ModernCall("1", "block")
	listen, listenHeader := prototest.ModernRequest("2", "subscriptions/listen", `"notifications":{}`)
	for name, s := range map[string]*prototest.Stream{
		"modern call": prototest.Open(t, http.MethodPost, url, modern, modernHeader...),
		"listen":      prototest.Open(t, http.MethodPost, url, listen, listenHeader...),
		"no session":  prototest.Open(t, http.MethodPost, url, prototest.Call("1", "block"), "Mcp-Protocol-Version", "2025-11-25"),
	} {
		s.Close()
		if cause := prototest.Await(t, handler.Causes(), name); cause == nil {
			t.Errorf("%s: the context has no cause", name)
		}
	}
}

// TestChangesWaitForTheStream: what changes while no GET stream is open comes
// with the next one, and once.
func TestChangesWaitForTheStream(t *testing.T) {
	t.Parallel()
	handler := prototest.NewHandler()
	url, _ := start(t, streamable.Config{Handler: handler})
	session := open(t, url, "2025-11-25")
	other := prototest.Open(t, http.MethodGet, url, "", open(t, url, "2025-11-25")...)
	for range 3 {
		handler.Trigger("notifications/tools/list_changed")
		other.Message() // so the server has told all sessions, or does at once
	}
	handler.Trigger("notifications/prompts/list_changed")
	other.Message()
	s := prototest.Open(t, http.MethodGet, url, "", session...)
	if m := s.Message(); !strings.Contains(m, "tools/list_changed") {
		t.Errorf("message %s", m)
	}
	if m := s.Message(); !strings.Contains(m, "prompts/list_changed") {
		t.Errorf("message %s, want the next change and no repetition", m)
	}
	if n := handler.ListenCalls(); n != 1 {
		t.Errorf("%d subscriptions for two sessions, want 1", n)
	}
}
