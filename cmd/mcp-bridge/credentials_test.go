package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// credentialed is an MCP server whose only tool, its name, says which
// credentials have come with the call.
type credentialed string

func (c credentialed) Handle(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
	switch r.Method {
	case protocol.MethodDiscover:
		return &protocol.Result{Body: json.RawMessage(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)}, nil
	case protocol.MethodListTools:
		return &protocol.Result{Body: fmt.Appendf(nil, `{"tools":[{"name":%q,"inputSchema":{"type":"object"}}]}`, string(c))}, nil
	case protocol.MethodCallTool:
		said := r.Caller.Header.Get("Authorization") + "|" + r.Caller.Header.Get("X-Key")
		return &protocol.Result{Body: fmt.Appendf(nil, `{"content":[{"type":"text","text":%q}]}`, said)}, nil
	}
	return nil, protocol.MethodNotFound(r.Method)
}

// TestCredentials: what is for one of several upstreams reaches no other.
func TestCredentials(t *testing.T) {
	t.Parallel()
	var urls []string
	for _, name := range []string{"one", "two", "three"} {
		endpoint, err := streamable.New(streamable.Config{Handler: credentialed(name)})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(endpoint)
		t.Cleanup(func() {
			server.Close()
			endpoint.Close()
		})
		urls = append(urls, name+"="+server.URL)
	}
	b := bridgeTo(t, slices.Concat([]string{
		"--forward-header", "one=authorization", "--header", "two=x-key: k2", "--header", "three=authorization: Bearer own", "--header", "three=x-key: k3",
	}, urls)...)
	for tool, want := range map[string]string{"one": "Bearer caller|", "two": "|k2", "three": "Bearer own|k3"} {
		req := connect.NewRequest(&mcpv1.CallToolRequest{Name: tool})
		ctx, info := connect.NewClientContext(t.Context())
		info.RequestHeader().Set("Authorization", "Bearer caller")
		req.Msg.Name = tool + "_" + tool
		if got, err := textOf(b.rpc["gRPC"].CallTool(ctx, req.Msg)); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", tool, got, err, want)
		}
	}
}

// TestEnv: the command of an MCP server gets the variables that it is given, and
// none that are merely there.
func TestEnv(t *testing.T) {
	t.Setenv("MCP_BRIDGE_TEST_GIVEN", "a=b")
	t.Setenv("MCP_BRIDGE_TEST_OTHER", "s3cret")
	_, command := fakeCommand(t, fakeLegacy)
	got := mcpBridge(t, append([]string{"call", "env", "--env", "MCP_BRIDGE_TEST_GIVEN", "--env", "MCP_BRIDGE_TEST_SET=x=y"}, command...)...).ok(t)
	contains(t, got, "MCP_BRIDGE_TEST_GIVEN=a=b\n", "MCP_BRIDGE_TEST_SET=x=y\n", "PATH=")
	if strings.Contains(got, "s3cret") {
		t.Errorf("it has got what it was not given:\n%s", got)
	}
}

// endless is an MCP server whose list of tools has no end.
type endless struct{ repeat bool }

func (e endless) Handle(_ context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
	if r.Method != protocol.MethodListTools {
		return nil, protocol.MethodNotFound(r.Method)
	}
	cursor := "again"
	if !e.repeat {
		cursor = fmt.Sprint(len(r.Params)) + strings.Repeat("x", len(r.Params)+8<<20)
	}
	return &protocol.Result{Body: fmt.Appendf(nil, `{"tools":[],"nextCursor":%q}`, cursor)}, nil
}

func TestEndlessList(t *testing.T) {
	t.Parallel()
	for repeat, want := range map[bool]string{true: "the server has repeated a cursor", false: "longer than 67108864 bytes"} {
		if _, err := (client{endless{repeat}}).listTools(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestTLS: the flags of TLS are for MCP servers too, and of several upstreams for
// those that speak it.
func TestTLS(t *testing.T) {
	t.Parallel()
	cert, certFile, keyFile := certificate(t)
	clients := x509.NewCertPool()
	clients.AddCert(cert.Leaf)
	endpoint, err := streamable.New(streamable.Config{Handler: credentialed("secure")})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(endpoint)
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{cert}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
	}
	server.StartTLS()
	t.Cleanup(func() {
		server.Close()
		endpoint.Close()
	})
	flags := []string{"--ca", certFile, "--cert", certFile, "--key", keyFile}
	contains(t, mcpBridge(t, slices.Concat([]string{"tools"}, flags, []string{server.URL})...).ok(t), "secure")
	b := bridgeTo(t, slices.Concat(flags, []string{"one=" + server.URL, "two=" + reflective(t)})...)
	_, got := do(t, b.web, request(t, http.MethodPost, b.base+"/mcp", listTools))
	contains(t, got, `"name":"one_secure"`, `"name":"two_Library_GetBook"`)
}
