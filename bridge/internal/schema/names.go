package schema

import (
	"crypto/sha256"
	"encoding/base32"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

const (
	// maxName is the limit of model providers on the name of a tool.
	maxName = 64
	// hashLen is the length of a tail that makes a name unique: 50 bits.
	hashLen = 10
)

// Names returns the names of the tools of the methods, by the full names of
// the methods.
//
// A name is "Service_Method". Where several methods would get the same one,
// each of them gets the last segments of its package in front, as few as tell
// them apart. A name longer than 64 characters, or one that nothing else tells
// apart, becomes a readable head and a hash of the method's full name. All
// names are unique and match ^[a-zA-Z0-9_-]{1,64}$.
//
// Names in taken were given before, by the full names of their methods; they
// stay as they are and are given to no other method, whether or not their own
// method is among methods. Apart from that the result depends on the set of
// methods only, not on their order. To keep names stable when services come
// and go, pass everything ever given as taken.
func Names(methods []protoreflect.MethodDescriptor, taken map[protoreflect.FullName]string) map[protoreflect.FullName]string {
	names := make(map[protoreflect.FullName]string, len(methods))
	used := make(map[string]bool, len(taken))
	for _, name := range taken {
		used[name] = true
	}
	open := make(map[protoreflect.FullName]*candidate)
	for _, m := range methods {
		full := m.FullName()
		if name, ok := taken[full]; ok {
			names[full] = name
		} else {
			open[full] = newCandidate(full)
		}
	}
	// Each round widens all the members of every group that collides, so the
	// outcome does not depend on the order of groups or members.
	for {
		groups := make(map[string][]*candidate, len(open))
		for _, c := range open {
			groups[c.name()] = append(groups[c.name()], c)
		}
		done := true
		for name, group := range groups {
			if len(group) == 1 && !used[name] {
				continue
			}
			done = false
			stays := sole(group)
			for _, c := range group {
				if c != stays || used[name] {
					c.round++
				}
			}
		}
		if done {
			break
		}
	}
	for _, full := range slices.Sorted(maps.Keys(open)) {
		names[full] = open[full].name()
	}
	return names
}

// sole returns the only member of a group that has its whole package in its
// name. The others must make way: it cannot.
func sole(group []*candidate) *candidate {
	var found *candidate
	for _, c := range group {
		if c.ours()+c.round == len(c.segments) {
			if found != nil {
				return nil
			}
			found = c
		}
	}
	return found
}

// candidate is a method in search of a name.
type candidate struct {
	full protoreflect.FullName
	// segments are those of the full name.
	segments []string
	// round counts the names that turned out not to be unique.
	round int
}

func newCandidate(full protoreflect.FullName) *candidate {
	return &candidate{full: full, segments: strings.Split(clean(string(full)), ".")}
}

// name returns the name of the current round: first service and method, then
// one more segment of the package each time, then hashes that differ from
// round to round.
func (c *candidate) name() string {
	if n := c.ours() + c.round; n <= len(c.segments) {
		if name := c.last(n); len(name) <= maxName {
			return name
		}
	}
	sum := sha256.Sum256([]byte(strconv.Itoa(c.round) + "\n" + string(c.full)))
	tail := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:hashLen]
	return c.head(maxName-hashLen-len("_")) + "_" + tail
}

// ours is the number of segments that are not the package's: service and
// method.
func (c *candidate) ours() int { return min(2, len(c.segments)) }

// head returns service and method in at most n bytes. The method says more, so
// the service gives way first, down to a quarter of the room.
func (c *candidate) head(n int) string {
	head := c.last(c.ours())
	if len(head) > n {
		service, method := c.segments[0], c.segments[len(c.segments)-1]
		if len(c.segments) > 1 {
			service = c.segments[len(c.segments)-2]
		}
		service = clipBytes(service, max(n/4, n-len(method)-len("_")))
		head = clipBytes(strings.TrimRight(service, "_")+"_"+method, n)
	}
	return strings.TrimRight(head, "_")
}

// last joins the last n segments.
func (c *candidate) last(n int) string {
	return strings.Join(c.segments[max(0, len(c.segments)-n):], "_")
}

// clean replaces what neither a tool's name nor a dotted name may have.
func clean(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r < 0x80 && (isAlphanumeric(byte(r)) || r == '_') { //nolint:gosec // the rune is ASCII
			return r
		}
		return '_'
	}, name)
}
