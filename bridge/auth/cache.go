package auth

import (
	"crypto/sha256"
	"sync"
	"time"
)

// maxCached bounds how many tokens are remembered.
const maxCached = 10_000

// cache remembers what is known of tokens. The zero value is ready to use.
type cache struct {
	mu       sync.RWMutex
	verdicts map[[sha256.Size]byte]verdict
}

func (c *cache) get(key [sha256.Size]byte, now time.Time) (verdict, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	v, ok := c.verdicts[key]
	return v, ok && now.Before(v.until)
}

func (c *cache) put(key [sha256.Size]byte, v verdict, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.verdicts == nil {
		c.verdicts = make(map[[sha256.Size]byte]verdict)
	}
	if len(c.verdicts) >= maxCached {
		c.shrink(now)
	}
	c.verdicts[key] = v
}

// shrink makes room: for a tenth, so that it is not called each time. What has
// expired goes, what is refused next, and then any.
func (c *cache) shrink(now time.Time) {
	const room = maxCached / 10
	for _, goes := range []func(verdict) bool{
		func(v verdict) bool { return !now.Before(v.until) },
		func(v verdict) bool { return v.principal == nil },
		func(verdict) bool { return true },
	} {
		for key, v := range c.verdicts {
			if len(c.verdicts) <= maxCached-room {
				return
			}
			if goes(v) {
				delete(c.verdicts, key)
			}
		}
	}
}
