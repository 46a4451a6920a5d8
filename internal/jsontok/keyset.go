package jsontok

import (
	"bytes"
	"hash/maphash"
)

// keySet is a set of names. It compares one by one while they are few, and
// has a hash table after that: with a seed of its own, so that nobody can
// prepare names that collide.
type keySet struct {
	few   [16][]byte
	n     int
	seed  maphash.Seed
	table [][]byte // nil, or a quarter of it is free
}

// add reports whether key, which must not be nil or change later, is new.
func (k *keySet) add(key []byte) bool {
	if k.table != nil {
		return k.addHashed(key)
	}
	for _, other := range k.few[:k.n] {
		if bytes.Equal(other, key) {
			return false
		}
	}
	if k.n < len(k.few) {
		k.few[k.n] = key
		k.n++
		return true
	}
	k.seed = maphash.MakeSeed()
	k.rehash(k.few[:], 4*len(k.few))
	return k.addHashed(key)
}

func (k *keySet) addHashed(key []byte) bool {
	slot, found := k.find(key)
	if found {
		return false
	}
	k.table[slot] = key
	if k.n++; k.n > len(k.table)/4*3 {
		k.rehash(k.table, 2*len(k.table))
	}
	return true
}

// find returns the slot that holds key, or the free one that it goes into.
func (k *keySet) find(key []byte) (slot uint64, found bool) {
	mask := uint64(len(k.table) - 1) //nolint:gosec // a length is not negative
	for slot = maphash.Bytes(k.seed, key) & mask; k.table[slot] != nil; slot = (slot + 1) & mask {
		if bytes.Equal(k.table[slot], key) {
			return slot, true
		}
	}
	return slot, false
}

// rehash moves keys into a table of size slots, a power of two.
func (k *keySet) rehash(keys [][]byte, size int) {
	k.table = make([][]byte, size)
	for _, key := range keys {
		if key != nil {
			slot, _ := k.find(key)
			k.table[slot] = key
		}
	}
}
