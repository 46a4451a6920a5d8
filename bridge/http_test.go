package bridge_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcp-bridge/mcp-bridge/bridge"
	"github.com/mcp-bridge/mcp-bridge/internal/dynbackend"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// A backend that refuses the caller's own token makes the endpoint answer 401,
// in both eras, and one session serves callers with different tokens: each
// request is made with its own.
func TestTokensOverHTTP(t *testing.T) {
	t.Parallel()
	b := start(t, dynbackend.Start(t, map[string]string{"ping.proto": pingProto}, map[string]dynbackend.Method{
		"Echo": func(ctx context.Context, request, response *dynamicpb.Message) error {
			md, _ := metadata.FromIncomingContext(ctx)
			if auth := md.Get("authorization"); len(auth) != 1 || auth[0] != "Bearer good" {
				return grpcstatus.Error(codes.Unauthenticated, "bad token")
			}
			return echo(ctx, request, response)
		},
	}), bridge.WithForwardedHeaders("authorization"))
	endpoint, err := streamable.New(streamable.Config{Handler: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(endpoint.Close)
	server := httptest.NewServer(endpoint)
	t.Cleanup(server.Close)

	post := func(body string, header map[string]string) (status int, _ http.Header, answer string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		for k, v := range header {
			r.Header.Set(k, v)
		}
		resp, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, resp.Header, string(b)
	}
	_, opened, _ := post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		map[string]string{"Authorization": "Bearer good"})
	legacy := map[string]string{"Mcp-Session-Id": opened.Get("Mcp-Session-Id"), "Mcp-Protocol-Version": "2025-11-25"}
	modern := map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "Ping_Echo"}
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Ping_Echo","arguments":{"text":"x"}`
	for _, era := range []struct {
		name   string
		header map[string]string
		body   string
	}{
		{"legacy", legacy, call + `}}`},
		{"modern", modern, call + `,"_meta":{"` + protocol.MetaProtocolVersion + `":"2026-07-28","` + protocol.MetaClientCapabilities + `":{}}}}`},
	} {
		for token, want := range map[string]int{"good": 200, "bad": 401} {
			header := map[string]string{"Authorization": "Bearer " + token}
			maps.Copy(header, era.header)
			status, answered, answer := post(era.body, header)
			if status != want || (want == 401) != (answered.Get("Www-Authenticate") != "") {
				t.Errorf("%s with a %s token: %d, challenge %q, %s", era.name, token, status, answered.Get("Www-Authenticate"), answer)
			}
		}
		if status, answered, answer := post(era.body, era.header); status != 401 || answered.Get("Www-Authenticate") != "Bearer" {
			t.Errorf("%s without a token: %d, challenge %q, %s", era.name, status, answered.Get("Www-Authenticate"), answer)
		}
	}
}
