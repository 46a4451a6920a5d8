package backoff_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/backoff"
)

func TestAfter(t *testing.T) {
	t.Parallel()
	b := backoff.Backoff{Min: time.Second, Max: 5 * time.Second, Healthy: time.Minute}
	for i, tt := range []struct{ lasted, want time.Duration }{
		{0, time.Second},
		{time.Second, 2 * time.Second},
		{0, 4 * time.Second},
		{0, 5 * time.Second},
		{59 * time.Second, 5 * time.Second},
		{time.Minute, time.Second}, // it was healthy
		{0, 2 * time.Second},
	} {
		if got := b.After(tt.lasted); got != tt.want {
			t.Errorf("pause %d is %s, want %s", i, got, tt.want)
		}
	}
	never := backoff.Backoff{Min: time.Second, Max: 4 * time.Second}
	never.After(0)
	if got := never.After(time.Hour); got != 2*time.Second {
		t.Errorf("without a healthy period: %s", got)
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if err := backoff.Pause(t.Context(), time.Hour); err != nil || time.Since(begun) != time.Hour {
			t.Errorf("%v after %s", err, time.Since(begun))
		}
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(enough)
		if err := backoff.Pause(ctx, time.Hour); !errors.Is(err, enough) {
			t.Errorf("got %v", err)
		}
	})
}
