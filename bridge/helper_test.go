package bridge_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/grpcgo"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pingProto is an API with two methods.
const pingProto = `
syntax = "proto3";
package ping.v1;
service Ping {
  // Echoes.
  rpc Echo(Text) returns (Text);
  rpc Slow(Text) returns (Text);
}
message Text { string text = 1; }
`

// start puts a Bridge in front of a backend.
func start(t *testing.T, backend *dynbackend.Backend, opts ...bridge.Option) *bridge.Bridge {
	t.Helper()
	b, err := bridge.New(t.Context(), []bridge.Upstream{{Caller: dial(t, backend)}}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// dial connects to a backend.
func dial(t *testing.T, backend *dynbackend.Backend) *grpcgo.Caller {
	t.Helper()
	caller, err := grpcgo.Dial("grpc://" + backend.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := caller.Close(); err != nil {
			t.Error(err)
		}
	})
	return caller
}

// remaining returns the time to a deadline, in half minutes.
func remaining(deadline time.Time) string {
	if deadline.IsZero() {
		return "no deadline"
	}
	return time.Until(deadline).Round(30 * time.Second).String()
}

// request is a request of a modern client.
func request(method, params string) *protocol.Request {
	return &protocol.Request{
		Method: method,
		Params: json.RawMessage(params),
		Meta:   protocol.Meta{Revision: protocol.Revision20260728, Capabilities: json.RawMessage(`{}`)},
		Caller: &protocol.Caller{Transport: "http"},
	}
}

// callResult is a CallToolResult.
type callResult struct {
	IsError           bool
	StructuredContent json.RawMessage
	Content           []struct{ Type, Text string }
}

// call calls a tool.
func call(ctx context.Context, t *testing.T, h protocol.Handler, name, arguments string) (callResult, error) {
	t.Helper()
	res, err := h.Handle(ctx, request(protocol.MethodCallTool, `{"name":"`+name+`","arguments":`+arguments+`}`), protocol.Discard)
	if err != nil {
		return callResult{}, err
	}
	var out callResult
	if err := json.Unmarshal(res.Body, &out); err != nil {
		t.Fatalf("%v in %s", err, res.Body)
	}
	return out, nil
}

// recorder is a Notifier that keeps what it gets.
type recorder struct {
	mu   sync.Mutex
	all  []*protocol.Notification
	more chan struct{}
}

func newRecorder() *recorder { return &recorder{more: make(chan struct{}, 1)} }

func (r *recorder) Notify(_ context.Context, n *protocol.Notification) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, n)
	select {
	case r.more <- struct{}{}:
	default:
	}
	return nil
}

// wait returns the notifications once there are at least n.
func (r *recorder) wait(t *testing.T, n int) []*protocol.Notification {
	t.Helper()
	for {
		all := r.seen()
		if len(all) >= n {
			return all
		}
		select {
		case <-r.more:
		case <-t.Context().Done():
			t.Fatalf("got %d notifications, want %d", len(all), n)
		}
	}
}

func (r *recorder) seen() []*protocol.Notification {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all
}

// message is a request of a modern client.
func message(method, params string) string {
	params = strings.TrimSuffix(params, "}")
	if params != "{" {
		params += ","
	}
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params +
		`"_meta":{"` + protocol.MetaProtocolVersion + `":"2026-07-28","` + protocol.MetaClientCapabilities + `":{}}}}`
}
