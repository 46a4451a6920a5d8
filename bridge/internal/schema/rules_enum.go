package schema

import (
	"slices"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// enumFilter returns which values of an enum the rules allow, or nil where
// they allow all that the enum has.
func (s fieldRules) enumFilter(ed protoreflect.EnumDescriptor) func(protoreflect.EnumNumber) bool {
	rules := s.rules.GetEnum()
	if rules == nil && !s.set {
		return nil
	}
	in, notIn := rules.GetIn(), rules.GetNotIn()
	if rules != nil && rules.Const != nil {
		in = []int32{rules.GetConst()}
	}
	if len(in) == 0 && len(notIn) == 0 && !s.set {
		return nil
	}
	zero := zeroOf(ed)
	return func(n protoreflect.EnumNumber) bool {
		switch {
		case n == zero && s.zero:
			return true
		case n == zero && s.set:
			return false
		}
		return (len(in) == 0 || slices.Contains(in, int32(n))) && !slices.Contains(notIn, int32(n))
	}
}

// zeroOf returns the value of a field that is not set.
func zeroOf(ed protoreflect.EnumDescriptor) protoreflect.EnumNumber {
	if ed.Values().Len() == 0 {
		return 0
	}
	return ed.Values().Get(0).Number()
}

// enumExtras adds what a list of names cannot say: numbers that have none.
func (s fieldRules) enumExtras(fd protoreflect.FieldDescriptor, g *collector) {
	rules := s.rules.GetEnum()
	if rules == nil {
		return
	}
	keep := s.enumFilter(fd.Enum())
	g.fits(keep == nil || keep(zeroOf(fd.Enum())))
	values := fd.Enum().Values()
	name := func(n int32) string {
		if v := values.ByNumber(protoreflect.EnumNumber(n)); v != nil {
			return string(v.Name())
		}
		return strconv.Itoa(int(n))
	}
	in := rules.GetIn()
	if rules.Const != nil {
		in = []int32{rules.GetConst()}
	}
	unnamed := slices.ContainsFunc(in, func(n int32) bool { return values.ByNumber(protoreflect.EnumNumber(n)) == nil })
	if unnamed || g.words && len(in) > 0 {
		list := make([]string, 0, len(in))
		for _, n := range in {
			list = append(list, name(n))
		}
		sayList(g, "Must be one of: ", list)
	}
	if !slices.Contains(rules.GetNotIn(), 0) || !g.zero {
		var list []string
		for _, n := range rules.GetNotIn() {
			if values.ByNumber(protoreflect.EnumNumber(n)) == nil {
				list = append(list, strconv.Itoa(int(n)))
			}
		}
		sayList(g, "Must not be one of: ", list)
	}
	for _, n := range rules.GetExample() {
		if values.ByNumber(protoreflect.EnumNumber(n)) != nil {
			g.examples = append(g.examples, quote(name(n)))
		}
	}
}
