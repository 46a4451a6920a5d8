package typedserve_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typedserve"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// busy tells of its progress, then returns the params as a text. What is wrong
// with its notifications is for the stream to leave out.
func busy(ctx context.Context, params json.RawMessage, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	for _, note := range []struct{ method, params string }{
		{protocol.NotificationProgress, `{"progressToken":` + string(r.Meta.ProgressToken) + `,"progress":0.5,"total":1}`},
		{protocol.NotificationMessage, `{"level":"` + r.Meta.LogLevel.String() + `","data":{"a":1}}`},
		{protocol.NotificationMessage, `[]`},
		{"notifications/other", `{}`},
	} {
		if err := n.Notify(ctx, &protocol.Notification{Method: note.method, Params: json.RawMessage(note.params)}); err != nil {
			return nil, err
		}
	}
	if strings.Contains(string(params), `"a":0`) {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "a is 0")
	}
	return echoing(ctx, params, r, n)
}

func TestStream(t *testing.T) {
	t.Parallel()
	f := newFake(tools)
	f.call = busy
	s, addr := serve(t, typedserve.Config{Handler: f})
	for _, scheme := range []string{"grpc://", "grpcweb+http://", "connect+http://"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			add := method(t, connect(t, "grpc://"+addr, s.Service()).find(), "StreamAdd")
			c := connect(t, scheme+addr, s.Service())
			for _, tt := range []struct {
				name, request string
				meta          *mcpv1.RequestMeta
				want          []string // parts of the messages
				err           code.Code
			}{
				{"defaults", `{"request":{"a":"1"}}`, nil, []string{
					`{"progress":{"progress":0.5,"progressToken":{"text":"stream"},"total":1}}`,
					`{"log":{"data":{"a":1},"level":"LOGGING_LEVEL_INFO"}}`,
					`\"arguments\":{\"a\":1,\"version\":2}`,
				}, 0},
				{"own", `{"request":{"a":"1"}}`, &mcpv1.RequestMeta{
					LogLevel: mcpv1.LoggingLevel_LOGGING_LEVEL_DEBUG, ProgressToken: &mcpv1.ProgressToken{Token: &mcpv1.ProgressToken_Number{Number: 7}},
				}, []string{`"progressToken":{"number":"7"}`, `"LOGGING_LEVEL_DEBUG"`, `"structured":{"sum":"3"}`}, 0},
				{"no request", `{}`, nil, []string{`"progress"`, `"log"`, `\"arguments\":{\"version\":2}`}, 0},
				{"error", `{"request":{"a":"0"}}`, nil, []string{`"progress"`, `"log"`}, code.Code_INVALID_ARGUMENT},
			} {
				got, _, err := c.call(t.Context(), add, tt.request, rest(t, &mcpv1.CallToolRequest{Meta: tt.meta}))
				if failed, _ := errors.AsType[*rpc.StatusError](err); err != nil && (failed == nil || failed.Code() != tt.err) || err == nil && tt.err != 0 {
					t.Errorf("%s: %v", tt.name, err)
				}
				if len(got) != len(tt.want) {
					t.Fatalf("%s: got %s", tt.name, got)
				}
				for i, want := range tt.want {
					if !strings.Contains(got[i], want) {
						t.Errorf("%s: message %d is %s, want %s", tt.name, i, got[i], want)
					}
				}
			}
		})
	}
}

// TestCancel tests that the call of the server ends with the RPC.
func TestCancel(t *testing.T) {
	t.Parallel()
	f := newFake(tools)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	f.call = func(ctx context.Context, _ json.RawMessage, _ *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		cancel()
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}
	s, addr := serve(t, typedserve.Config{Handler: f})
	c := connect(t, "grpc://"+addr, s.Service())
	_, _, err := c.call(ctx, method(t, c.find(), "StreamSay"), `{}`, nil)
	if failed, ok := errors.AsType[*rpc.StatusError](err); !ok || failed.Code() != code.Code_CANCELLED {
		t.Errorf("got %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
