package front_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/front"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func TestHandle(t *testing.T) {
	t.Parallel()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name  string
		ctx   context.Context //nolint:containedctx // of one row
		h     protocol.HandlerFunc
		fault string // empty means a result
		log   string // part of the log; empty means none
	}{
		{"result", t.Context(), func(context.Context, *protocol.Request, protocol.Notifier) (*protocol.Result, error) {
			return &protocol.Result{}, nil
		}, "", ""},
		{"error", t.Context(), func(context.Context, *protocol.Request, protocol.Notifier) (*protocol.Result, error) {
			return &protocol.Result{}, fmt.Errorf("wrapped: %w", protocol.Errorf(-1, "no"))
		}, "no (code -1)", ""},
		{"other error", t.Context(), func(context.Context, *protocol.Request, protocol.Notifier) (*protocol.Result, error) {
			return nil, errors.New("secret")
		}, "internal error (code -32603)", "secret"},
		{"error after the end", gone, func(context.Context, *protocol.Request, protocol.Notifier) (*protocol.Result, error) {
			return nil, errors.New("secret")
		}, "internal error (code -32603)", ""},
		{"nothing", t.Context(), func(context.Context, *protocol.Request, protocol.Notifier) (*protocol.Result, error) {
			return nil, nil //nolint:nilnil // the fault to survive
		}, "internal error (code -32603)", "neither a result nor an error"},
		{"panic", t.Context(), func(context.Context, *protocol.Request, protocol.Notifier) (*protocol.Result, error) {
			panic("secret")
		}, "internal error (code -32603)", "secret"},
	} {
		var log bytes.Buffer
		core := front.Core{Handler: tt.h, Log: slog.New(slog.NewTextHandler(&log, nil))}
		res, fault := core.Answer(tt.ctx, &protocol.Request{Method: "m"}, protocol.Discard)
		if (res == nil) != (tt.fault != "") || (fault == nil) != (tt.fault == "") || fault != nil && fault.Error() != tt.fault {
			t.Errorf("%s: result %v, fault %v; want fault %q", tt.name, res, fault, tt.fault)
		}
		if (log.Len() == 0) != (tt.log == "") || !strings.Contains(log.String(), tt.log) {
			t.Errorf("%s: log %s, want %q", tt.name, log.String(), tt.log)
		}
	}
}

// Fronts with statuses of their own see the Handler's error itself.
func TestHandleKeepsErrors(t *testing.T) {
	t.Parallel()
	down := &protocol.UpstreamError{Kind: protocol.UpstreamThrottled, Message: "slow down"}
	core := front.Core{Log: slog.New(slog.DiscardHandler), Handler: protocol.HandlerFunc(func(context.Context, *protocol.Request, protocol.Notifier) (*protocol.Result, error) {
		return nil, fmt.Errorf("wrapped: %w", down)
	})}
	if _, err := core.Handle(t.Context(), &protocol.Request{}, protocol.Discard); !errors.Is(err, down) {
		t.Errorf("error %v, want %v in its chain", err, down)
	}
}

