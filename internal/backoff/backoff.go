// Package backoff spaces out attempts at something that fails or ends.
package backoff

import (
	"context"
	"time"
)

// Backoff makes the pauses between attempts. Each is twice as long as the one
// before, within bounds, until an attempt has lasted: then they start anew. It
// is used by one goroutine at a time.
type Backoff struct {
	// Min and Max bound the pauses.
	Min, Max time.Duration
	// Healthy is how long an attempt must last for its end to be no sign that the
	// next one ends as well. Zero means that none is.
	Healthy time.Duration

	next time.Duration
}

// After returns the pause after an attempt that lasted for a time.
func (b *Backoff) After(lasted time.Duration) time.Duration {
	if b.next == 0 || b.Healthy > 0 && lasted >= b.Healthy {
		b.next = b.Min
	}
	pause := b.next
	b.next = min(2*b.next, b.Max)
	return pause
}

// Pause waits, and returns the cause of ctx where that ends first.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
