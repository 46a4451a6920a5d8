package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// The bridge has little that lives and much that does not: with Go's defaults it
// would collect garbage some hundred times a second to save a few megabytes.
const (
	// gcHeadroom is how much garbage may be made between two collections even
	// where less than that is live, in bytes.
	gcHeadroom = 32 << 20
	// Bounds of GOGC. The lower one is Go's default.
	minGCPercent = 100
	maxGCPercent = 400
)

// tuneGC makes room for garbage, unless the operator has said how much by GOGC
// or GOMEMLIMIT. Once more than [gcHeadroom] is live it changes nothing.
func tuneGC() {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if os.Getenv(name) != "" {
			return
		}
	}
	t := &gcTuner{percent: minGCPercent}
	t.tune()
}

// gcTuner sets GOGC anew after each collection.
type gcTuner struct {
	mu      sync.Mutex
	percent int
}

func (t *gcTuner) tune() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	t.mu.Lock()
	defer t.mu.Unlock()
	if percent := gcPercent(live[0].Value.Uint64()); percent != t.percent {
		t.percent = percent
		debug.SetGCPercent(percent)
	}
	// This is called when the object has been collected, so after the next
	// collection.
	runtime.AddCleanup(new([64]byte), func(t *gcTuner) { t.tune() }, t)
}

// gcPercent returns GOGC for a heap of which so many bytes are live.
func gcPercent(live uint64) int {
	const step = 10 // that small changes change nothing
	percent := uint64(maxGCPercent)
	if live > 0 {
		percent = gcHeadroom * 100 / live / step * step
	}
	return int(min(max(percent, minGCPercent), maxGCPercent))
}
