package eraclient_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/ways"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/stdio"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// BenchmarkCall is one tools/call by the client, and by the front of the same
// transport that answers it.
func BenchmarkCall(b *testing.B) {
	h := prototest.NewHandler()
	for _, revision := range []string{ways.Modern, "2025-11-25"} {
		b.Run("stdio/"+revision, func(b *testing.B) {
			c, err := stdio.NewClient(stdio.ClientConfig{Dial: func(context.Context) (io.ReadWriteCloser, error) {
				return ways.Dial(func(ctx context.Context, in io.Reader, out io.Writer) error {
					return stdio.Serve(ctx, in, out, stdio.Config{Handler: h})
				}, revision), nil
			}})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			benchmark(b, c)
		})
		b.Run("http/"+revision, func(b *testing.B) {
			front, err := streamable.New(streamable.Config{Handler: h})
			if err != nil {
				b.Fatal(err)
			}
			defer front.Close()
			var handler http.Handler = front
			if revision != ways.Modern {
				handler = ways.OnlyLegacy(front, revision)
			}
			server := httptest.NewServer(handler)
			defer server.Close()
			c, err := streamable.NewClient(streamable.ClientConfig{URL: server.URL})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			benchmark(b, c)
		})
	}
}

func benchmark(b *testing.B, c protocol.Handler) {
	b.Helper()
	r := request("tools/call", `{"name":"echo","arguments":{"a":1}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Handle(b.Context(), r, protocol.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
