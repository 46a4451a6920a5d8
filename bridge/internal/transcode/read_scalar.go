package transcode

import (
	"encoding/base64"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

const (
	loneSurrogate = "an escaped surrogate has no partner, so it stands for no character"
	// maxExact is the largest integer up to which a double holds every one.
	maxExact = 1 << 53
)

// scalar reads a value that is no message. It reports false after it has
// reported a violation.
func (r *reader) scalar(c *cursor, fd protoreflect.FieldDescriptor) (protoreflect.Value, bool) {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return r.boolean(c)
	case protoreflect.StringKind:
		return r.text(c)
	case protoreflect.BytesKind:
		return r.bytes(c)
	case protoreflect.EnumKind:
		return r.enum(c, fd)
	case protoreflect.FloatKind:
		return r.float(c, 32)
	case protoreflect.DoubleKind:
		return r.float(c, 64)
	default:
		return r.integer(c, fd)
	}
}

func (r *reader) boolean(c *cursor) (protoreflect.Value, bool) {
	switch c.kind() {
	case jsontok.KindBool:
		return protoreflect.ValueOfBool(c.skip()[0] == 't'), true
	case jsontok.KindString:
		// Python writes True.
		s, _ := unquote(c.peek())
		for _, b := range []bool{true, false} {
			if strings.EqualFold(strings.TrimSpace(s), strconv.FormatBool(b)) {
				c.skip()
				return protoreflect.ValueOfBool(b), true
			}
		}
	}
	r.wrong(c, "wrong type", "true or false")
	return protoreflect.Value{}, false
}

func (r *reader) text(c *cursor) (protoreflect.Value, bool) {
	switch c.kind() {
	case jsontok.KindString:
		raw := c.skip()
		s, ok := unquote(raw)
		if !ok {
			r.report(Violation{Problem: loneSurrogate, Seen: describe(raw)})
		}
		return protoreflect.ValueOfString(s), ok
	case jsontok.KindNumber, jsontok.KindBool:
		r.wrong(c, "wrong type", fmt.Sprintf("a string: put it in quotes, as %q", clip(string(c.peek()), maxSeenText)))
	default:
		r.wrong(c, "wrong type", "a string")
	}
	return protoreflect.Value{}, false
}

func (r *reader) bytes(c *cursor) (protoreflect.Value, bool) {
	const want = "a string in base64"
	if c.kind() != jsontok.KindString {
		r.wrong(c, "wrong type", want)
		return protoreflect.Value{}, false
	}
	raw := c.skip()
	s, ok := unquote(raw)
	if ok {
		var b []byte
		if b, ok = decodeBase64(s); ok {
			return protoreflect.ValueOfBytes(b), true
		}
	}
	r.report(Violation{Problem: "not base64", Expected: want, Seen: describe(raw)})
	return protoreflect.Value{}, false
}

// decodeBase64 accepts both alphabets, with and without padding.
func decodeBase64(s string) ([]byte, bool) {
	s = strings.TrimRight(strings.NewReplacer("\r", "", "\n", "").Replace(s), "=")
	enc := base64.RawStdEncoding
	if strings.ContainsAny(s, "-_") {
		enc = base64.RawURLEncoding
	}
	b, err := enc.DecodeString(s)
	return b, err == nil
}

func (r *reader) enum(c *cursor, fd protoreflect.FieldDescriptor) (protoreflect.Value, bool) {
	ed := fd.Enum()
	values := ed.Values()
	want := oneOf(valueNames(values), values.Len())
	var number string
	switch c.kind() {
	case jsontok.KindNull:
		if isNullEnum(fd) {
			c.skip()
			return protoreflect.ValueOfEnum(0), true
		}
	case jsontok.KindNumber:
		number = string(c.peek())
	case jsontok.KindString:
		s, ok := unquote(c.peek())
		if v := enumByName(ed, s); ok && v != nil {
			c.skip()
			return protoreflect.ValueOfEnum(v.Number()), true
		}
		if !isNumber(s) {
			v := Violation{Problem: "no value of " + string(ed.FullName()), Seen: describe(c.skip()), Suggestions: nearest(s, valueNames(values), enumPrefix(ed))}
			if len(v.Suggestions) == 0 || values.Len() <= maxListedNames {
				v.Expected = want
			}
			r.report(v)
			return protoreflect.Value{}, false
		}
		number = s
	}
	if number == "" {
		r.wrong(c, "wrong type", want)
		return protoreflect.Value{}, false
	}
	digits, whole := parseDecimal(number).integer()
	n, err := strconv.ParseInt(sign(number)+digits, 10, 32)
	switch {
	case !whole || err != nil:
		r.wrong(c, "the number is no 32-bit integer", want)
		return protoreflect.Value{}, false
	case ed.IsClosed() && values.ByNumber(protoreflect.EnumNumber(n)) == nil:
		r.wrong(c, "the number is no value of the closed enum "+string(ed.FullName()), want)
		return protoreflect.Value{}, false
	}
	c.skip()
	return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n)), true
}

func sign(number string) string {
	if strings.HasPrefix(number, "-") {
		return "-"
	}
	return ""
}

