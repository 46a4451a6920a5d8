package bridge_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// named is a Handler with one tool of that name.
func named(tool string) protocol.Handler {
	return protocol.HandlerFunc(func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		if r.Method != protocol.MethodListTools {
			return nil, protocol.MethodNotFound(r.Method)
		}
		return &protocol.Result{Body: json.RawMessage(`{"tools":[{"name":"` + tool + `","inputSchema":{"type":"object"}}]}`)}, nil
	})
}

// TestEndpoints: a caller gets the endpoint that it names, or nothing.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	front, err := bridge.NewGRPCHandler(bridge.GRPCConfig{
		Handler:  named("all"),
		Endpoint: func(name string) (protocol.Handler, bool) { return named("some"), name == "support" },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer front.Close()
	mux := http.NewServeMux()
	front.Mount(mux)
	for _, tt := range []struct {
		names []string
		want  string
	}{
		{nil, `"name":"all"`},
		{[]string{"support"}, `"name":"some"`},
		{[]string{"Support"}, `unknown endpoint Support`},
		{[]string{""}, `unknown endpoint `},
		{[]string{"support", "support"}, `the metadata Mcp-Endpoint is there 2 times`},
		{[]string{"x\u202ey"}, `unknown endpoint \"x\\u202ey\"`},
		{[]string{strings.Repeat("x", 5000)}, `...`},
	} {
		for _, service := range []string{bridge.GRPCService, bridge.GoogleService} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/"+service+"/ListTools", strings.NewReader(`{}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header[bridge.EndpointHeader] = tt.names
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, r)
			body, err := io.ReadAll(w.Body)
			if err != nil || !strings.Contains(string(body), tt.want) || len(body) > 1000 {
				t.Errorf("%s %.20q: %s, want %s", service, tt.names, body, tt.want)
			}
			if (w.Code == http.StatusOK) != strings.HasPrefix(tt.want, `"name"`) {
				t.Errorf("%s %.20q: status %d", service, tt.names, w.Code)
			}
		}
	}
}
