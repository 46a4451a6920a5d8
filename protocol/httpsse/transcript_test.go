package httpsse_test

import (
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol/httpsse"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/prototest"
)

// start serves cfg on a socket until the test ends, and returns the URL.
func start(t *testing.T, cfg httpsse.Config) (string, *httpsse.Handler) {
	t.Helper()
	h, err := httpsse.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.CloseClientConnections()
		h.Close()
		server.Close()
	})
	return server.URL + "/sse", h
}

func TestTranscripts(t *testing.T) {
	t.Parallel()
	prototest.HTTP(t, "testdata", func(t *testing.T, h *prototest.Handler, s prototest.Settings) string {
		limit, _ := strconv.ParseInt(s["max-bytes"], 10, 64) // 0 means the default
		url, _ := start(t, httpsse.Config{Handler: h, KeepAlive: time.Hour, MaxMessageBytes: limit})
		return url
	})
}
