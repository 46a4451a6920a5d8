package bridge

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// heartbeatInterval is the time between signs of life of a slow call. Hosts
// that count time-outs from the last progress give up after 30 s or more.
const heartbeatInterval = 10 * time.Second

// heartbeat tells a client that gave a progress token that its call is still
// waited for, until stop is called (basic/patterns/progress). Progress is the
// time in seconds, because the end is not known.
func (b *Bridge) heartbeat(ctx context.Context, r *protocol.Request, n protocol.Notifier, method string) (stop func()) {
	if r.Meta.ProgressToken == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		start := time.Now()
		ticker := time.NewTicker(heartbeatInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-ticker.C:
				if err := n.Notify(ctx, progress(r.Meta.ProgressToken, now.Sub(start), "waiting for "+method)); err != nil {
					return // the client is gone
				}
			}
		}
	})
	return func() {
		cancel()
		wg.Wait() // nothing is sent once the call is answered
	}
}

func progress(token []byte, elapsed time.Duration, message string) *protocol.Notification {
	params := append([]byte(`{"progressToken":`), token...)
	params = append(params, `,"progress":`...)
	params = strconv.AppendInt(params, int64(elapsed/time.Second), 10)
	params = append(params, `,"message":`...)
	params = jsontok.AppendString(params, message)
	return &protocol.Notification{Method: protocol.NotificationProgress, Params: append(params, '}')}
}
