package eraclient

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// TestListenerLimits: what a server announces to a client that does not read is
// bounded in number and in bytes, and begins anew once the client has read.
func TestListenerLimits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pad, want int
	}{
		"many":  {0, maxNews},
		"large": {1 << 20, 3},
	} {
		l := &listener{queued: make(map[string]bool), wake: make(chan struct{}, 1)}
		pad := strings.Repeat("x", tt.pad)
		note := func(i int) *protocol.Notification {
			return &protocol.Notification{Method: protocol.NotificationToolsChanged, Params: json.RawMessage(fmt.Sprintf(`{"_meta":{"a":"%d%s"}}`, i, pad))}
		}
		for range 2 {
			taken := 0
			for taken <= maxNews && l.add(note(taken)) {
				taken++
			}
			if !l.add(note(0)) {
				t.Errorf("%s: what waits already is dropped", name)
			}
			if news := l.take(); taken != tt.want || len(news) != tt.want {
				t.Errorf("%s: %d changes were taken and %d wait, want %d", name, taken, len(news), tt.want)
			}
		}
	}
}
