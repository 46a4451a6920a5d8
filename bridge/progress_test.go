package bridge_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/gen/library/v1/libraryv1connect"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// A client that gave a progress token hears of a slow call every ten seconds,
// with rising progress and nothing after the answer; others hear nothing.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := rpc.CallerFunc(func(ctx context.Context, _ *rpc.Call, receive func([]byte) error) (*rpc.Trailer, error) {
			select {
			case <-time.After(35 * time.Second):
				return &rpc.Trailer{}, receive(nil)
			case <-ctx.Done():
				return &rpc.Trailer{}, ctx.Err()
			}
		})
		b, err := bridge.New(t.Context(), []bridge.Upstream{{Caller: slow, Descriptors: bridge.Linked(libraryv1connect.LibraryName)}})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		for token, want := range map[string][]string{
			"": nil,
			`"t\u00e9"`: {
				`{"progressToken":"t\u00e9","progress":10,"message":"waiting for library.v1.Library.Reindex"}`,
				`{"progressToken":"t\u00e9","progress":20,"message":"waiting for library.v1.Library.Reindex"}`,
				`{"progressToken":"t\u00e9","progress":30,"message":"waiting for library.v1.Library.Reindex"}`,
			},
		} {
			r := request(protocol.MethodCallTool, `{"name":"Library_Reindex"}`)
			if token != "" {
				r.Meta.ProgressToken = []byte(token)
			}
			heard := newRecorder()
			if _, err := b.Handle(t.Context(), r, heard); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute) //nolint:forbidigo // of the bubble's time: nothing may follow
			all := heard.seen()
			if len(all) != len(want) {
				t.Fatalf("token %s: %d notifications, want %d", token, len(all), len(want))
			}
			for i, n := range all {
				if n.Method != protocol.NotificationProgress || string(n.Params) != want[i] {
					t.Errorf("%s %s, want %s", n.Method, n.Params, want[i])
				}
			}
		}
	})
}
