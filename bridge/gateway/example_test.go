package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/gateway"
	"github.com/mcp-bridge/mcp-bridge/bridge/mux"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/demo"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

func ExampleNew() {
	ctx := context.Background()
	backend := httptest.NewServer(demo.Handler(demo.New())) // an API elsewhere
	defer backend.Close()
	spec := &configv1.Upstream{Url: "connect+" + backend.URL, Proto: []string{"../../proto/library"}}
	g, err := gateway.New(ctx, &configv1.Config{Upstreams: map[string]*configv1.Upstream{"remote": spec}},
		gateway.WithUpstream("local", func(ctx context.Context) (mux.Server, error) {
			return bridge.New(ctx, []bridge.Upstream{bridge.InProcess(demo.Handler(demo.New()), "library.v1.Library")})
		}),
		gateway.WithTyped("local", bridge.TypedConfig{Name: "local"}))
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	if down := g.Ready(ctx); len(down) > 0 {
		log.Fatal(down)
	}
	own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // authenticates
		me := protocol.NewPrincipal(protocol.Principal{Method: protocol.AuthAPIKey, Subject: "me"})
		g.Handler().ServeHTTP(w, r.WithContext(protocol.WithPrincipal(r.Context(), me)))
	}))
	defer own.Close()
	for _, path := range []string{"/mcp.v1.McpService/ListTools", "/" + g.TypedServices()[0] + "/LibraryListBooks"} {
		answer, err := http.Post(own.URL+path, "application/json", strings.NewReader(`{}`))
		if err != nil {
			log.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			log.Fatal(err)
		}
		fmt.Println(answer.StatusCode, len(text) > 1000)
	}
	g.Drain(ctx) // before the server is shut down
	// Output:
	// 200 true
	// 200 true
}
