// Package parallel spreads work over processors.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls f with every number from 0 up to n, on as many goroutines as there
// are processors, and returns when all calls have.
func Each(n int, f func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var (
		next atomic.Int64
		wg   sync.WaitGroup
	)
	for range workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}
