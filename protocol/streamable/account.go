package streamable

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// accounts count the bytes that the event streams of sessions hold, by the quota
// of their principal.
type accounts struct {
	maxBytes int64 // of each

	mu      sync.Mutex
	byQuota map[string]*account
}

func newAccounts(maxBytes int64) *accounts {
	return &accounts{maxBytes: maxBytes, byQuota: make(map[string]*account)}
}

// join returns the account of a new session, which calls leave when it ends.
func (all *accounts) join(quota string) (a *account, leave func()) {
	all.mu.Lock()
	defer all.mu.Unlock()
	a = all.byQuota[quota]
	if a == nil {
		a = &account{maxBytes: all.maxBytes}
		all.byQuota[quota] = a
	}
	a.sessions++
	return a, func() {
		all.mu.Lock()
		defer all.mu.Unlock()
		if a.sessions--; a.sessions == 0 {
			delete(all.byQuota, quota)
		}
	}
}

// account counts what the event streams of one principal's sessions hold. Beyond
// the limit it forgets streams that nobody reads, so a flood costs its author's
// oldest streams and nobody else's.
type account struct {
	maxBytes int64
	sessions int // guarded by the lock of accounts
	held     atomic.Int64

	mu   sync.Mutex // after that of a session
	kept list.List  // streams without a connection, oldest first
}

// add counts n bytes more of a stream. It reports whether there are too many
// now.
func (a *account) add(n int) bool {
	return a != nil && a.held.Add(int64(n)) > a.maxBytes
}

// full reports whether the streams hold too much.
func (a *account) full() bool { return a != nil && a.held.Load() > a.maxBytes }

// keep adds a stream to those without a connection.
func (a *account) keep(st *stream) {
	a.mu.Lock()
	defer a.mu.Unlock()
	st.kept = a.kept.PushBack(st)
}

// unkeep is for a stream that has a connection again, or is gone.
func (a *account) unkeep(st *stream) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if st.kept != nil {
		a.kept.Remove(st.kept)
		st.kept = nil
	}
}

// trim drops streams without a connection, the oldest first, until the others
// hold no more than they may.
func (a *account) trim() {
	for a.full() {
		a.mu.Lock()
		first := a.kept.Front()
		a.mu.Unlock()
		if first == nil {
			return
		}
		st, ok := first.Value.(*stream)
		if !ok { // there are no others
			return
		}
		st.session.forget(st)
	}
}
