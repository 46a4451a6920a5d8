package upstream

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Bounds of the processes that each serve one principal.
const (
	// maxProcesses is how many there are at a time.
	maxProcesses = 64
	// processIdle is how long a process lives on without a request. It is longer
	// than calls that wait for a user's input are kept.
	processIdle = 10 * time.Minute
	// processWaits is how long a call that waits for a user's input keeps its
	// process from giving way to another.
	processWaits = 5 * time.Minute
)

// processes is a command with a process for each principal. A process is started
// by the first request of its principal and ended once it is idle, or, where
// there are too many, by the request of another principal.
type processes struct {
	start func() (program, error)

	mu       sync.Mutex
	byKey    map[string]*process
	restarts int // of those that are gone
	closed   bool
	ending   sync.WaitGroup
}

// program is the client of a command.
type program interface {
	client

	Restarts() int
}

// process is one of them.
type process struct {
	client program
	busy   int         // requests under way
	used   time.Time   // when the last one ended
	waits  time.Time   // until when a call may wait for a user's input
	idle   *time.Timer // ends it
}

func newProcesses(start func() (program, error)) *processes {
	return &processes{start: start, byKey: make(map[string]*process)}
}

// Handle asks the process of the caller.
func (p *processes) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	key := r.Caller.Key()
	own, err := p.acquire(key)
	if err != nil {
		return nil, err
	}
	res, err := own.client.Handle(ctx, r, n)
	p.release(key, own, res)
	return res, err
}

// acquire returns the process of a principal, and keeps it until release.
func (p *processes) acquire(key string) (*process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, &protocol.UpstreamError{Kind: protocol.UpstreamUnavailable, Message: "the MCP server has been removed", Unsent: true}
	}
	own := p.byKey[key]
	if own == nil {
		if len(p.byKey) >= maxProcesses && !p.evict() {
			return nil, &protocol.UpstreamError{
				Kind: protocol.UpstreamThrottled, Message: "too many callers use the MCP server, which has a process for each", Unsent: true,
			}
		}
		c, err := p.start()
		if err != nil {
			return nil, err
		}
		own = &process{client: c}
		p.byKey[key] = own
	}
	own.busy++
	if own.idle != nil {
		own.idle.Stop()
	}
	return own, nil
}

// release gives a process back.
func (p *processes) release(key string, own *process, res *protocol.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	own.busy--
	own.used = time.Now()
	if res != nil && res.Type != "" && res.Type != protocol.ResultComplete {
		own.waits = own.used.Add(processWaits)
	}
	if own.busy > 0 || p.byKey[key] != own {
		return
	}
	if own.idle == nil {
		own.idle = time.AfterFunc(processIdle, func() { p.expire(key, own) })
	} else {
		own.idle.Reset(processIdle)
	}
}

// expire ends a process that has been idle for long enough.
func (p *processes) expire(key string, own *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if own.busy == 0 && p.byKey[key] == own && time.Since(own.used) >= processIdle {
		p.end(key)
	}
}

// evict ends the process that has been idle for longest. It returns false where
// all are needed.
func (p *processes) evict() bool {
	var oldest string
	for key, own := range p.byKey {
		if own.busy == 0 && time.Now().After(own.waits) && (oldest == "" || own.used.Before(p.byKey[oldest].used)) {
			oldest = key
		}
	}
	if oldest == "" {
		return false
	}
	p.end(oldest)
	return true
}

// end forgets a process and ends it, without waiting for that.
func (p *processes) end(key string) {
	own := p.byKey[key]
	delete(p.byKey, key)
	if own.idle != nil {
		own.idle.Stop()
	}
	p.restarts += own.client.Restarts()
	p.ending.Go(own.client.Close)
}

// report adds how the processes are.
func (p *processes) report(s *Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.Processes, s.Restarts = len(p.byKey), p.restarts
	for _, own := range p.byKey {
		s.Restarts += own.client.Restarts()
		s.Revisions = append(s.Revisions, own.client.Revisions()...)
	}
	slices.SortFunc(s.Revisions, func(a, b protocol.Revision) int { return cmp.Compare(b, a) })
	s.Revisions = slices.Compact(s.Revisions)
}

// Close ends all processes and waits for them.
func (p *processes) Close() {
	p.mu.Lock()
	p.closed = true
	for key := range p.byKey {
		p.end(key)
	}
	p.mu.Unlock()
	p.ending.Wait()
}
