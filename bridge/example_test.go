package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/find"
	"github.com/mcp-bridge/mcp-bridge/bridge/mux"
	"github.com/mcp-bridge/mcp-bridge/gen/library/v1/libraryv1connect"
	"github.com/mcp-bridge/mcp-bridge/internal/demo"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// A server that serves a Connect service serves the same methods as MCP tools,
// on the same port and without a network hop.
func ExampleInProcess() {
	mux := http.NewServeMux()
	mux.Handle(libraryv1connect.NewLibraryHandler(demo.New()))

	b, err := bridge.New(context.Background(), []bridge.Upstream{
		bridge.InProcess(mux, libraryv1connect.LibraryName),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	endpoint, err := streamable.New(streamable.Config{Handler: b})
	if err != nil {
		log.Fatal(err)
	}
	defer endpoint.Close()
	mux.Handle("/mcp", endpoint)

	server := httptest.NewServer(mux) // http.ListenAndServe("127.0.0.1:8080", mux)
	defer server.Close()
	resp, err := http.Post(server.URL+"/mcp", "application/json", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Library_ListBooks","arguments":{"pageSize":1,"genre":"GENRE_GOTHIC"}}}`))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.Status, strings.Contains(string(body), `"structuredContent":{"books":[{"name":"shelves/`))
	// Output: 200 OK true
}

// The tools of a Bridge can be looked at without any client.
func ExampleBridge_Tools() {
	b, err := bridge.New(context.Background(), []bridge.Upstream{
		bridge.InProcess(demo.Handler(demo.New()), libraryv1connect.LibraryName),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	for _, tool := range b.Tools() {
		fmt.Println(tool.Name)
	}
	// Output:
	// Library_CheckOutBook
	// Library_CreateBook
	// Library_DeleteBook
	// Library_GetBook
	// Library_ListBooks
	// Library_Reindex
	// Library_SearchBooks
	// Library_UpdateBook
	// Library_WatchBooks
}

// noDeletes is a guard that forbids one RPC.
type noDeletes struct{}

// Decide decides one request.
func (noDeletes) Decide(_ context.Context, a *protocol.Access) protocol.Decision {
	return protocol.Decision{Allow: a.Target.RPC != "library.v1.Library.DeleteBook"}
}

// Visible hides what nobody may call.
func (noDeletes) Visible(_ context.Context, _ *protocol.Principal, targets []*protocol.Target) []bool {
	shown := make([]bool, len(targets))
	for i, t := range targets {
		shown[i] = t.RPC != "library.v1.Library.DeleteBook"
	}
	return shown
}

// A guard decides by the RPC that a request runs, so no spelling of a tool's name
// and no detour gets around it. Middleware that looks at requests could be deceived.
func ExampleBridge_Resolve() {
	m, err := mux.New(mux.Config{
		Guard: noDeletes{},
		Upstreams: []mux.Upstream{{Name: "library", Open: func(ctx context.Context) (mux.Server, error) {
			return bridge.New(ctx, []bridge.Upstream{bridge.InProcess(demo.Handler(demo.New()), libraryv1connect.LibraryName)})
		}}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	if down := m.Ready(context.Background()); len(down) > 0 {
		log.Fatal(down)
	}
	endpoint, err := streamable.New(streamable.Config{Handler: find.Middleware(find.Config{})(m)})
	if err != nil {
		log.Fatal(err)
	}
	defer endpoint.Close()

	for _, params := range []string{
		`{"name":"Library_DeleteBook","arguments":{"name":"shelves/1/books/1"}}`,
		`{"name":"Library_Delete\u0042ook","arguments":{"name":"shelves/1/books/1"}}`,
		`{"name":"call_tool","arguments":{"name":"Library_DeleteBook","arguments":{"name":"shelves/1/books/1"}}}`,
		`{"name":"call_tool","arguments":"{\"n\\u0061me\":\"Library_DeleteBook\"}"}`,
		`{"name":"Library_ListBooks","name":"Library_DeleteBook","arguments":{}}`,
		`{"name":"Library_ListBooks","arguments":{"pageSize":1}}`,
	} {
		recorder := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`))
		request.Header.Set("Content-Type", "application/json")
		endpoint.ServeHTTP(recorder, request)
		verdict := "refused:"
		if strings.Contains(recorder.Body.String(), `"structuredContent"`) {
			verdict = "called:"
		}
		fmt.Println(verdict, params)
	}
	// Output:
	// refused: {"name":"Library_DeleteBook","arguments":{"name":"shelves/1/books/1"}}
	// refused: {"name":"Library_Delete\u0042ook","arguments":{"name":"shelves/1/books/1"}}
	// refused: {"name":"call_tool","arguments":{"name":"Library_DeleteBook","arguments":{"name":"shelves/1/books/1"}}}
	// refused: {"name":"call_tool","arguments":"{\"n\\u0061me\":\"Library_DeleteBook\"}"}
	// refused: {"name":"Library_ListBooks","name":"Library_DeleteBook","arguments":{}}
	// called: {"name":"Library_ListBooks","arguments":{"pageSize":1}}
}

// Whatever answers MCP can be called with types, an RPC for each tool.
func ExampleNewTypedService() {
	weather := protocol.HandlerFunc(func(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
		switch r.Method { // in a program, this is the client of an MCP server
		case protocol.MethodListTools:
			return &protocol.Result{
				Server: json.RawMessage(`{"name":"weather"}`),
				Body:   json.RawMessage(`{"tools":[{"name":"get_forecast","inputSchema":{"type":"object","properties":{"city":{"type":"string"}}},"outputSchema":{"type":"object","properties":{"degrees":{"type":"number"}}}}]}`),
			}, nil
		case protocol.MethodCallTool:
			return &protocol.Result{Body: json.RawMessage(`{"content":[],"structuredContent":{"degrees":-3.5}}`)}, nil
		default:
			return nil, protocol.MethodNotFound(r.Method)
		}
	})
	typed, err := bridge.NewTypedService(context.Background(), bridge.TypedConfig{Handler: weather})
	if err != nil {
		log.Fatal(err)
	}
	defer typed.Close()
	handler, err := bridge.NewGRPCHandler(bridge.GRPCConfig{Handler: weather, Typed: []*bridge.TypedService{typed}})
	if err != nil {
		log.Fatal(err)
	}
	defer handler.Close()
	mux := http.NewServeMux()
	handler.Mount(mux)

	server := httptest.NewServer(mux)
	defer server.Close()
	resp, err := http.Post(server.URL+"/"+typed.Name()+"/GetForecast", "application/json", strings.NewReader(`{"city":"Oslo"}`))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(typed.Name())
	fmt.Println(string(body))
	// Output:
	// mcp.gen.weather.v1.WeatherTools
	// {"structured":{"degrees":-3.5}}
}
