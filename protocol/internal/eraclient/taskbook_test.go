package eraclient

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestKnownTasks: callers have a limited number of tasks each, and all of them
// together too, until their time is over.
func TestKnownTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var known clientTasks
		s := &clientSession{}
		add := func(owner string, n int) (*clientTask, bool) {
			task := &clientTask{
				session: s, id: fmt.Sprint(owner, n), remote: fmt.Sprint("r", owner, n), owner: owner, quota: owner,
				expires: time.Now().Add(time.Hour), news: make(chan struct{}),
			}
			return task, known.add(task)
		}
		const owners = maxKnown/maxOwned + 1
		refused := 0
		for o := range owners {
			for n := range maxOwned + 1 { // the last one of each pushes out the first
				if _, ok := add(fmt.Sprint(o, "-"), n); !ok {
					refused++
				}
			}
		}
		if want := owners*maxOwned - maxKnown; len(known.known) != maxKnown || refused < want || len(s.related.all()) != maxKnown {
			t.Errorf("%d are known, %d to the session, %d were refused", len(known.known), len(s.related.all()), refused)
		}
		if known.find("0-0", "0-") != nil || known.find("0-1", "0-") == nil || known.find("0-1", "1-") != nil {
			t.Error("the wrong ones are known")
		}
		time.Sleep(time.Hour + taskGrace + time.Minute) //nolint:forbidigo // of the bubble's time
		last, ok := add("last", 1)
		if !ok || len(known.known) != 1 || len(known.owners) != 1 || len(s.related.all()) != 1 {
			t.Errorf("%d are left after their time", len(known.known))
		}
		known.remove(last)
		known.remove(last)
		if len(known.known)+len(known.owners)+len(s.related.all()) != 0 {
			t.Error("one is left")
		}
	})
}
