// Package matrix puts the bridge between clients and servers of every revision
// over every transport, and tries everything that MCP has.
package matrix

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience ends what hangs.
const patience = 30 * time.Second

// TestMatrix tries every feature of every client with every server. Clients of
// one server come one after the other, as to a bridge that goes on running.
// The tables in docs/compatibility.md are what has come of it.
func TestMatrix(t *testing.T) {
	t.Parallel()
	results := newTable()
	t.Cleanup(func() { results.check(t) }) // once all subtests have ended
	for _, server := range servers() {
		t.Run("to "+server.String(), func(t *testing.T) {
			t.Parallel()
			origin := newFixture(t)
			end := newNode(t, origin)
			middle := newNode(t, end.connect(t, server))
			for _, client := range allWays() {
				t.Run("from "+client.String(), func(t *testing.T) {
					c := middle.connect(t, client)
					defer middle.seen(t, client)
					asked := spoken(client, server)
					defer end.seen(t, asked)
					for i := range features {
						f := &features[i]
						ctx, cancel := context.WithTimeout(t.Context(), patience)
						got, err := f.try(ctx, c, origin)
						cancel()
						if want := f.want(client, asked); err != nil {
							t.Errorf("%s: %v, want %q", f.name, err, want)
						} else if got != want {
							t.Errorf("%s: %q, want %q", f.name, got, want)
						}
						results.set(cell{f, client, server}, got)
					}
				})
			}
		})
	}
}
