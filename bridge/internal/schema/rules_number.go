package schema

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

func boolRules(m protoreflect.Message, g *collector) {
	fields := m.Descriptor().Fields()
	if fd := fields.ByName("const"); m.Has(fd) {
		g.oneOf([]string{strconv.FormatBool(m.Get(fd).Bool())}, "false")
	}
	g.examples = jsonList(m, "example", func(v protoreflect.Value) (string, bool) { return strconv.FormatBool(v.Bool()), true })
}

// jsonList returns the values of a list field as JSON, without those that have
// none.
func jsonList(m protoreflect.Message, name protoreflect.Name, to func(protoreflect.Value) (string, bool)) []string {
	fd := m.Descriptor().Fields().ByName(name)
	if fd == nil {
		return nil
	}
	list := m.Get(fd).List()
	values := make([]string, 0, list.Len())
	for i := range list.Len() {
		if s, ok := to(list.Get(i)); ok {
			values = append(values, s)
		}
	}
	return values
}

// A bound is one end of a range.
type bound struct {
	value protoreflect.Value
	open  bool // the end itself is outside
}

// bounds returns the ends of the range that the rules of an ordered type give;
// nil where there is none.
func bounds(m protoreflect.Message) (lower, upper *bound) {
	fields := m.Descriptor().Fields()
	get := func(name protoreflect.Name, open bool, to **bound) {
		if fd := fields.ByName(name); m.Has(fd) {
			*to = &bound{m.Get(fd), open}
		}
	}
	get("gt", true, &lower)
	get("gte", false, &lower)
	get("lt", true, &upper)
	get("lte", false, &upper)
	return lower, upper
}

// rangeText says what a range allows. A lower end above the upper one means
// what is outside of the range.
func rangeText(lower, upper *bound, inverted bool, text func(protoreflect.Value) string) string {
	from, to := "", ""
	if lower != nil {
		from = pick(lower.open, "greater than ", "at least ") + text(lower.value)
	}
	if upper != nil {
		to = pick(upper.open, "less than ", "at most ") + text(upper.value)
	}
	switch {
	case inverted:
		return "Must be " + to + " or " + from + "."
	case from == "":
		return "Must be " + to + "."
	case to == "":
		return "Must be " + from + "."
	}
	return "Must be " + from + " and " + to + "."
}

func pick[T any](cond bool, yes, no T) T {
	if cond {
		return yes
	}
	return no
}

// number is how the values of a numeric kind are compared and written.
type number struct {
	wide, integer, unsigned bool
}

func numberOf(kind protoreflect.Kind) number {
	switch kind {
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return number{wide: true, integer: true}
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return number{wide: true, integer: true, unsigned: true}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return number{integer: true, unsigned: true}
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return number{}
	default:
		return number{integer: true}
	}
}

func isNaN(b *bound) bool {
	f, ok := b.float()
	return ok && math.IsNaN(f)
}

func isInfinite(b *bound) bool {
	f, ok := b.float()
	return ok && math.IsInf(f, 0)
}

func (b *bound) float() (float64, bool) {
	if b == nil {
		return 0, false
	}
	switch f := b.value.Interface().(type) {
	case float32:
		return float64(f), true
	case float64:
		return f, true
	}
	return 0, false
}

func (n number) compare(a, b protoreflect.Value) int {
	switch {
	case !n.integer:
		return cmp.Compare(a.Float(), b.Float())
	case n.unsigned:
		return cmp.Compare(a.Uint(), b.Uint())
	default:
		return cmp.Compare(a.Int(), b.Int())
	}
}

// meets reports whether zero is within the bound.
func (n number) meets(b *bound, sign int) bool {
	if b == nil {
		return true
	}
	var zero protoreflect.Value
	switch {
	case !n.integer:
		zero = protoreflect.ValueOfFloat64(0)
	case n.unsigned:
		zero = protoreflect.ValueOfUint64(0)
	default:
		zero = protoreflect.ValueOfInt64(0)
	}
	order := n.compare(zero, b.value) * sign
	return order > 0 || order == 0 && !b.open
}

