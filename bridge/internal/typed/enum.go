package typed

import (
	"cmp"
	"slices"
	"strings"
)

// enumValue is a value of an enum that has its name and number.
type enumValue struct {
	name    string
	number  int32
	literal literal
}

// enumValues gives the values of an enum their names and numbers: those of the
// lock where it has the same string. What is no longer there is retired.
func (b *builder) enumValues(s *scope, locked *LockedEnum, literals []literal, prefix string) []enumValue {
	taken := newNames(b.hashed, "UNSPECIFIED")
	there := func(text string) bool {
		return slices.ContainsFunc(literals, func(l literal) bool { return l.text == text })
	}
	for text, v := range locked.Values {
		if !there(text) {
			locked.Retired.add(v.Number, v.Name)
			delete(locked.Values, text)
			continue
		}
		taken.take(strings.TrimPrefix(v.Name, prefix))
		s.values[v.Name] = true
	}
	next := int32(1)
	for _, name := range locked.Retired.Names {
		taken.take(strings.TrimPrefix(name, prefix))
		s.values[name] = true
	}
	for _, n := range locked.Retired.Numbers {
		next = max(next, n+1)
	}
	for _, v := range locked.Values {
		next = max(next, v.Number+1)
	}
	order := slices.Clone(literals)
	if b.hashed {
		slices.SortFunc(order, func(x, y literal) int { return cmp.Compare(x.text, y.text) })
	}
	used := make(map[int32]bool)
	for _, l := range order {
		if _, ok := locked.Values[l.text]; ok {
			continue
		}
		v := LockedValue{Number: next}
		for v.Name == "" || s.values[v.Name] {
			v.Name = prefix + taken.claim(upper(l.text), l.text, "_")
		}
		s.values[v.Name] = true
		if b.hashed {
			v.Number = hashNumber(l.text, used)
		}
		next++
		locked.Values[l.text] = v
	}
	var values []enumValue
	for _, l := range literals {
		v := locked.Values[l.text]
		values = append(values, enumValue{v.Name, v.Number, l})
	}
	if !b.hashed {
		slices.SortFunc(values, func(x, y enumValue) int { return cmp.Compare(x.number, y.number) })
	}
	return values
}
