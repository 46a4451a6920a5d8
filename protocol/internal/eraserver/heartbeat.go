package eraserver

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// heartbeatInterval is how often a client that is being asked something hears
// that its own request is still under way. Clients give up requests of which
// they hear nothing, many of them after a minute.
const heartbeatInterval = 15 * time.Second

// heartbeatStep is by how much a heartbeat raises the progress. It must rise,
// and what the server has to tell should not be overtaken.
const heartbeatStep = 1.0 / 1024

// heartbeat is the notifier of a request with a progress token. Between what
// the server tells, it can tell that the request is under way.
type heartbeat struct {
	token json.RawMessage
	n     protocol.Notifier

	mu    sync.Mutex // held while a notification is delivered, so that they stay in order
	last  float64
	beats bool
}

// Notify passes a notification on. Progress that does not rise, as heartbeats
// have raised it, is left out (basic/utilities/progress).
func (h *heartbeat) Notify(ctx context.Context, n *protocol.Notification) error {
	if n.Method != protocol.NotificationProgress {
		return h.n.Notify(ctx, n)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	raw, _ := jsontok.Lookup(n.Params, "progress")
	value, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil:
	case h.beats && value <= h.last:
		return nil
	default:
		h.last = value
	}
	return h.n.Notify(ctx, n)
}

// beat tells the client that its request waits for its answer.
func (h *heartbeat) beat(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.beats = true
	h.last = max(h.last+heartbeatStep, math.Nextafter(h.last, math.Inf(1)))
	var params mcpjson.Object
	params.Add("progressToken", h.token)
	params.Add("progress", strconv.AppendFloat(nil, h.last, 'f', -1, 64))
	return h.n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationProgress, Params: params.JSON()})
}

// withHeartbeat returns a stream for a request with a progress token that can be
// nil.
func (st Stream) withHeartbeat(token json.RawMessage) Stream {
	if token != nil && st.Send != nil {
		st.heart = &heartbeat{token: token, n: st.Notifier}
		st.Notifier = st.heart
	}
	return st
}

// beats returns what has a value whenever a heartbeat is due. It is nil where
// there is none. stop must be called.
func (st Stream) beats() (due <-chan time.Time, stop func()) {
	if st.heart == nil {
		return nil, func() {}
	}
	t := time.NewTicker(heartbeatInterval)
	return t.C, t.Stop
}
