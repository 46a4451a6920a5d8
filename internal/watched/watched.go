// Package watched keeps what is made of files in step with them.
package watched

import (
	"os"
	"slices"
	"sync"
	"time"
)

// Value is made of files, and made again once they have changed. It is used
// concurrently.
type Value[T any] struct {
	read  func(names []string) (T, error)
	names []string

	mu    sync.Mutex
	seen  []os.FileInfo // of names, when they were read last
	at    time.Time     // when that was
	value T
}

// coarsest is how much time two changes of a file may be apart and yet leave it
// with the same time of modification.
const coarsest = 2 * time.Second

// New reads the files for the first time, by read, which gets their names.
func New[T any](read func([]string) (T, error), names ...string) (*Value[T], error) {
	w := &Value[T]{read: read, names: names, seen: stat(names), at: time.Now()}
	var err error
	w.value, err = read(names)
	return w, err
}

// Get returns the value, of the files as they are now if that can be read, and
// otherwise the last good one.
func (w *Value[T]) Get() T {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, at := stat(w.names), time.Now()
	if slices.EqualFunc(w.seen, now, w.unchanged) {
		return w.value
	}
	value, err := w.read(w.names)
	if err != nil {
		return w.value // and the files are read again by the next one who asks
	}
	w.value, w.seen, w.at = value, now, at
	return value
}

// stat returns what the system says of files, nil for one that is missing.
func stat(names []string) []os.FileInfo {
	infos := make([]os.FileInfo, len(names))
	for i, name := range names {
		if info, err := os.Stat(name); err == nil {
			infos[i] = info
		}
	}
	return infos
}

// unchanged reports whether a file surely is what it was when it was read.
func (w *Value[T]) unchanged(then, now os.FileInfo) bool {
	return then != nil && now != nil && os.SameFile(then, now) && then.Size() == now.Size() &&
		then.ModTime().Equal(now.ModTime()) && w.at.Sub(then.ModTime()).Abs() > coarsest
}
