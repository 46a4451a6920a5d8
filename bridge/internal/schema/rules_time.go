package schema

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// instant is a Duration or a Timestamp.
type instant struct {
	seconds int64
	nanos   int32
}

func instantOf(m protoreflect.Message) instant {
	fields := m.Descriptor().Fields()
	return instant{
		seconds: m.Get(fields.ByName("seconds")).Int(),
		nanos:   int32(m.Get(fields.ByName("nanos")).Int()), //nolint:gosec // the field is an int32
	}
}

func (i instant) compare(j instant) int {
	return cmp.Or(cmp.Compare(i.seconds, j.seconds), cmp.Compare(i.nanos, j.nanos))
}

// durationText and timestampText write values as ProtoJSON does.
func durationText(i instant) string {
	if i.nanos == 0 {
		return strconv.FormatInt(i.seconds, 10) + "s"
	}
	sign := ""
	if i.seconds < 0 || i.nanos < 0 {
		sign = "-"
	}
	// Taken apart, both parts lose their sign; the seconds of a Duration are
	// far from the smallest integer.
	seconds, nanos := i.seconds, i.nanos
	if sign != "" {
		seconds, nanos = -max(seconds, -math.MaxInt64), -nanos
	}
	if seconds < 0 || nanos < 0 {
		return "an invalid duration"
	}
	return strings.TrimRight(fmt.Sprintf("%s%d.%09d", sign, seconds, nanos), "0") + "s"
}

func timestampText(i instant) string {
	const first, last = -62135596800, 253402300799 // the years 1 to 9999
	if i.seconds < first || i.seconds > last {
		return strconv.FormatInt(i.seconds, 10) + " seconds after 1970"
	}
	return time.Unix(i.seconds, int64(i.nanos)).UTC().Format(time.RFC3339Nano)
}

// timeRules adds the rules of a Duration or a Timestamp, all of them as words.
func timeRules(m protoreflect.Message, text func(instant) string, g *collector) {
	fields := m.Descriptor().Fields()
	one := func(v protoreflect.Value) string { return text(instantOf(v.Message())) }
	if fd := fields.ByName("const"); m.Has(fd) {
		g.say("Must be " + one(m.Get(fd)) + ".")
	}
	flag := func(name protoreflect.Name, says string) {
		if fd := fields.ByName(name); fd != nil && m.Get(fd).Bool() {
			g.say(says)
		}
	}
	lower, upper := bounds(m)
	if lower != nil || upper != nil {
		inverted := lower != nil && upper != nil &&
			instantOf(lower.value.Message()).compare(instantOf(upper.value.Message())) > 0
		g.say(rangeText(lower, upper, inverted, one))
	}
	flag("lt_now", "Must be in the past.")
	flag("gt_now", "Must be in the future.")
	if fd := fields.ByName("within"); fd != nil && m.Has(fd) {
		g.say("Must be within " + durationText(instantOf(m.Get(fd).Message())) + " of now.")
	}
	list := func(name protoreflect.Name) []string {
		return jsonList(m, name, func(v protoreflect.Value) (string, bool) { return one(v), true })
	}
	sayList(g, "Must be one of: ", list("in"))
	sayList(g, "Must not be one of: ", list("not_in"))
	g.examples = quoted(list("example"))
}

func fieldMaskRules(r *validate.FieldMaskRules, g *collector) {
	if r.Const != nil {
		g.say("Must be " + quote(maskText(r.GetConst().GetPaths())) + ".")
	}
	sayList(g, "Only these paths and paths below them: ", camels(r.GetIn()))
	sayList(g, "None of these paths nor paths below them: ", camels(r.GetNotIn()))
	for _, m := range r.GetExample() {
		g.examples = append(g.examples, quote(maskText(m.GetPaths())))
	}
}

func maskText(paths []string) string { return strings.Join(camels(paths), ",") }

// camels returns paths of fields as they are in JSON.
func camels(paths []string) []string {
	list := make([]string, 0, len(paths))
	for _, p := range paths {
		var b strings.Builder
		for i := 0; i < len(p); i++ {
			if p[i] == '_' && i+1 < len(p) && isLower(p[i+1]) {
				i++
				b.WriteByte(p[i] - 'a' + 'A')
				continue
			}
			b.WriteByte(p[i])
		}
		list = append(list, b.String())
	}
	return list
}
