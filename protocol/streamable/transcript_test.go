package streamable_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
	"github.com/mcp-bridge/mcp-bridge/protocol/streamable"
)

// start serves cfg on a socket until the test ends, and returns the URL.
func start(t *testing.T, cfg streamable.Config) (string, *streamable.Handler) {
	t.Helper()
	h, err := streamable.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections()
		h.Close()
		server.Close()
	})
	return server.URL + "/mcp", h
}

func TestTranscripts(t *testing.T) {
	t.Parallel()
	prototest.HTTP(t, "testdata", func(t *testing.T, h *prototest.Handler, s prototest.Settings) string {
		url, _ := start(t, streamable.Config{
			Handler:     h,
			StreamAfter: s.Duration(t, "stream-after", time.Hour),
			KeepAlive:   time.Hour,
		})
		return url
	})
}
