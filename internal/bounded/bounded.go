// Package bounded keeps what belongs to callers (sessions, calls that wait)
// within limits: in number for each caller and in total, and in the time that
// nobody uses it. A caller who floods it evicts his own oldest members first.
package bounded

import (
	"sync"
	"time"
)

// Member is what a [Set] keeps. IdleSince is used concurrently, and under the
// lock of the Set: it must not call back.
type Member interface {
	// IdleSince returns since when the member has been idle, and false while it is
	// in use. A member in use is neither evicted nor swept.
	IdleSince() (time.Time, bool)
}

// Limits bound a [Set]. Zero means no limit.
type Limits struct {
	// Idle is how long a member is kept that is not in use.
	Idle time.Duration
	// Total is how many members there are, and Each how many one owner has.
	Total, Each int
}

// Reason says why a member had to go.
type Reason string

// The reasons.
const (
	// Expired members have been idle for too long.
	Expired Reason = "idle for too long"
	// Evicted members made room for newer ones.
	Evicted Reason = "too many"
	// Closed is the reason of members that were left at the end.
	Closed Reason = "closed"
)

// Set keeps members by their keys. It is used concurrently. Close must be called
// to release it. Idle members are swept by a timer of the Set, so they go
// without anybody asking.
type Set[M Member] struct {
	limits Limits
	end    func(M, Reason)

	mu      sync.Mutex
	members map[string]*entry[M]
	owners  map[string]map[string]*entry[M] // by owner and key
	timer   *time.Timer                     // nil while no sweep is due
	closed  bool
	ending  sync.WaitGroup // sweeps under way
}

type entry[M Member] struct {
	key, owner string
	member     M
}

// New returns a Set. It calls end for every member that it gives up, without
// holding its lock. A member that [Set.Remove] returns is its caller's.
func New[M Member](limits Limits, end func(M, Reason)) *Set[M] {
	return &Set[M]{
		limits: limits, end: end,
		members: make(map[string]*entry[M]), owners: make(map[string]map[string]*entry[M]),
	}
}

// Add puts a member in, under a key that no other one has. Where there are too
// many, an idle member goes: the owner's oldest if the owner has too many, else
// the oldest of the owner who has most. Add returns false where none is idle,
// and after Close.
func (s *Set[M]) Add(key, owner string, m M) bool {
	s.mu.Lock()
	var gone *entry[M]
	ok := !s.closed
	if ok && s.limits.Each > 0 && len(s.owners[owner]) >= s.limits.Each {
		gone, ok = oldest(s.owners[owner])
	} else if ok && s.limits.Total > 0 && len(s.members) >= s.limits.Total {
		gone, ok = s.oldestOfMost()
	}
	if ok {
		if gone != nil {
			s.drop(gone)
		}
		e := &entry[M]{key, owner, m}
		s.members[key] = e
		if s.owners[owner] == nil {
			s.owners[owner] = make(map[string]*entry[M])
		}
		s.owners[owner][key] = e
		s.arm(s.limits.Idle)
	}
	s.mu.Unlock()
	if gone != nil {
		s.end(gone.member, Evicted)
	}
	return ok
}

// oldest returns the entry that has been idle longest, if any is idle.
func oldest[M Member](of map[string]*entry[M]) (found *entry[M], ok bool) {
	var first time.Time
	for _, e := range of {
		if since, idle := e.member.IdleSince(); idle && (found == nil || since.Before(first)) {
			found, first = e, since
		}
	}
	return found, found != nil
}

// oldestOfMost returns the oldest idle entry of the owners with most entries, if
// any owner has an idle one.
func (s *Set[M]) oldestOfMost() (found *entry[M], ok bool) {
	var (
		most  int
		first time.Time
	)
	for _, of := range s.owners {
		if len(of) < most {
			continue
		}
		if e, ok := oldest(of); ok {
			if since, _ := e.member.IdleSince(); len(of) > most || since.Before(first) {
				found, most, first = e, len(of), since
			}
		}
	}
	return found, found != nil
}

func (s *Set[M]) drop(e *entry[M]) {
	delete(s.members, e.key)
	of := s.owners[e.owner]
	delete(of, e.key)
	if len(of) == 0 {
		delete(s.owners, e.owner)
	}
}

// Get returns the member with a key. One that has been idle for too long has
// gone, even if it has not been swept yet.
func (s *Set[M]) Get(key string) (M, bool) {
	var none M
	s.mu.Lock()
	e := s.members[key]
	if e == nil {
		s.mu.Unlock()
		return none, false
	}
	if !s.overdue(e, time.Now()) {
		s.mu.Unlock()
		return e.member, true
	}
	s.drop(e)
	s.mu.Unlock()
	s.end(e.member, Expired)
	return none, false
}

// Remove takes the member with a key out and returns it.
func (s *Set[M]) Remove(key string) (M, bool) {
	return s.RemoveIf(key, func(M) bool { return true })
}

// RemoveIf is Remove for a member of which ok is true. ok must not call back.
func (s *Set[M]) RemoveIf(key string, ok func(M) bool) (M, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.members[key]
	if e == nil || !ok(e.member) {
		var none M
		return none, false
	}
	s.drop(e)
	return e.member, true
}

// Len returns how many members there are.
func (s *Set[M]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.members)
}

// Close gives up all members, and returns once nothing of the Set is under way.
// It takes no more.
func (s *Set[M]) Close() {
	s.mu.Lock()
	s.closed = true
	left := s.members
	s.members, s.owners = nil, nil
	if s.timer != nil && s.timer.Stop() {
		s.ending.Done()
	}
	s.timer = nil
	s.mu.Unlock()
	for _, e := range left {
		s.end(e.member, Closed)
	}
	s.ending.Wait()
}

func (s *Set[M]) overdue(e *entry[M], now time.Time) bool {
	if s.limits.Idle <= 0 {
		return false
	}
	since, idle := e.member.IdleSince()
	return idle && now.Sub(since) >= s.limits.Idle
}

// arm makes the timer sweep after a time, unless it will anyway.
func (s *Set[M]) arm(after time.Duration) {
	if s.limits.Idle <= 0 || s.timer != nil || s.closed {
		return
	}
	s.ending.Add(1)
	s.timer = time.AfterFunc(after, s.sweep)
}

// sweep gives up the members that have been idle for too long.
func (s *Set[M]) sweep() {
	defer s.ending.Done()
	s.mu.Lock()
	s.timer = nil
	var (
		now  = time.Now()
		gone []*entry[M]
		next = s.limits.Idle // a member in use cannot be overdue before
	)
	for _, e := range s.members {
		if s.overdue(e, now) {
			gone = append(gone, e)
		} else if since, idle := e.member.IdleSince(); idle {
			next = min(next, s.limits.Idle-now.Sub(since))
		}
	}
	for _, e := range gone {
		s.drop(e)
	}
	if len(s.members) > 0 {
		const often = 64 // so that sweeps of many members stay cheap
		s.arm(max(next, s.limits.Idle/often))
	}
	s.mu.Unlock()
	for _, e := range gone {
		s.end(e.member, Expired)
	}
}
