package mux

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
)

// handler is a function that answers.
type handler func(ctx context.Context, r *protocol.Request) (*protocol.Result, error)

func (h handler) Handle(ctx context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
	return h(ctx, r)
}

// slow is a Mux of the server a and of one, b, that is opened by open. It
// belongs to a bubble of synctest.
func slow(t *testing.T, open func(ctx context.Context) (protocol.Handler, func(), error)) *Mux {
	t.Helper()
	m, err := New(Config{Logger: slog.New(slog.DiscardHandler), Parts: []Part{
		{Name: "a", Open: func(context.Context) (protocol.Handler, func(), error) { return newServer("a", "one"), nil, nil }},
		{Name: "b", Open: open},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// lists returns the tools and what is unavailable, and how long that took.
func lists(t *testing.T, m *Mux) (got string, took time.Duration) {
	t.Helper()
	begun := time.Now()
	res, err := m.Handle(t.Context(), request(protocol.MethodListTools, `{}`), protocol.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var body struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(res.Body, &body); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(body.Tools) + string(res.Meta), time.Since(begun)
}

// TestHang: a part that does not answer does not keep the others from being
// heard, is waited for less for a while, and is there again once it answers.
func TestHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := true
		b := newServer("b", "two")
		m := slow(t, func(context.Context) (protocol.Handler, func(), error) {
			return handler(func(ctx context.Context, r *protocol.Request) (*protocol.Result, error) {
				if hang {
					<-ctx.Done()
					return nil, context.Cause(ctx)
				}
				return b.Handle(ctx, r, protocol.Discard)
			}), nil, nil
		})
		const without, with = `[{one}]{"io.github.mcp-bridge/unavailable":["b"]}`, `[{one} {two}]`
		for _, want := range []struct {
			list  string
			took  time.Duration
			pause time.Duration
			hang  bool
		}{
			{without, answerTimeout, 0, true},
			{without, lateTimeout, latePause, true},
			{without, answerTimeout, 0, false},
			{with, 0, 0, true},
			{without, answerTimeout, 0, true},
		} {
			if got, took := lists(t, m); got != want.list || took != want.took {
				t.Errorf("got %s after %v, want %s after %v", got, took, want.list, want.took)
			}
			<-time.After(want.pause)
			hang = want.hang
		}
		if res, err := m.Handle(t.Context(), request(protocol.MethodDiscover, `{}`), protocol.Discard); err != nil || !strings.Contains(string(res.Body), "a: Use a.") {
			t.Errorf("%+v, %v", res, err)
		}
	})
}

// TestFirst: what is asked before the parts are open waits for them, and not for
// one that cannot be opened.
func TestFirst(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		open time.Duration
		want string
		took time.Duration
	}{
		{"late", 3 * time.Second, `[{one} {two}]`, 3 * time.Second},
		{"never", time.Hour, `[{one}]{"io.github.mcp-bridge/unavailable":["b"]}`, firstTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := slow(t, func(ctx context.Context) (protocol.Handler, func(), error) {
					select {
					case <-time.After(tt.open):
						return newServer("b", "two"), nil, nil
					case <-ctx.Done():
						return nil, nil, context.Cause(ctx)
					}
				})
				if got, took := lists(t, m); got != tt.want || took != tt.took {
					t.Errorf("got %s after %v, want %s after %v", got, took, tt.want, tt.took)
				}
				if _, took := lists(t, m); took != 0 {
					t.Errorf("the second list took %v", took)
				}
				_, err := m.Handle(t.Context(), request(protocol.MethodCallTool, `{"name":"three"}`), protocol.Discard)
				if want := map[bool]string{true: "now, while these upstreams are unavailable: b", false: "tools/list names those there are"}[tt.open == time.Hour]; err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %s", err, want)
				}
				down := m.Ready(t.Context())
				if (down["b"] != nil) != (tt.open == time.Hour) {
					t.Errorf("down: %v", down)
				}
			})
		})
	}
}

// TestLongList: a list that goes on and on is left out.
func TestLongList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		page := 0
		text := strings.Repeat("x", 8<<20) + `"}`
		m := slow(t, func(context.Context) (protocol.Handler, func(), error) {
			return handler(func(_ context.Context, r *protocol.Request) (*protocol.Result, error) {
				if r.Method != protocol.MethodListTools {
					return nil, errors.New("no")
				}
				page++
				return &protocol.Result{Body: json.RawMessage(fmt.Sprintf(`{"tools":[{"name":"t%d"}],"nextCursor":"%d","more":"`, page, page) + text)}, nil
			}), nil, nil
		})
		got, _ := lists(t, m)
		if page > 8 || got != `[{one}]{"io.github.mcp-bridge/unavailable":["b"]}` {
			t.Errorf("%d pages, %s", page, got)
		}
	})
}
