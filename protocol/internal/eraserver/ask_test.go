package eraserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eraserver"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// askable opens a session of a client that can be asked for everything. What it
// is sent goes to the channel.
func askable(t *testing.T, s *eraserver.Server) (*eraserver.Session, eraserver.Stream, <-chan string) {
	t.Helper()
	p := json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}},"clientInfo":{"name":"c","version":"1"}}`)
	session, _, fault := s.Open(t.Context(), initialize(p), caller, func(*protocol.Notification) {})
	if fault != nil {
		t.Fatal(fault)
	}
	t.Cleanup(session.Close)
	sent := make(chan string, 1000)
	return session, eraserver.Stream{Notifier: protocol.Discard, Send: func(_ context.Context, m []byte) error {
		sent <- string(m)
		return nil
	}}, sent
}

func parse(t *testing.T, message string) *jsonrpc.Message {
	t.Helper()
	m, fault := jsonrpc.Parse([]byte(message))
	if fault != nil {
		t.Fatal(fault)
	}
	return m
}

func rounds(requests ...string) string {
	return prototest.Call("1", "input", `"arguments":{"rounds":[`+strings.Join(requests, ",")+`]}`)
}

const roots = `{"r":{"method":"roots/list"}}`

// A server may ask ten times, and one that only wants to be called again is
// called later each time.
func TestRounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := eraserver.NewServer(prototest.NewHandler(), slog.New(slog.DiscardHandler))
		defer server.Close()
		session, stream, sent := askable(t, server)
		defer session.Close()
		for n, want := range map[int]string{10: `"result":`, 11: "wanted input for the same call more than 10 times"} {
			go func() {
				for range min(n, 10) {
					m := parse(t, <-sent)
					if !session.Answered(&jsonrpc.Message{ID: m.ID, Result: json.RawMessage(`{"roots":[]}`)}) {
						t.Errorf("nobody waits for the answer to %s", m.ID)
					}
				}
			}()
			all := strings.Split(strings.Repeat(roots+"\n", n-1)+roots, "\n")
			if got := string(session.Call(t.Context(), parse(t, rounds(all...)), caller, stream).Body); !strings.Contains(got, want) {
				t.Errorf("%d rounds: %s, want %s", n, got, want)
			}
			synctest.Wait()
			begun := time.Now()
			all = strings.Split(strings.Repeat("null\n", n-1)+"null", "\n")
			if got := string(session.Call(t.Context(), parse(t, rounds(all...)), caller, stream).Body); !strings.Contains(got, want) {
				t.Errorf("%d rounds: %s, want %s", n, got, want)
			}
			if took := time.Since(begun); took != 26300*time.Millisecond {
				t.Errorf("%d retries take %s", n, took)
			}
		}
	})
}

// A client that does not answer fails the call, and is told that its answer is
// not wanted any more.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := eraserver.NewServer(prototest.NewHandler(), slog.New(slog.DiscardHandler))
		defer server.Close()
		session, stream, sent := askable(t, server)
		defer session.Close()
		got := string(session.Call(t.Context(), parse(t, rounds(roots)), caller, stream).Body)
		if !strings.Contains(got, "the client has not answered within 5m0s what this call asks") {
			t.Error(got)
		}
		<-sent
		if got := <-sent; got != `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"the client has not answered in time"}}` {
			t.Error(got)
		}
		broken := stream
		broken.Send = func(context.Context, []byte) error { return errors.New("broken") }
		if got := string(session.Call(t.Context(), parse(t, rounds(roots)), caller, broken).Body); !strings.Contains(got, "the client has gone") {
			t.Error(got)
		}
		done := make(chan string)
		go func() { done <- string(session.Call(t.Context(), parse(t, rounds(roots)), caller, stream).Body) }()
		<-sent
		session.EndAnswers()
		for range 2 { // the one that waits, and one that comes later
			if got := <-done; !strings.Contains(got, "the client has gone") {
				t.Error(got)
			}
			go func() { done <- string(session.Call(t.Context(), parse(t, rounds(roots)), caller, stream).Body) }()
		}
		<-done
	})
}

// What a client of each revision is asked, and what it cannot be asked.
func TestInputOfRevisions(t *testing.T) {
	t.Parallel()
	const (
		all  = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{},"tasks":{}}`
		form = `{"q":{"method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{}}}}`
		url  = `{"q":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"u:v"}}}`
		talk = `{"q":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"tools":[]}}}`
	)
	server := newServer(t, prototest.NewHandler())
	for i, tt := range []struct{ rev, caps, request, want string }{
		{"2025-11-25", all, form, `"params":{"mode":"form","message":"m","requestedSchema":{}}`},
		{"2025-06-18", all, form, `"params":{"message":"m","requestedSchema":{}}`},
		{"2025-03-26", all, form, `"requiredCapabilities":{"elicitation":{"form":{}}}`},
		{"2025-11-25", all, url, `"params":{"mode":"url","message":"m","url":"u:v","elicitationId":"`},
		{"2025-06-18", all, url, `"requiredCapabilities":{"elicitation":{"url":{}}}`},
		{"2025-11-25", `{"elicitation":{"url":{}}}`, form, `"requiredCapabilities":{"elicitation":{"form":{}}}`},
		{"2025-11-25", `{"elicitation":{}}`, url, `"requiredCapabilities":{"elicitation":{"url":{}}}`},
		{"2025-11-25", all, talk, `"content":[{"type":"text","text":"a"}]`},
		{"2025-06-18", all, talk, `"requiredCapabilities":{"sampling":{"tools":{}}}`},
		{"2024-11-05", all, strings.ReplaceAll(talk, `,"tools":[]`, ""), `"content":{"type":"text","text":"a"}`},
		{"2024-11-05", `{}`, roots, `"requiredCapabilities":{"roots":{}}`},
		{"2025-11-25", all, `{"q":{"method":"roots/list","params":7}}`, "the params of an input request are no object"},
		{"2025-11-25", all, `{"r":{"method":"roots/list"},"r":{}}`, "occurs twice"},
		{"2025-11-25", all, `{` + strings.TrimSuffix(strings.Repeat(`"$":{"method":"roots/list"},`, 33), ",") + `}`, "more than 32"},
	} {
		for n := 0; strings.Contains(tt.request, "$"); n++ {
			tt.request = strings.Replace(tt.request, "$", fmt.Sprint(n), 1)
		}
		p := json.RawMessage(`{"protocolVersion":"` + tt.rev + `","capabilities":` + tt.caps + `,"clientInfo":{"name":"c","version":"1"}}`)
		session, _, fault := server.Open(t.Context(), initialize(p), caller, func(*protocol.Notification) {})
		if fault != nil {
			t.Fatal(fault)
		}
		var seen string
		got := string(session.Call(t.Context(), parse(t, rounds(tt.request)), caller, eraserver.Stream{
			Notifier: protocol.Discard,
			Send: func(_ context.Context, m []byte) error {
				if seen == "" {
					seen = string(m)
				}
				return errors.New("enough")
			},
		}).Body)
		if seen == "" {
			seen = got
		}
		if !strings.Contains(seen, tt.want) {
			t.Errorf("%d: %s %s: %s\nwant %s", i, tt.rev, tt.request, seen, tt.want)
		}
		session.Close()
	}
}
