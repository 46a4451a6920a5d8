package transcode

import (
	"slices"
	"strings"
)

const (
	// maxMisplacedDepth is how many messages a misplaced member is looked for
	// inside of each other, and maxMisplacedPlans how many altogether.
	maxMisplacedDepth = 3
	maxMisplacedPlans = 200
	// maxMisplaced is how many places an error proposes.
	maxMisplaced = 3
)

// belongs says where a member belongs that stands, at the present path, in a
// message without such a field: in the nearest messages that have one. It returns
// "" where there are none, or too many to help.
func (r *reader) belongs(name string) string {
	chain, names := r.around()
	for i, p := range slices.Backward(chain) {
		if _, ok := p.names[name]; ok {
			if i == 0 {
				return "it belongs at the top, not in " + strings.Join(names, ".")
			}
			return "it belongs in " + strings.Join(names[:i], ".")
		}
		inside := membersBelow(p, strings.Join(names[:i], "."), name)
		switch n := len(inside); {
		case n == 0:
		case n > maxMisplaced:
			return ""
		case n == 1:
			return "it belongs in " + inside[0]
		default:
			return "it belongs in " + strings.Join(inside[:n-1], ", ") + " or " + inside[n-1]
		}
	}
	return ""
}

// around returns the plans of the messages that the present member stands in,
// outermost first, and the path from each to the next. It is empty where the path
// leads through something else, such as an Any.
func (r *reader) around() (chain []*plan, names []string) {
	if r.root == nil || len(r.path) == 0 {
		return nil, nil
	}
	chain = append(chain, r.root)
	at := r.root
	for i, s := range r.path[:len(r.path)-1] {
		if s.kind != stepField {
			if i == 0 {
				return nil, nil
			}
			names[len(names)-1] += path{s}.String()
			continue
		}
		index, ok := at.names[s.text()]
		if !ok {
			return nil, nil
		}
		f := &at.fields[index]
		if f.value != nil {
			f = f.value
		}
		if f.message == nil || !isOrdinary(f) {
			return nil, nil
		}
		at = f.sub()
		chain, names = append(chain, at), append(names, printable(clip(s.text(), maxNameText)))
	}
	return chain, names
}

// isOrdinary reports whether the JSON of a field's message is an object with its
// fields.
func isOrdinary(f *field) bool {
	p := f.sub()
	return p.wkt == wktNone && !p.isValue() && !p.isUnion()
}

// membersBelow returns the paths of the nearest messages inside of one that have a
// field of that name.
func membersBelow(top *plan, prefix, name string) []string {
	type place struct {
		plan *plan
		path string
	}
	level := []place{{top, prefix}}
	seen := map[*plan]bool{top: true}
	for range maxMisplacedDepth {
		var next []place
		var found []string
		for _, at := range level {
			for i := range at.plan.fields {
				f := &at.plan.fields[i]
				if f.message == nil || f.key != nil || !at.plan.isMember(f) || !isOrdinary(f) || len(seen) >= maxMisplacedPlans {
					continue
				}
				path := strings.TrimPrefix(at.path+"."+f.name, ".")
				if f.list {
					path += "[]"
				}
				sub := f.sub()
				if _, ok := sub.names[name]; ok {
					found = append(found, path)
				}
				if !seen[sub] {
					seen[sub] = true
					next = append(next, place{sub, path})
				}
			}
		}
		if len(found) > 0 {
			return found
		}
		level = next
	}
	return nil
}
