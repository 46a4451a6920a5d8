package engine

import (
	"context"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	// heartbeatInterval is the time between signs of life of a slow call.
	// Hosts that count time-outs from the last progress give up after 30 s or
	// more.
	heartbeatInterval = 10 * time.Second
	// progressInterval is the shortest time between two notifications of one
	// call. What comes faster is left out, not delayed.
	progressInterval = 100 * time.Millisecond
	// maxProgressText bounds the message of a notification, in bytes.
	maxProgressText = 4 << 10
)

// progress tells a client that gave a progress token how its call is getting
// on (basic/patterns/progress): of every step, and every ten seconds without
// one that the call is still waited for. A nil progress tells nobody.
//
// The value always rises. For calls with steps it counts those. For others it is
// the time in seconds, because the end is not known, until there is a percentage
// above what was sent so far; from then on it is that. Signs of life between
// steps and percentages move it by a hair.
type progress struct {
	token  []byte
	method string
	steps  bool
	n      protocol.Notifier
	start  time.Time

	mu      sync.Mutex
	percent bool
	value   float64   // that was sent last
	last    time.Time // when that was
}

// hair is the least by which progress rises.
const hair = 0.001

// startProgress returns the progress of a call, and its end, after which
// nothing is sent.
func startProgress(ctx context.Context, r *protocol.Request, n protocol.Notifier, method string, steps bool) (p *progress, stop func()) {
	if r.Meta.ProgressToken == nil {
		return nil, func() {}
	}
	p = &progress{token: r.Meta.ProgressToken, method: method, steps: steps, n: n, start: time.Now()}
	p.last = p.start
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { p.beat(ctx) })
	return p, func() {
		cancel()
		wg.Wait()
	}
}

// beat sends the signs of life until ctx ends or the client is gone.
func (p *progress) beat(ctx context.Context) {
	timer := time.NewTimer(heartbeatInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		rest, err := p.alive(ctx)
		if err != nil {
			return
		}
		timer.Reset(rest)
	}
}

// alive sends a sign of life if it is time for one, and returns the time to
// the next.
func (p *progress) alive(ctx context.Context) (time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if rest := p.last.Add(heartbeatInterval).Sub(now); rest > 0 {
		return rest, nil
	}
	value := p.value + hair
	if !p.steps && !p.percent {
		value = float64(now.Sub(p.start) / time.Second)
	}
	return heartbeatInterval, p.send(ctx, value, now, "waiting for "+p.method)
}

// report says what is going on, and how much of it is done in percent, which is
// negative where that is not known.
func (p *progress) report(ctx context.Context, text string, percent float64) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if percent > p.value {
		p.percent = true
	}
	value := percent
	if !p.percent {
		value = float64(now.Sub(p.start).Milliseconds()) / 1000
	}
	return p.send(ctx, max(value, p.value+hair), now, text)
}

// step says that n steps are done, of which the last one came to text.
func (p *progress) step(ctx context.Context, n int, text []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.value > 0 && now.Sub(p.last) < progressInterval {
		return nil
	}
	return p.send(ctx, float64(n), now, clip.Text(string(text[:min(len(text), maxProgressText+1)]), maxProgressText))
}

func (p *progress) send(ctx context.Context, value float64, now time.Time, message string) error {
	value = math.Round(value*1000) / 1000
	if value <= p.value || p.percent && value > 100 {
		return nil // it cannot rise any more
	}
	params := append([]byte(`{"progressToken":`), p.token...)
	params = append(params, `,"progress":`...)
	params = strconv.AppendFloat(params, value, 'f', -1, 64)
	if p.percent {
		params = append(params, `,"total":100`...)
	}
	if message != "" {
		params = append(params, `,"message":`...)
		params = jsontok.AppendString(params, message)
	}
	p.value, p.last = value, now
	return p.n.Notify(ctx, &protocol.Notification{Method: protocol.NotificationProgress, Params: append(params, '}')})
}
