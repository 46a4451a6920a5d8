package googlemcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"

	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol/modelcontextprotocolconnect"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func TestPages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		next func(n int) string // the cursor of page n, from 1
		want int                // tools, one a page
		err  string
	}{
		{name: "one", next: func(int) string { return "" }, want: 1},
		{name: "three", next: func(n int) string { return map[int]string{1: "ä", 2: "b"}[n] }, want: 3},
		{name: "repeated", next: func(n int) string { return fmt.Sprint(n % 3) }, want: 4},
		{name: "endless", next: func(n int) string { return fmt.Sprint(n) }, err: "the list is too long to be sent without pages"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			pages, last := 0, ""
			url, hc := serve(t, func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
				if r.Method == protocol.MethodDiscover {
					return nil, protocol.MethodNotFound(r.Method)
				}
				raw, _ := jsontok.Lookup(r.Params, "cursor")
				if cursor, _ := jsontok.String(raw); cursor != last {
					t.Errorf("page %d: cursor %q, want %q", pages, cursor, last)
				}
				pages++
				last = tt.next(pages)
				body := fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}]`, pages)
				if last != "" {
					body += `,"nextCursor":"` + last + `"`
				}
				return &protocol.Result{Body: json.RawMessage(body + "}"), Cache: &protocol.Cache{TTLMillis: int64(10_000 - pages)}}, nil
			})
			list, err := modelcontextprotocolconnect.NewMcpClient(hc, url).ListTools(t.Context(), &googlepb.ListToolsRequest{})
			if tt.err != "" {
				if connect.CodeOf(err) != connect.CodeInternal || !strings.Contains(err.Error(), tt.err) {
					t.Error(err)
				}
				return
			}
			if err != nil || len(list.GetTools()) != tt.want || list.GetTools()[tt.want-1].GetName() != fmt.Sprint("t", tt.want) {
				t.Fatalf("%v, %v", list, err)
			}
			if ttl := list.GetTtl().AsDuration().Milliseconds(); ttl != int64(10_000-tt.want) {
				t.Errorf("ttl %d", ttl)
			}
		})
	}
}
