package duplex

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/eraserver"
)

// Changes that come faster than the client reads become one.
func TestPostOnce(t *testing.T) {
	t.Parallel()
	var (
		mu      sync.Mutex
		written []string
		log     = slog.New(slog.DiscardHandler)
		reading = make(chan struct{})
	)
	h := protocol.HandlerFunc(func(context.Context, *protocol.Request, protocol.Notifier) (*protocol.Result, error) {
		return &protocol.Result{}, nil
	})
	l := eraserver.NewServer(h, log)
	defer l.Close()
	c := New(h, l, log, func(msg []byte) error {
		<-reading
		mu.Lock()
		defer mu.Unlock()
		written = append(written, string(msg))
		return nil
	})
	for range 100 {
		c.post(&protocol.Notification{Method: protocol.NotificationToolsChanged})
		c.post(&protocol.Notification{Method: "notifications/prompts/list_changed"})
	}
	close(reading)
	c.Close()
	// The first of a kind may be in the middle of being written when the
	// next one comes, which is then news.
	if n := len(written); n < 2 || n > 4 {
		t.Errorf("%d notifications were written: %q", n, written)
	}
}
