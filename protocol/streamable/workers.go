package streamable

import (
	"sync"
	"time"
)

// workerIdle is how long a goroutine waits for its next call.
const workerIdle = 5 * time.Second

// workers run functions on goroutines that stay for a while: the stack of a new
// one grows several times on the way through a call, which takes a tenth of the
// CPU time of a small call. There are never more than functions at once.
type workers struct {
	jobs chan func()
	quit chan struct{}
	once sync.Once
	wg   sync.WaitGroup
}

func newWorkers() *workers {
	return &workers{jobs: make(chan func()), quit: make(chan struct{})}
}

// run runs f on a goroutine that waits for work, or on a new one, and does not
// wait for it.
func (p *workers) run(f func()) {
	select {
	case p.jobs <- f:
	default:
		p.wg.Go(func() { p.work(f) })
	}
}

func (p *workers) work(f func()) {
	idle := time.NewTimer(workerIdle)
	defer idle.Stop()
	for {
		f()
		f = nil // what it holds may go
		idle.Reset(workerIdle)
		select {
		case f = <-p.jobs:
		case <-idle.C:
			return
		case <-p.quit:
			return
		}
	}
}

// close ends the goroutines that wait for work, and waits for the functions
// that run. Nothing may be run afterwards. It may be called more than once.
func (p *workers) close() {
	p.once.Do(func() { close(p.quit) })
	p.wg.Wait()
}
