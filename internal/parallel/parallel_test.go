package parallel_test

import (
	"sync/atomic"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/parallel"
)

func TestEach(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 1000} {
		seen := make([]atomic.Int32, n)
		parallel.Each(n, func(i int) { seen[i].Add(1) })
		for i := range seen {
			if c := seen[i].Load(); c != 1 {
				t.Errorf("%d of %d: called %d times", i, n, c)
			}
		}
	}
}
