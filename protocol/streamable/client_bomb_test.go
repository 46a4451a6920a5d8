package streamable_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"net/http"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// TestBombs: a response that is small compressed is inflated no further than the
// limit on messages: to inflate all 10 GiB would take minutes.
func TestBombs(t *testing.T) {
	t.Parallel()
	var part bytes.Buffer
	w := gzip.NewWriter(&part)
	if _, err := w.Write(bytes.Repeat([]byte(" "), 16<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		contentType string
		status      int
		kind        protocol.UpstreamKind
	}{
		"JSON":  {"application/json", http.StatusOK, protocol.UpstreamTooLarge},
		"SSE":   {"text/event-stream", http.StatusOK, protocol.UpstreamTooLarge},
		"other": {"text/html", http.StatusOK, protocol.UpstreamMalformed},
		"error": {"text/plain", http.StatusInternalServerError, protocol.UpstreamUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startFake(t, modern(func(w http.ResponseWriter, _ *http.Request, _ message) {
				w.Header().Set("Content-Type", tt.contentType)
				w.Header().Set("Content-Encoding", "gzip")
				w.WriteHeader(tt.status)
				for range 640 {
					if _, err := w.Write(part.Bytes()); err != nil {
						return
					}
				}
			}))
			_, err := c.Handle(t.Context(), toolCall("x"), protocol.Discard)
			if fault, ok := errors.AsType[*protocol.UpstreamError](err); !ok || fault.Kind != tt.kind {
				t.Errorf("error %.200v, want %v", err, tt.kind)
			}
		})
	}
}