// text returns a number as it reads; ok is false for what JSON cannot write.
func (n number) text(v protoreflect.Value) (s string, ok bool) {
	if !n.integer {
		return quoteNumber(v.Interface())
	}
	return v.String(), true
}

// json returns a number as JSON of the field.
func (n number) json(v protoreflect.Value) (s string, ok bool) {
	s, ok = n.text(v)
	if n.wide {
		s = `"` + s + `"`
	}
	return s, ok
}

// numberRules adds the rules of a numeric kind, m, which may be nil. set says
// that the value must not be zero.
func numberRules(kind protoreflect.Kind, m protoreflect.Message, set bool, v *value, g *collector) {
	n := numberOf(kind)
	zero := pick(n.wide, `"0"`, "0")
	const base = `,"minimum":0`
	positive := false
	if m != nil {
		fields := m.Descriptor().Fields()
		lower, upper := bounds(m)
		if isNaN(lower) || isNaN(upper) {
			lower, upper = nil, nil // every comparison is false
		}
		if isInfinite(lower) {
			lower = nil
		}
		if isInfinite(upper) {
			upper = nil
		}
		positive = lower != nil && upper == nil && !n.meets(lower, 1)
		n.rangeRules(lower, upper, v, g)
		if values := jsonList(m, "not_in", n.text); len(values) > 0 {
			g.sayUnless("Must not be one of: "+sample(values, sampleValues, maxRule-30)+".", !slices.Contains(values, "0"))
		}
		values := jsonList(m, "in", n.json)
		if fd := fields.ByName("const"); m.Has(fd) {
			values = nil
			if s, ok := n.json(m.Get(fd)); ok {
				values = []string{s}
			}
		}
		if len(values) > 0 {
			g.oneOf(values, zero)
		}
		g.examples = jsonList(m, "example", n.json)
	}
	if !set || positive {
		return
	}
	if n.unsigned && !n.wide && strings.HasSuffix(v.keywords, base) {
		v.keywords = strings.TrimSuffix(v.keywords, base) + `,"minimum":1`
		return
	}
	g.say("Must not be 0.")
}

func (n number) rangeRules(lower, upper *bound, v *value, g *collector) {
	if lower == nil && upper == nil {
		return
	}
	const base = `,"minimum":0`
	inverted := lower != nil && upper != nil && n.compare(lower.value, upper.value) > 0
	text := func(v protoreflect.Value) string { s, _ := n.text(v); return s }
	fitsLower, fitsUpper := n.meets(lower, 1), n.meets(upper, -1)
	if inverted || n.wide {
		fits := fitsLower && fitsUpper
		if inverted {
			fits = fitsLower || fitsUpper
		}
		g.sayUnless(rangeText(lower, upper, inverted, text), fits)
		return
	}
	if lower != nil {
		name, limit := pick(lower.open, "exclusiveMinimum", "minimum"), text(lower.value)
		if n.integer && lower.open {
			name, limit = "minimum", n.next(lower.value, 1)
		}
		if !g.words && (!g.zero || fitsLower) && strings.HasSuffix(v.keywords, base) {
			v.keywords = strings.TrimSuffix(v.keywords, base)
		}
		g.put(name, limit, rangeText(lower, nil, false, text), fitsLower)
	}
	if upper != nil {
		name, limit := pick(upper.open, "exclusiveMaximum", "maximum"), text(upper.value)
		if n.integer && upper.open {
			name, limit = "maximum", n.next(upper.value, -1)
		}
		g.put(name, limit, rangeText(nil, upper, false, text), fitsUpper)
	}
}

// next returns the 32-bit integer after or before v.
func (n number) next(v protoreflect.Value, by int64) string {
	if n.unsigned {
		return strconv.FormatInt(int64(v.Uint())+by, 10) //nolint:gosec // the value has 32 bits
	}
	return strconv.FormatInt(v.Int()+by, 10)
}
