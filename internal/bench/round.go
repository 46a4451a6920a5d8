package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// side is one of the servers that are compared, and how it is talked to.
type side struct {
	name    string
	process *process
	clients []caller
}

// caller is a client of a side. One goroutine at a time may use it.
type caller interface {
	// prepare makes the request of a call, call sends it and reads the answer,
	// and check checks that.
	prepare(w *work)
	call(w *work) error
	check(k *checker) error
	close() error
}

// newSide opens clients of a server, each on a connection of its own.
func newSide(ctx context.Context, name string, p *process, revision string, clients int) (*side, error) {
	s := &side{name: name, process: p}
	for range clients {
		conn, err := dial(ctx, p.url())
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		c, err := open(conn, revision)
		if err != nil {
			return nil, errors.Join(err, conn.close(), s.close())
		}
		s.clients = append(s.clients, c)
	}
	return s, nil
}

func (s *side) close() error {
	errs := make([]error, 0, len(s.clients))
	for _, c := range s.clients {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}

// sample is what one turn of a side came to.
type sample struct {
	cpu      time.Duration // of the server, per call
	rate     float64       // calls per second
	p50, p99 time.Duration
}

// turn makes so many calls by so many clients at once, and checks the answers.
func (s *side) turn(k *checker, clients, calls int) (sample, error) {
	var (
		left  atomic.Int64
		mu    sync.Mutex
		errs  []error
		took  = make([]time.Duration, 0, calls)
		group sync.WaitGroup
	)
	left.Store(int64(calls))
	before, err := cpuTime(s.process.pid())
	if err != nil {
		return sample{}, err
	}
	start := time.Now()
	for _, c := range s.clients[:clients] {
		group.Go(func() {
			own, err := callUntil(c, k, &left, make([]time.Duration, 0, 2*calls/clients))
			mu.Lock()
			defer mu.Unlock()
			took, errs = append(took, own...), append(errs, err)
		})
	}
	group.Wait()
	wall := time.Since(start)
	after, err := cpuTime(s.process.pid())
	if err := errors.Join(append(errs, err)...); err != nil {
		return sample{}, err
	}
	slices.Sort(took)
	return sample{
		cpu:  (after - before) / time.Duration(calls),
		rate: float64(calls) / wall.Seconds(),
		p50:  took[len(took)/2],
		p99:  took[len(took)*99/100],
	}, nil
}

// callUntil calls as long as calls are left, and appends what each took.
func callUntil(c caller, k *checker, left *atomic.Int64, took []time.Duration) ([]time.Duration, error) {
	for left.Add(-1) >= 0 {
		c.prepare(k.work)
		start := time.Now()
		if err := c.call(k.work); err != nil {
			return took, err
		}
		took = append(took, time.Since(start))
		if err := c.check(k); err != nil {
			return took, err
		}
	}
	return took, nil
}

// rounds lets all sides have so many turns each, in rounds in which every
// side has its turn, and each a different one first. The samples are by side,
// then by round. A turn before the first round is not counted.
func rounds(ctx context.Context, sides []*side, w *work, clients, n int) ([][]sample, error) {
	checkers := make([]*checker, len(sides))
	samples := make([][]sample, len(sides))
	for i, s := range sides {
		checkers[i] = &checker{work: w}
		if _, err := s.turn(checkers[i], clients, max(clients, w.calls/4)); err != nil {
			return nil, errors.Join(ctx.Err(), sideError(s, err))
		}
	}
	for round := range n {
		for i := range sides {
			i = (i + round) % len(sides)
			got, err := sides[i].turn(checkers[i], clients, max(clients, w.calls))
			if err != nil {
				return nil, errors.Join(ctx.Err(), sideError(sides[i], err))
			}
			samples[i] = append(samples[i], got)
		}
	}
	return samples, nil
}