// enumByName returns the value of that name, in any case and without the
// prefix that the enum's name is, or nil if there is none or more than one.
func enumByName(ed protoreflect.EnumDescriptor, s string) protoreflect.EnumValueDescriptor {
	values := ed.Values()
	if v := values.ByName(protoreflect.Name(s)); v != nil {
		return v
	}
	prefix := enumPrefix(ed)
	var found protoreflect.EnumValueDescriptor
	for i := range values.Len() {
		v := values.Get(i)
		name := string(v.Name())
		if !strings.EqualFold(name, s) && (len(name) <= len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) || !strings.EqualFold(name[len(prefix):], s)) {
			continue
		}
		if found != nil && found.Number() != v.Number() {
			return nil
		}
		found = v
	}
	return found
}

// enumPrefix returns the prefix that the style guide gives the values of an
// enum: BOOK_KIND_ for BookKind.
func enumPrefix(ed protoreflect.EnumDescriptor) string {
	var b strings.Builder
	name := string(ed.Name())
	for i := range len(name) {
		upper := 'A' <= name[i] && name[i] <= 'Z'
		if upper && i > 0 && name[i-1] != '_' &&
			(name[i-1] < 'A' || name[i-1] > 'Z' || i+1 < len(name) && 'a' <= name[i+1] && name[i+1] <= 'z') {
			b.WriteByte('_')
		}
		b.WriteByte(name[i])
	}
	return strings.ToUpper(b.String()) + "_"
}

func valueNames(values protoreflect.EnumValueDescriptors) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range values.Len() {
			if !yield(string(values.Get(i).Name())) {
				return
			}
		}
	}
}

func (r *reader) float(c *cursor, bits int) (protoreflect.Value, bool) {
	const want = "a number"
	number := ""
	switch c.kind() {
	case jsontok.KindNumber:
		number = string(c.peek())
	case jsontok.KindString:
		s, _ := unquote(c.peek())
		s = strings.TrimSpace(s)
		if f, ok := special(s); ok {
			c.skip()
			return floatValue(f, bits), true
		}
		if isNumber(s) {
			number = s
		}
	}
	if number == "" {
		r.wrong(c, "wrong type", want)
		return protoreflect.Value{}, false
	}
	f, err := strconv.ParseFloat(number, bits)
	if err != nil {
		r.wrong(c, "out of range", fmt.Sprintf("a number that a %d-bit float can hold", bits))
		return protoreflect.Value{}, false
	}
	c.skip()
	return floatValue(f, bits), true
}

func floatValue(f float64, bits int) protoreflect.Value {
	if bits == 32 {
		return protoreflect.ValueOfFloat32(float32(f))
	}
	return protoreflect.ValueOfFloat64(f)
}

// special returns the floats that JSON has no numbers for.
func special(s string) (float64, bool) {
	switch strings.ToLower(s) {
	case "nan":
		return math.NaN(), true
	case "infinity", "inf", "+infinity", "+inf":
		return math.Inf(1), true
	case "-infinity", "-inf":
		return math.Inf(-1), true
	default:
		return 0, false
	}
}

func (r *reader) integer(c *cursor, fd protoreflect.FieldDescriptor) (protoreflect.Value, bool) {
	kind := fd.Kind()
	want := integerRange(kind)
	number, quoted := "", false
	switch c.kind() {
	case jsontok.KindNumber:
		number = string(c.peek())
	case jsontok.KindString:
		s, _ := unquote(c.peek())
		if s = strings.TrimSpace(s); isNumber(s) {
			number, quoted = s, true
		}
	}
	if number == "" {
		r.wrong(c, "wrong type", want)
		return protoreflect.Value{}, false
	}
	d := parseDecimal(number)
	digits, whole := d.integer()
	if !whole {
		r.wrong(c, "not a whole number", want)
		return protoreflect.Value{}, false
	}
	v, err := integerValue(kind, d.negative && digits != "0", digits)
	if err != nil {
		r.wrong(c, "out of range", want)
		return protoreflect.Value{}, false
	}
	if !quoted && strings.ContainsAny(number, ".eE") {
		// Numbers of this form went through a double, or are going to.
		if n, err := strconv.ParseUint(digits, 10, 64); err != nil || n > maxExact {
			r.wrong(c, "integers above 2^53 lose digits in this form", `all digits in quotes, such as "9007199254740993"`)
			return protoreflect.Value{}, false
		}
	}
	c.skip()
	return v, true
}

// integerValue returns the value of an integer kind. Digits that are empty
// are too many.
func integerValue(kind protoreflect.Kind, negative bool, digits string) (protoreflect.Value, error) {
	if negative {
		digits = "-" + digits
	}
	switch kind {
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		n, err := strconv.ParseInt(digits, 10, 32)
		return protoreflect.ValueOfInt32(int32(n)), err
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		n, err := strconv.ParseUint(digits, 10, 32)
		return protoreflect.ValueOfUint32(uint32(n)), err
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		n, err := strconv.ParseUint(digits, 10, 64)
		return protoreflect.ValueOfUint64(n), err
	default:
		n, err := strconv.ParseInt(digits, 10, 64)
		return protoreflect.ValueOfInt64(n), err
	}
}

func integerRange(kind protoreflect.Kind) string {
	switch kind {
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return fmt.Sprintf("an integer from %d to %d", math.MinInt32, math.MaxInt32)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return fmt.Sprintf("an integer from 0 to %d", uint32(math.MaxUint32))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return fmt.Sprintf("an integer from 0 to %d", uint64(math.MaxUint64))
	default:
		return fmt.Sprintf("an integer from %d to %d", math.MinInt64, math.MaxInt64)
	}
}