func TestDuring(t *testing.T) {
	t.Parallel()
	call, end := context.WithCancelCause(t.Context())
	delivered := 0
	n := front.During(call, protocol.NotifierFunc(func(context.Context, *protocol.Notification) error {
		delivered++
		return nil
	}))
	own, cancel := context.WithCancel(t.Context())
	if err := n.Notify(own, &protocol.Notification{}); err != nil || delivered != 1 {
		t.Errorf("error %v, %d delivered", err, delivered)
	}
	cancel()
	if err := n.Notify(own, &protocol.Notification{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of its own context", err)
	}
	over := errors.New("over")
	end(over)
	if err := n.Notify(t.Context(), &protocol.Notification{}); !errors.Is(err, over) {
		t.Errorf("error %v, want that of the call's context", err)
	}
	if delivered != 1 {
		t.Errorf("%d delivered after the end", delivered-1)
	}
}

func TestTag(t *testing.T) {
	t.Parallel()
	const key = `"io.modelcontextprotocol/subscriptionId"`
	for params, want := range map[string]string{
		``:   `{"_meta":{` + key + `:"\u0061"}}`,
		`{}`: `{"_meta":{` + key + `:"\u0061"}}`,
		`{"b":1.0,"_meta":{"x":null},"a\u0062":{}}`:       `{"_meta":{"x":null,` + key + `:"\u0061"},"b":1.0,"ab":{}}`,
		`{"_meta":{` + key + `:"of another hop","y":[]}}`: `{"_meta":{"y":[],` + key + `:"\u0061"}}`,
		`{"_meta":{` + key + `:7}}`:                       `{"_meta":{` + key + `:"\u0061"}}`,
	} {
		n := &protocol.Notification{Method: "m"}
		if params != "" {
			n.Params = json.RawMessage(params)
		}
		if got := front.Tag(n, json.RawMessage(`"\u0061"`)); string(got.Params) != want || got.Method != "m" {
			t.Errorf("%s becomes %s, want %s", params, got.Params, want)
		}
		if string(n.Params) != params {
			t.Errorf("the Handler's params have been written to: %s", n.Params)
		}
	}
}

func TestModernListen(t *testing.T) {
	t.Parallel()
	shared := &protocol.Result{Meta: json.RawMessage(`{"io.modelcontextprotocol/subscriptionId":"of another hop","a":1}`)}
	var sent []string
	n := protocol.NotifierFunc(func(_ context.Context, n *protocol.Notification) error {
		sent = append(sent, n.Method+" "+string(n.Params))
		return nil
	})
	h := protocol.HandlerFunc(func(ctx context.Context, _ *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
		return shared, n.Notify(ctx, &protocol.Notification{Method: "changed"})
	})
	core := front.Core{Handler: h, Log: slog.New(slog.DiscardHandler)}
	res, fault := core.Modern(t.Context(), &protocol.Request{ID: json.RawMessage(`1.0`), Method: protocol.MethodListen}, n)
	if fault != nil {
		t.Fatal(fault)
	}
	const id = `"io.modelcontextprotocol/subscriptionId":1.0`
	if want := `{"a":1,` + id + `}`; string(res.Meta) != want {
		t.Errorf("_meta %s, want %s", res.Meta, want)
	}
	want := []string{`changed {"_meta":{` + id + `}}`, `notifications/cancelled {"_meta":{` + id + `},"requestId":1.0}`}
	if strings.Join(sent, "\n") != strings.Join(want, "\n") {
		t.Errorf("sent %q, want %q", sent, want)
	}
	if !strings.Contains(string(shared.Meta), "another hop") {
		t.Error("the Handler's result has been written to")
	}

	sent = nil
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, fault := core.Modern(ended, &protocol.Request{ID: json.RawMessage(`1`), Method: protocol.MethodListen}, n); fault != nil || len(sent) != 1 {
		t.Errorf("sent %q, fault %v; want nothing of the end, as the client knows", sent, fault)
	}
	sent = nil
	if _, fault := core.Modern(t.Context(), &protocol.Request{ID: json.RawMessage(`1`), Method: "m"}, n); fault != nil || sent[0] != "changed " || len(sent) != 1 {
		t.Errorf("sent %q, fault %v; want only listen tagged", sent, fault)
	}
}

func TestCheckModern(t *testing.T) {
	t.Parallel()
	complete := protocol.Meta{Revision: protocol.Revision20260728, Capabilities: json.RawMessage(`{}`)}
	for method, code := range map[string]int{
		"tools/list": 0, "tasks/get": 0, "tasks/update": 0, "x/extension": 0,
		"ping": -32601, "initialize": -32601, "logging/setLevel": -32601, "resources/subscribe": -32601, "resources/unsubscribe": -32601,
		"tasks/list": -32601, "tasks/result": -32601,
	} {
		if fault := front.CheckModern(&complete, method); fault == nil && code != 0 || fault != nil && fault.Code != code {
			t.Errorf("%s: fault %v, want code %d", method, fault, code)
		}
	}
	if fault := front.CheckModern(&protocol.Meta{}, "ping"); fault == nil || fault.Code != protocol.CodeInvalidParams {
		t.Errorf("without metadata: fault %v, want invalid params before all else", fault)
	}
}

// What a client is told to speak is what the front speaks.
func TestDiscover(t *testing.T) {
	t.Parallel()
	body := json.RawMessage(`{"capabilities":{},"supportedVersions":["2026-07-28","2027-01-01"],"x":1.0}`)
	h := protocol.HandlerFunc(func(context.Context, *protocol.Request, protocol.Notifier) (*protocol.Result, error) {
		return &protocol.Result{Body: body}, nil
	})
	core := front.Core{Handler: h, Log: slog.New(slog.DiscardHandler)}
	res, fault := core.Modern(t.Context(), &protocol.Request{ID: json.RawMessage(`1`), Method: protocol.MethodDiscover}, protocol.Discard)
	if fault != nil {
		t.Fatal(fault)
	}
	want := `{"capabilities":{},"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"x":1.0}`
	if string(res.Body) != want {
		t.Errorf("discover answers %s, want %s", res.Body, want)
	}
	if !strings.Contains(string(body), "2027") {
		t.Errorf("the body of the Handler was changed: %s", body)
	}
}
