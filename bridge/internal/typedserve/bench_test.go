package typedserve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/mirror"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/typedserve"
	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// BenchmarkCall calls a tool by its own RPC and by McpService, without a network.
func BenchmarkCall(b *testing.B) {
	f := newFake(tools)
	f.call = func(context.Context, json.RawMessage, *protocol.Request, protocol.Notifier) (*protocol.Result, error) {
		return &protocol.Result{Body: json.RawMessage(`{"content":[{"type":"text","text":"3"}],"structuredContent":{"sum":3}}`)}, nil
	}
	log := slog.New(slog.DiscardHandler)
	s, err := typedserve.New(b.Context(), typedserve.Config{Handler: f, Logger: log, MaxMessageBytes: 1 << 20})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	front, err := mirror.New(mirror.Config{Handler: f, Logger: log, MaxMessageBytes: 1 << 20})
	if err != nil {
		b.Fatal(err)
	}
	defer front.Close()
	mux := http.NewServeMux()
	front.Mount(mux)
	arguments, err := structpb.NewStruct(map[string]any{"a": 1, "b": 2, "mode": "slow"})
	if err != nil {
		b.Fatal(err)
	}
	generic, err := proto.Marshal(&mcpv1.CallToolRequest{Name: "add", ArgumentsForm: &mcpv1.CallToolRequest_Arguments{Arguments: arguments}})
	if err != nil {
		b.Fatal(err)
	}
	for _, bm := range []struct {
		name, path string
		handler    http.Handler
		message    []byte
	}{
		{"typed", "/" + string(s.Service()) + "/Add", s, []byte("\x08\x01\x10\x02")},
		{"generic", "/mcp.v1.McpService/CallTool", mux, generic},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "http://127.0.0.1"+bm.path, bytes.NewReader(bm.message))
				r.Header.Set("Content-Type", "application/proto")
				w := httptest.NewRecorder()
				bm.handler.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
}
