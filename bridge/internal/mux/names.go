package mux

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"sync"
)

// maxToolName is the longest name of a tool that every host takes.
const maxToolName = 64

// maxNames bounds how many names of one kind are remembered. Above that, those
// that are not in use any more are forgotten.
const maxNames = 20_000

// names gives names of parts one name each in the whole. A name that was given
// stays.
type names struct {
	member string // of an item, that has its name
	limit  int    // length of names, or 0

	mu     sync.Mutex
	public map[key]string
	owner  map[string]key
}

// key is a name that a part uses.
type key struct {
	part *part
	name string
}

func newNames(member string, limit int) *names {
	return &names{member: member, limit: limit, public: make(map[key]string), owner: make(map[string]key)}
}

// given reports whether the names are given here, as those of tools and prompts
// are. URIs are what they are, and the first part that has one keeps it.
func (n *names) given() bool { return n.member == "name" }

// lookup returns whose name one is.
func (n *names) lookup(public string) (key, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	k, ok := n.owner[public]
	return k, ok
}

// give names what the parts have now. One name for several of them becomes
// that of none: each gets its part's name as prefix.
func (n *names) give(now []key) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.public) > maxNames {
		n.forget(now)
	}
	uses := make(map[string]int)
	for _, k := range now {
		if _, ok := n.public[k]; !ok {
			uses[k.name]++
		}
	}
	var contested []key
	for _, k := range now {
		if _, ok := n.public[k]; ok {
			continue
		}
		if _, taken := n.owner[k.name]; taken || uses[k.name] > 1 {
			contested = append(contested, k)
			continue
		}
		n.public[k], n.owner[k.name] = k.name, k
	}
	for _, k := range contested {
		name := n.prefixed(k)
		n.public[k], n.owner[name] = name, k
	}
}

// prefixed returns a free name for one that is taken.
func (n *names) prefixed(k key) string {
	name := k.part.name + "_" + k.name
	if n.limit > 0 && len(name) > n.limit {
		sum := sha256.Sum256([]byte(name))
		tail := "_" + hex.EncodeToString(sum[:4])
		name = name[:n.limit-len(tail)] + tail
	}
	free := name
	for i := 2; ; i++ {
		if _, taken := n.owner[free]; !taken {
			return free
		}
		free = name[:min(len(name), max(n.limit, len(name)+4)-4)] + "_" + strconv.Itoa(i)
	}
}

// claim gives a name to the first part that has it, and reports whether that is
// k's. It is for names that cannot be changed.
func (n *names) claim(k key) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if owner, ok := n.owner[k.name]; ok {
		return owner == k
	}
	n.public[k], n.owner[k.name] = k.name, k
	return true
}

// of returns the name that k has been given.
func (n *names) of(k key) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.public[k]
}

func (n *names) forget(now []key) {
	used := make(map[key]bool, len(now))
	for _, k := range now {
		used[k] = true
	}
	for k, name := range n.public {
		if !used[k] {
			delete(n.public, k)
			delete(n.owner, name)
		}
	}
}
