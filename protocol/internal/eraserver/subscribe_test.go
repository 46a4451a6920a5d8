package eraserver_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eraserver"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
)

func resource(t *testing.T, s *eraserver.Session, method, uri string) (fault map[string]any) {
	t.Helper()
	_, fault = ask(t.Context(), t, s, "resources/"+method, `{"uri":"`+uri+`"}`)
	return fault
}

// A session follows all its resources by one request, which the next one
// replaces.
func TestOneListenASession(t *testing.T) {
	t.Parallel()
	h := prototest.NewHandler()
	s := newServer(t, h)
	session, posts := open(t, s)
	for i := range 5 {
		if fault := resource(t, session, "subscribe", fmt.Sprint("a:", i)); fault != nil {
			t.Fatal(fault)
		}
	}
	for {
		all := h.Followed()
		_, changed := h.Listeners()
		if len(all) == 1 && len(all[0]) == 5 {
			break
		}
		<-changed
	}
	h.Update("a:0")
	prototest.Await(t, posts, "the update")
	session.Close()
	if fault := resource(t, session, "subscribe", "a:9"); fault != nil {
		t.Errorf("after the end: %v", fault)
	}
	for {
		n, changed := h.Listeners()
		if n == 0 {
			break
		}
		<-changed
	}
	h.Update("a:0")
	if len(posts) != 0 {
		t.Error("a closed session is told of changes")
	}
}

// A subscription that the handler ends is asked for again, and the client told
// that it may have missed something.
func TestFollowedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := prototest.NewHandler()
		var refuse atomic.Bool
		s := eraserver.NewServer(protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
			if r.Method == protocol.MethodListen && refuse.Load() {
				return nil, protocol.Errorf(-1, "not now")
			}
			return h.Handle(ctx, r, n)
		}), slog.New(slog.DiscardHandler))
		defer s.Close()
		posts := make(chan string, 10)
		session, _, fault := s.Open(t.Context(), initialize(params("2025-06-18")), caller, func(n *protocol.Notification) { posts <- string(n.Params) })
		if fault != nil {
			t.Fatal(fault)
		}
		defer session.Close()
		if fault := resource(t, session, "subscribe", "a:b"); fault != nil {
			t.Fatal(fault)
		}
		refuse.Store(true)
		h.EndListen() // one of the two, whichever
		h.EndListen()
		synctest.Wait()
		if fault := resource(t, session, "subscribe", "c:d"); fault["message"] != "not now" {
			t.Errorf("fault %v", fault)
		}
		refuse.Store(false)
		got := <-posts
		for got == "" { // the lists may have changed, too
			got = <-posts
		}
		if got != `{"uri":"a:b"}` {
			t.Error(got)
		}
		if fault := resource(t, session, "unsubscribe", "a:b"); fault != nil {
			t.Error(fault)
		}
	})
}

// There is a limit, and a handler that does not say yes is not waited for
// longer than the client waits.
func TestFollowingLimits(t *testing.T) {
	t.Parallel()
	session, _ := open(t, newServer(t, prototest.NewHandler()))
	defer session.Close()
	for i := range 256 {
		if fault := resource(t, session, "subscribe", fmt.Sprint("a:", i)); fault != nil {
			t.Fatal(fault)
		}
	}
	if fault := resource(t, session, "subscribe", "b:c"); fault["message"] != "a session may be subscribed to 256 resources: unsubscribe from one first" {
		t.Errorf("fault %v", fault)
	}

	discover := prototest.NewHandler()
	silent := newServer(t, protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
		if r.Method == protocol.MethodListen {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return discover.Handle(ctx, r, n)
	}))
	opening, enough := context.WithCancel(t.Context())
	enough()
	waiting, _, fault := silent.Open(opening, initialize(params("2025-11-25")), caller, func(*protocol.Notification) {})
	if fault != nil {
		t.Fatal(fault)
	}
	defer waiting.Close()
	m := parse(t, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:b"}}`)
	stream := eraserver.Stream{Notifier: protocol.Discard}
	for range 2 {
		if body := waiting.Call(opening, m, caller, stream).Body; len(body) == 0 {
			t.Error("no response")
		}
	}
	silent.Close()
	if fault := resource(t, waiting, "subscribe", "a:b"); fault["message"] != "the server is shutting down" {
		t.Errorf("fault %v", fault)
	}
}
