package streamable

import (
	"bytes"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// goroutine returns which goroutine it runs on.
func goroutine() string {
	stack := make([]byte, 64)
	stack = stack[:runtime.Stack(stack, false)] // "goroutine 7 [running]: ..."
	return string(bytes.Fields(stack)[1])
}

// TestWorkersStayForAWhile holds that a goroutine that waits for work gets it,
// that functions at once have one each, and that waiting comes to an end.
func TestWorkersStayForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newWorkers()
		defer p.close()
		where := make(chan string, 1)
		run := func() string {
			p.run(func() { where <- goroutine() })
			synctest.Wait()
			return <-where
		}
		first := run()
		if again := run(); again != first {
			t.Errorf("goroutine %s runs what goroutine %s could", again, first)
		}
		<-time.After(2 * workerIdle)
		synctest.Wait()
		if later := run(); later == first {
			t.Errorf("goroutine %s waits for ever", first)
		}
	})
}

// TestWorkersCloseWaits holds that functions run at once, and that close waits
// for them.
func TestWorkersCloseWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newWorkers()
		const functions = 5
		release, done := make(chan struct{}), make(chan string, functions)
		for range functions {
			p.run(func() {
				<-release
				done <- goroutine()
			})
		}
		closed := make(chan struct{})
		go func() {
			p.close()
			p.close()
			close(closed)
		}()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("close does not wait for functions that run")
		default:
		}
		close(release)
		<-closed
		seen := make(map[string]bool)
		for range functions {
			seen[<-done] = true
		}
		if len(seen) != functions {
			t.Errorf("%d functions at once on %d goroutines", functions, len(seen))
		}
	})
}
