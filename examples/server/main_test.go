package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/structpb"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/gen/mcp/v1/mcpv1connect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves over gRPC and returns a client, and a function by which the
// server is stopped before the test ends.
func start(t *testing.T) (client mcpv1connect.McpServiceClient, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := newServer(ctx)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	handler := s.handler()
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		both, end := context.WithCancel(r.Context())
		defer end()
		defer context.AfterFunc(ctx, end)()
		handler.ServeHTTP(w, r.WithContext(both))
	}))
	web.Config.Protocols = protocols
	web.Start()
	transport := &http.Transport{Protocols: protocols}
	t.Cleanup(func() {
		cancel()
		s.close()
		transport.CloseIdleConnections()
		web.Close()
	})
	return mcpv1connect.NewMcpServiceClient(&http.Client{Transport: transport}, web.URL, connect.WithGRPC()), cancel
}

// able is the metadata of a client that can do everything.
func able() *mcpv1.RequestMeta {
	return &mcpv1.RequestMeta{ClientCapabilities: &mcpv1.ClientCapabilities{
		Elicitation: &mcpv1.ElicitationCapability{},
		Sampling:    &mcpv1.SamplingCapability{},
		Roots:       &mcpv1.RootsCapability{},
		Extensions:  map[string]*structpb.Struct{tasksExtension: {}},
	}}
}

// request is a call of a tool by such a client.
func request(t *testing.T, name string, arguments map[string]any) *mcpv1.CallToolRequest {
	t.Helper()
	form, err := structpb.NewStruct(arguments)
	if err != nil {
		t.Fatal(err)
	}
	return &mcpv1.CallToolRequest{Name: name, ArgumentsForm: &mcpv1.CallToolRequest_Arguments{Arguments: form}, Meta: able()}
}

// filled is what a user has filled in.
func filled(values map[string]any) *mcpv1.InputResponse {
	content := make(map[string]*mcpv1.ElicitValue)
	for name, value := range values {
		switch v := value.(type) {
		case string:
			content[name] = &mcpv1.ElicitValue{Value: &mcpv1.ElicitValue_Text{Text: v}}
		case bool:
			content[name] = &mcpv1.ElicitValue{Value: &mcpv1.ElicitValue_Flag{Flag: v}}
		}
	}
	return &mcpv1.InputResponse{Response: &mcpv1.InputResponse_Elicitation{Elicitation: &mcpv1.ElicitResult{
		Action: mcpv1.ElicitAction_ELICIT_ACTION_ACCEPT, Content: content,
	}}}
}

// wantFailure checks the status of an error and the error of MCP in it.
func wantFailure(t *testing.T, err error, code connect.Code, rpc int32, message string) {
	t.Helper()
	if got := rpcError(err); connect.CodeOf(err) != code || got.GetCode() != rpc || got.GetMessage() != message {
		t.Errorf("error %v, which is %v; want %s, and %d: %s", err, got, code, rpc, message)
	}
}
