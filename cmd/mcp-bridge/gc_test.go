package main

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestGCPercent(t *testing.T) {
	t.Parallel()
	for live, want := range map[uint64]int{0: 400, 1: 400, 8 << 20: 400, 9 << 20: 350, 16 << 20: 200, 31 << 20: 100, 32 << 20: 100, 1 << 40: 100} {
		if got := gcPercent(live); got != want {
			t.Errorf("%d bytes: %d, want %d", live, got, want)
		}
	}
}

// TestTuneGC is not parallel: it is about the whole process.
func TestTuneGC(t *testing.T) {
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	t.Setenv("GOGC", "77")
	tuneGC()
	if got := debug.SetGCPercent(77); got != 77 {
		t.Errorf("GOGC is %d, though the operator has set it", got)
	}
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	tuneGC()
	for range 3 {
		runtime.GC() // each time it is tuned again
	}
	if got := debug.SetGCPercent(77); got < minGCPercent || got > maxGCPercent {
		t.Errorf("GOGC is %d", got)
	}
}
