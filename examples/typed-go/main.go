// Command everything calls the tools of an MCP server as RPCs with types.
//
// The service is what mcp-bridge has exported of
// @modelcontextprotocol/server-everything, and serves at http://127.0.0.1:8080 or
// the URL that is its argument.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"

	"connectrpc.com/connect"

	everythingv1 "example.com/everything/gen/acme/everything/v1"
	"example.com/everything/gen/acme/everything/v1/everythingv1connect"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	url := "http://127.0.0.1:8080"
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	if err := run(ctx, os.Stdout, url); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, url string) error {
	// gRPC wants HTTP/2, and http:// has it only where that is asked for.
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	protocols.SetHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	tools := everythingv1connect.NewEverythingToolsClient(&http.Client{Transport: transport}, url, connect.WithGRPC())

	echo, err := tools.Echo(ctx, &everythingv1.EchoRequest{Message: new("hello from Go")})
	if err != nil {
		return fmt.Errorf("echo: %w", err)
	}
	fmt.Fprintln(out, echo.GetContent()[0].GetText().GetText())

	weather, err := tools.GetStructuredContent(ctx, &everythingv1.GetStructuredContentRequest{
		Location: everythingv1.GetStructuredContentRequest_LOCATION_NEW_YORK.Enum(),
	})
	if err != nil {
		return fmt.Errorf("weather: %w", err)
	}
	fmt.Fprintf(out, "New York: %s, %v degrees\n", weather.GetStructured().GetConditions(), weather.GetStructured().GetTemperature())

	if err := follow(ctx, out, tools); err != nil {
		return fmt.Errorf("progress: %w", err)
	}

	_, err = tools.GetResourceReference(ctx, &everythingv1.GetResourceReferenceRequest{ResourceId: new(-1.0)})
	fmt.Fprintf(out, "it fails: %s\n", toolError(err).GetContent()[0].GetText().GetText())

	asked, err := ask(ctx, out, tools.TriggerElicitationRequest, &everythingv1.TriggerElicitationRequestRequest{})
	if err != nil {
		return fmt.Errorf("elicitation: %w", err)
	}
	for _, block := range asked.GetContent() {
		fmt.Fprintln(out, block.GetText().GetText())
	}
	return nil
}

// follow prints how far a call has come.
func follow(ctx context.Context, out io.Writer, tools everythingv1connect.EverythingToolsClient) error {
	stream, err := tools.StreamTriggerLongRunningOperation(ctx, &everythingv1.StreamTriggerLongRunningOperationRequest{
		Request: &everythingv1.TriggerLongRunningOperationRequest{Duration: new(1.0), Steps: new(4.0)},
	})
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	for stream.Receive() {
		event := stream.Msg()
		if progress := event.GetProgress(); progress != nil {
			fmt.Fprintf(out, "step %v of %v\n", progress.GetProgress(), progress.GetTotal())
		}
		if result := event.GetResult(); result != nil {
			fmt.Fprintln(out, result.GetContent()[0].GetText().GetText())
		}
	}
	return stream.Err()
}
