package bounded_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/bounded"
)

// member is a member whose use the test decides.
type member struct {
	name string
	mu   sync.Mutex
	used time.Time
	busy bool
}

func (m *member) IdleSince() (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used, !m.busy
}

func (m *member) set(busy bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.busy, m.used = busy, time.Now()
}

// ends records what a Set gives up.
type ends struct {
	mu   sync.Mutex
	list []string
}

func (e *ends) end(m *member, why bounded.Reason) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, m.name+": "+string(why))
}

func (e *ends) take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := e.list
	e.list = nil
	slices.Sort(list)
	return list
}

func check(t *testing.T, e *ends, want ...string) {
	t.Helper()
	if got := e.take(); !slices.Equal(got, want) {
		t.Errorf("gave up %q, want %q", got, want)
	}
}

// TestFlood: a caller who opens too many loses his own, never those of others,
// neither by his own limit nor by that of all.
func TestFlood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var gone ends
		s := bounded.New(bounded.Limits{Total: 5, Each: 3}, gone.end)
		defer s.Close()
		add := func(owner string, n int) bool {
			time.Sleep(time.Second) //nolint:forbidigo // of the test's own clock
			name := fmt.Sprint(owner, n)
			return s.Add(name, owner, &member{name: name, used: time.Now()})
		}
		add("a", 1)
		for n := range 5 {
			if !add("flood", n) {
				t.Errorf("no room for %d", n)
			}
		}
		check(t, &gone, "flood0: too many", "flood1: too many")
		add("b", 1)
		check(t, &gone)
		add("c", 1) // one more than all may have: who has most pays
		check(t, &gone, "flood2: too many")
		for _, key := range []string{"a1", "b1", "c1", "flood3", "flood4"} {
			if _, ok := s.Get(key); !ok {
				t.Errorf("%s has gone", key)
			}
		}
		for _, key := range []string{"flood3", "flood4", "a1", "b1", "c1"} {
			m, _ := s.Get(key)
			m.set(true)
		}
		if add("d", 1) {
			t.Error("a member was added in the place of one in use")
		}
	})
}

// TestIdle: members go after their time without anybody asking, and not while
// they are in use.
func TestIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var gone ends
		s := bounded.New(bounded.Limits{Idle: time.Minute}, gone.end)
		defer s.Close()
		for _, name := range []string{"busy", "idle", "touched"} {
			s.Add(name, "", &member{name: name, used: time.Now(), busy: name == "busy"})
		}
		wait := func(d time.Duration) {
			time.Sleep(d) //nolint:forbidigo // of the test's own clock
			synctest.Wait()
		}
		wait(30 * time.Second)
		m, _ := s.Get("touched")
		m.set(false)
		wait(30*time.Second - time.Nanosecond)
		check(t, &gone)
		wait(time.Nanosecond)
		check(t, &gone, "idle: idle for too long")
		wait(30 * time.Second)
		check(t, &gone, "touched: idle for too long")
		wait(time.Hour)
		check(t, &gone)
		m, _ = s.Get("busy")
		m.set(false)
		wait(2 * time.Minute)
		check(t, &gone, "busy: idle for too long")
		if s.Len() != 0 {
			t.Errorf("%d members are left", s.Len())
		}
		// A new one is swept as well, although the set was empty.
		s.Add("late", "", &member{name: "late", used: time.Now()})
		wait(time.Minute)
		check(t, &gone, "late: idle for too long")
	})
}

func TestRemoveAndClose(t *testing.T) {
	t.Parallel()
	var gone ends
	s := bounded.New(bounded.Limits{Idle: time.Hour}, gone.end)
	one := &member{name: "1", used: time.Now()}
	s.Add("1", "", one)
	s.Add("2", "", &member{name: "2", used: time.Now()})
	if _, ok := s.RemoveIf("1", func(m *member) bool { return m != one }); ok {
		t.Error("removed another one")
	}
	if m, ok := s.Remove("1"); !ok || m != one {
		t.Errorf("removed %v, %t", m, ok)
	}
	if _, ok := s.Remove("1"); ok {
		t.Error("removed twice")
	}
	s.Close()
	check(t, &gone, "2: closed")
	if s.Add("3", "", &member{name: "3"}) {
		t.Error("added after the end")
	}
	if _, ok := s.Get("2"); ok {
		t.Error("found after the end")
	}
	s.Close()
	check(t, &gone)
}

// TestBounds: whatever happens, no limit is exceeded, and every member that was
// added is either there or was given up once.
func TestBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var gone ends
		limits := bounded.Limits{Idle: time.Minute, Total: 20, Each: 7}
		s := bounded.New(limits, gone.end)
		r := rand.New(rand.NewPCG(1, 2))
		had := make(map[string]int)
		added, given := 0, 0
		for n := range 5000 {
			owner := fmt.Sprint(r.IntN(6))
			m := &member{name: fmt.Sprint(owner, "/", n), used: time.Now(), busy: r.IntN(5) == 0}
			if s.Add(m.name, owner, m) {
				added++
				had[owner]++
			}
			if m.busy && r.IntN(3) > 0 {
				m.set(false)
			}
			time.Sleep(time.Duration(r.IntN(3)) * time.Second) //nolint:forbidigo // of the test's own clock
			for _, name := range gone.take() {
				had[name[:1]]--
				given++
			}
			if s.Len() > limits.Total || had[owner] > limits.Each || s.Len() != added-given {
				t.Fatalf("%d members, %d of owner %s; added %d, gave up %d", s.Len(), had[owner], owner, added, given)
			}
		}
		s.Close()
		if given += len(gone.take()); given != added {
			t.Errorf("added %d and gave up %d", added, given)
		}
	})
}
