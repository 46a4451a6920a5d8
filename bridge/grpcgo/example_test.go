package grpcgo_test

import (
	"context"
	"fmt"
	"log"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/bridge/grpcgo"
	"github.com/mcp-bridge/mcp-bridge/internal/demo"
	"github.com/mcp-bridge/mcp-bridge/internal/demo/demogrpc"
)

// A *grpc.Server is bridged in its own process, without a network hop.
func ExampleServer() {
	server := demogrpc.NewServer(demo.New()) // grpc.NewServer() and the services registered with it
	defer server.Stop()

	caller, err := grpcgo.Server(server)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = caller.Close() }()
	b, err := bridge.New(context.Background(), []bridge.Upstream{{
		Caller:      caller,
		Descriptors: bridge.Linked(grpcgo.Services(server)...),
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	fmt.Println(b.Tools()[0].Name)
	// Output: Library_CheckOutBook
}
