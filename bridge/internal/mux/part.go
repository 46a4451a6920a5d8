package mux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// part is a server and what is known of it.
type part struct {
	name  string
	open  func(ctx context.Context) (protocol.Handler, func(), error)
	mux   *Mux
	tried chan struct{} // closed after the first attempt
	wake  chan struct{} // has a value when it has gone down

	mu        sync.Mutex
	handler   protocol.Handler // nil until it has been opened
	closePart func()
	down      error         // why it is unavailable, or nil
	up        chan struct{} // closed while it is available
	late      time.Time     // when it last took too long for an answer
}

func newPart(p Part, m *Mux) *part {
	return &part{
		name: p.Name, open: p.Open, mux: m,
		tried: make(chan struct{}), wake: make(chan struct{}, 1),
		down: errors.New("it has not answered yet"), up: make(chan struct{}),
	}
}

// fault returns why the part is unavailable, or nil.
func (p *part) fault() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.down
}

// settled waits for the first attempt to reach the part, as long as the Mux is
// new, and returns why the part is unavailable, or nil.
func (p *part) settled(ctx context.Context) error {
	timer := time.NewTimer(time.Until(p.mux.started.Add(firstTimeout)))
	defer timer.Stop()
	select {
	case <-p.tried:
	case <-timer.C:
	case <-ctx.Done():
	}
	return p.fault()
}

// available returns a channel that is closed while the part is available.
func (p *part) available() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.up
}

// keep opens the part, and brings it back when it has gone down, until the Mux
// is closed.
func (p *part) keep() {
	ctx, log := p.mux.ctx, p.mux.cfg.Logger
	first := sync.OnceFunc(func() { close(p.tried) })
	defer first()
	for ctx.Err() == nil {
		pause := p.mux.cfg.MinPause
		for {
			err := p.try(ctx)
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return
			}
			p.setDown(err)
			first()
			log.DebugContext(ctx, "an upstream is down", "upstream", p.name, "error", err, "retry_after", pause)
			timer := time.NewTimer(pause)
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return
			}
			pause = min(2*pause, p.mux.cfg.MaxPause)
		}
		p.setUp()
		first()
		select {
		case <-p.wake:
		case <-ctx.Done():
		}
	}
}

// try opens the part, or asks whether it is there.
func (p *part) try(ctx context.Context) error {
	p.mu.Lock()
	h := p.handler
	p.mu.Unlock()
	if h == nil {
		ctx, cancel := context.WithTimeout(ctx, openTimeout)
		defer cancel()
		h, closePart, err := p.open(ctx)
		if err != nil {
			return err
		}
		p.mu.Lock()
		p.handler, p.closePart = h, closePart
		p.mu.Unlock()
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err := h.Handle(ctx, &protocol.Request{
		Method: protocol.MethodDiscover,
		Meta:   protocol.Meta{Revision: protocol.Revision20260728, Capabilities: json.RawMessage(`{}`)},
		Caller: &protocol.Caller{Transport: "mux"},
	}, protocol.Discard)
	if ctx.Err() != nil {
		return fmt.Errorf("no answer within %v", probeTimeout)
	}
	if gone(err) {
		return err
	}
	return nil // it is there, whatever it says
}

// gone reports whether an error says that the part cannot be reached.
func gone(err error) bool {
	up, ok := errors.AsType[*protocol.UpstreamError](err)
	return ok && up.Kind == protocol.UpstreamUnavailable
}

func (p *part) setDown(err error) {
	p.mu.Lock()
	was := p.down
	p.down = err
	if was == nil {
		p.up = make(chan struct{})
	}
	p.mu.Unlock()
	if was == nil {
		p.mux.cfg.Logger.Warn("an upstream has gone down; its part is left out until it is back", "upstream", p.name, "error", err)
		p.mux.changes.Send()
		select {
		case p.wake <- struct{}{}:
		default:
		}
	}
}

func (p *part) setUp() {
	p.mu.Lock()
	was := p.down
	p.down = nil
	if was != nil {
		close(p.up)
	}
	p.mu.Unlock()
	if was != nil {
		p.mux.cfg.Logger.Info("an upstream is available", "upstream", p.name)
		p.mux.changes.Send()
	}
}

// ask passes a request on, and notes what that says of the part.
func (p *part) ask(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	p.mu.Lock()
	h := p.handler
	p.mu.Unlock()
	if h == nil {
		if down := p.settled(ctx); down != nil {
			return nil, p.unavailable(down)
		}
		return p.ask(ctx, r, n)
	}
	res, err := h.Handle(ctx, r, n)
	if gone(err) && ctx.Err() == nil {
		p.setDown(err)
	}
	if fault, ok := errors.AsType[*protocol.UpstreamError](err); ok {
		own := *fault
		own.Message = "upstream " + p.name + ": " + fault.Message
		return nil, &own
	}
	if err == nil && res == nil {
		return nil, fmt.Errorf("upstream %s returned nothing", p.name)
	}
	return res, err
}

// askSoon is ask for what all parts are asked together, so that one which hangs
// does not keep the others from being heard.
func (p *part) askSoon(ctx context.Context, r *protocol.Request) (*protocol.Result, error) {
	patience := answerTimeout
	p.mu.Lock()
	if !p.late.IsZero() && time.Since(p.late) < latePause {
		patience = lateTimeout
	}
	p.mu.Unlock()
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	res, err := p.ask(soon, r, protocol.Discard)
	switch {
	case err == nil:
		p.setLate(time.Time{})
	case soon.Err() != nil && ctx.Err() == nil:
		if patience == answerTimeout {
			p.setLate(time.Now())
		}
		return nil, fmt.Errorf("no answer to %s within %v", r.Method, patience)
	}
	return res, err
}

func (p *part) setLate(when time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = when
}

// unavailable is the error for what belongs to a part that was never there.
func (p *part) unavailable(err error) error {
	return &protocol.UpstreamError{
		Kind: protocol.UpstreamUnavailable, Message: fmt.Sprintf("the upstream %s is unavailable", p.name), Unsent: true, Err: err,
	}
}

func (p *part) close() {
	p.mu.Lock()
	closePart := p.closePart
	p.closePart = nil
	p.mu.Unlock()
	if closePart != nil {
		closePart()
	}
}

// each asks all parts that are available, at the same time. The answer of one
// that is not, or fails, is nil.
func (m *Mux) each(ctx context.Context, ask func(p *part) (any, error)) []any {
	answers := make([]any, len(m.parts))
	var wg sync.WaitGroup
	for i, p := range m.parts {
		wg.Go(func() {
			if p.settled(ctx) != nil {
				return
			}
			answer, err := ask(p)
			if err != nil {
				if ctx.Err() == nil {
					m.cfg.Logger.WarnContext(ctx, "an upstream did not answer and is left out", "upstream", p.name, "error", err)
				}
				return
			}
			answers[i] = answer
		})
	}
	wg.Wait()
	return answers
}
