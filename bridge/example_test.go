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
	endpoint, err := b.HTTPHandler(streamable.Config{})
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

// Middleware sees every request before the Bridge does, whatever transport it
// came by.
func ExampleBridge_HTTPHandler_middleware() {
	b, err := bridge.New(context.Background(), []bridge.Upstream{
		bridge.InProcess(demo.Handler(demo.New()), libraryv1connect.LibraryName),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	readOnly := protocol.HandlerFunc(func(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
		if r.Method == protocol.MethodCallTool && strings.Contains(string(r.Params), "DeleteBook") {
			return nil, protocol.Errorf(protocol.CodeInvalidRequest, "deleting is not for agents")
		}
		return b.Handle(ctx, r, n)
	})
	endpoint, err := b.HTTPHandler(streamable.Config{Handler: readOnly})
	if err != nil {
		log.Fatal(err)
	}
	defer endpoint.Close()

	recorder := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Library_DeleteBook","arguments":{}}}`))
	request.Header.Set("Content-Type", "application/json")
	endpoint.ServeHTTP(recorder, request)
	fmt.Println(recorder.Body)
	// Output: {"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"deleting is not for agents"}}
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
	handler, err := bridge.NewGRPCHandler(bridge.GRPCConfig{Handler: weather, Typed: typed})
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
