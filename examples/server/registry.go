package main

import (
	"slices"
	"sync"
)

// registry has what a server offers, by name.
type registry[T any] struct {
	mu    sync.RWMutex
	names []string // in the order in which they were added
	items map[string]T
}

func newRegistry[T any]() *registry[T] {
	return &registry[T]{items: make(map[string]T)}
}

func (r *registry[T]) add(name string, item T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = append(r.names, name)
	r.items[name] = item
}

// toggle removes what is there and adds what is not.
func (r *registry[T]) toggle(name string, item T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.names, name); i >= 0 {
		r.names = slices.Delete(r.names, i, i+1)
		delete(r.items, name)
	} else {
		r.names = append(r.names, name)
		r.items[name] = item
	}
}

func (r *registry[T]) get(name string) (item T, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	item, ok = r.items[name]
	return item, ok
}

// all returns everything, always in the same order: that of a list says nothing,
// but it must not change by itself.
func (r *registry[T]) all() []T {
	r.mu.RLock()
	defer r.mu.RUnlock()
	list := make([]T, 0, len(r.names))
	for _, name := range r.names {
		list = append(list, r.items[name])
	}
	return list
}
