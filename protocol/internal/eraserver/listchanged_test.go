package eraserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eraserver"
)

const initializeParams = `{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}`

// lister announces changes of tools. listen answers the subscriptions.
func lister(listen func(ctx context.Context, r *protocol.Request, acknowledge func()) error) protocol.Handler {
	return protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
		if r.Method != protocol.MethodListen {
			return &protocol.Result{Body: json.RawMessage(`{"capabilities":{"tools":{"listChanged":true}}}`)}, nil
		}
		err := listen(ctx, r, func() {
			_ = n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationAcknowledged, Params: json.RawMessage(`{"notifications":{"toolsListChanged":true}}`)})
		})
		return &protocol.Result{}, err
	})
}

// TestListenAgain: sessions that are open survive the end of the subscription
// that they share, however it ends, and the pauses start anew after a time in
// which all was well.
func TestListenAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var (
			times []time.Duration
			begun = time.Now()
			count = 0
		)
		server := eraserver.NewServer(lister(func(ctx context.Context, r *protocol.Request, acknowledge func()) error {
			if !r.Caller.Principal.Internal() || r.Caller.Header != nil || r.Meta.Session != nil {
				t.Errorf("the shared subscription is asked for by %+v", r.Caller)
			}
			times = append(times, time.Since(begun).Truncate(time.Second))
			acknowledge()
			switch count++; count {
			case 1:
				return nil
			case 2:
				panic("in the handler")
			case 3:
				return protocol.Errorf(protocol.CodeInternalError, "down")
			case 4:
				time.Sleep(2 * time.Minute) //nolint:forbidigo // of the test's own clock
				return nil
			}
			<-ctx.Done()
			return context.Cause(ctx)
		}), slog.New(slog.DiscardHandler))
		defer server.Close()
		told := make(chan string, 100)
		session, _, fault := server.Open(t.Context(), initialize(json.RawMessage(initializeParams)), &protocol.Caller{}, func(n *protocol.Notification) { told <- n.Method })
		if fault != nil {
			t.Fatal(fault)
		}
		defer session.Close()
		time.Sleep(10 * time.Minute) //nolint:forbidigo // of the test's own clock
		synctest.Wait()
		if got, want := fmt.Sprint(times), "[0s 1s 3s 7s 2m8s]"; got != want {
			t.Errorf("asked at %s, want %s", got, want)
		}
		if len(told) != 4 {
			t.Errorf("the session was told %d times, want 4", len(told))
		}
		for len(told) > 0 {
			if got := <-told; got != protocol.NotificationToolsChanged {
				t.Errorf("told %s", got)
			}
		}
	})
}

// TestInitializeDoesNotHang: an upstream that does not acknowledge subscriptions
// delays initialize by two seconds at most.
func TestInitializeDoesNotHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := eraserver.NewServer(lister(func(ctx context.Context, _ *protocol.Request, _ func()) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}), slog.New(slog.DiscardHandler))
		defer server.Close()
		begun := time.Now()
		session, _, fault := server.Open(t.Context(), initialize(json.RawMessage(initializeParams)), &protocol.Caller{}, func(*protocol.Notification) {})
		if fault != nil || time.Since(begun) > 2*time.Second {
			t.Fatalf("%v after %s", fault, time.Since(begun))
		}
		session.Close()
	})
}

// TestClientIsBounded: what a session keeps of its client has a limit.
func TestClientIsBounded(t *testing.T) {
	t.Parallel()
	server := newServer(t, lister(func(ctx context.Context, _ *protocol.Request, acknowledge func()) error {
		acknowledge()
		<-ctx.Done()
		return context.Cause(ctx)
	}))
	for size, want := range map[int]string{
		1 << 10:                                  "",
		64<<10 - len(`{"x":""}`) - len(`{}`):     "",
		64<<10 - len(`{"x":""}`) - len(`{}`) + 1: "params.capabilities and params.clientInfo have 65537 bytes; together they may have 65536",
		3 << 20:                                  "together they may have 65536",
	} {
		params := `{"protocolVersion":"2025-06-18","clientInfo":{},"capabilities":{"x":"` + strings.Repeat("y", size) + `"}}`
		session, _, fault := server.Open(t.Context(), initialize(json.RawMessage(params)), &protocol.Caller{}, func(*protocol.Notification) {})
		switch {
		case want == "" && fault != nil, want != "" && (fault == nil || fault.Code != protocol.CodeInvalidParams || !strings.Contains(fault.Message, want)):
			t.Errorf("%d bytes: %v, want %q", size, fault, want)
		}
		if session != nil {
			session.Close()
		}
	}
}
