package protocol_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func TestTimeout(t *testing.T) {
	t.Parallel()
	// hang waits for the end of the request, or an hour.
	hang := protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		if r.Method == "becomes a task" {
			<-time.After(time.Second)
			protocol.LiftTimeout(ctx)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(time.Hour):
			return &protocol.Result{}, nil
		}
	})
	for name, tt := range map[string]struct {
		limit          time.Duration
		method, params string
		took           time.Duration
		fault          string
	}{
		"limit":        {30 * time.Second, "tools/call", `{}`, 30 * time.Second, "the MCP server did not answer within 30s"},
		"client":       {30 * time.Second, "tools/call", `{"_meta":{"io.github.mcp-bridge/timeout":2.5}}`, 2500 * time.Millisecond, "the MCP server did not answer within 2.5s"},
		"client alone": {0, "tools/call", `{"_meta":{"io.github.mcp-bridge/timeout":"1m"}}`, time.Minute, "the MCP server did not answer within 1m0s"},
		"client, more": {30 * time.Second, "tools/call", `{"_meta":{"io.github.mcp-bridge/timeout":"1h"}}`, 30 * time.Second, "the MCP server did not answer within 30s"},
		"none":         {0, "tools/call", `{}`, time.Hour, ""},
		"subscription": {time.Second, protocol.MethodListen, `{}`, time.Hour, ""},
		"task":         {time.Second, protocol.MethodGetTask, `{}`, time.Hour, ""},
		"a task":       {2 * time.Second, "becomes a task", `{}`, time.Hour + time.Second, ""},
		"invalid":      {time.Second, "tools/call", `{"_meta":{"io.github.mcp-bridge/timeout":0}}`, 0, `params._meta["io.github.mcp-bridge/timeout"] must be a time above zero, as a number of seconds or as text such as "2.5s" (code -32602)`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := protocol.Chain(hang, protocol.Timeout(tt.limit))
				begin := time.Now()
				_, err := h.Handle(t.Context(), &protocol.Request{Method: tt.method, Params: json.RawMessage(tt.params)}, protocol.Discard)
				if took := time.Since(begin); took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
				if err == nil && tt.fault != "" || err != nil && err.Error() != tt.fault {
					t.Errorf("error %v, want %q", err, tt.fault)
				}
				if fault, ok := errors.AsType[*protocol.UpstreamError](err); ok && fault.Kind != protocol.UpstreamTimeout {
					t.Errorf("kind %v", fault.Kind)
				}
			})
		})
	}
	// The caller's own end is no timeout.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := protocol.Timeout(time.Hour)(hang).Handle(ctx, &protocol.Request{Method: "tools/call"}, protocol.Discard)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
