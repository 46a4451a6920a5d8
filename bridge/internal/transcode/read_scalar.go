package transcode

import (
	"bytes"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/nearest"
)

const (
	loneSurrogate = "an escaped surrogate has no partner, so it stands for no character"
	// maxExact is the largest integer up to which a double holds every one.
	maxExact = 1 << 53
)

// scalar appends a value that is no message, without its tag, and reports
// whether it is the zero value. It returns false, and has written nothing, after
// it has reported a violation.
func (r *reader) scalar(c *cursor, f *field) (zero, ok bool) {
	if r.opts.Exact {
		return r.exactScalar(c, f)
	}
	switch f.kind {
	case protoreflect.BoolKind:
		return r.boolean(c)
	case protoreflect.StringKind:
		return r.text(c)
	case protoreflect.BytesKind:
		if f.rawJSON {
			r.out = protowire.AppendBytes(r.out, jsontok.AppendCompact(nil, c.skip()))
			return false, true
		}
		return r.bytes(c, f.encoding)
	case protoreflect.EnumKind:
		return r.enum(c, f.enum)
	case protoreflect.FloatKind:
		return r.float(c, 32)
	case protoreflect.DoubleKind:
		return r.float(c, 64)
	default:
		return r.integer(c, f.kind)
	}
}

func (r *reader) boolean(c *cursor) (zero, ok bool) {
	switch c.kind() {
	case jsontok.KindBool:
		v := c.skip()[0] == 't'
		r.out = protowire.AppendVarint(r.out, protowire.EncodeBool(v))
		return !v, true
	case jsontok.KindString:
		// Python writes True.
		s, _ := unquote(c.peek())
		for _, v := range []bool{true, false} {
			if strings.EqualFold(strings.TrimSpace(s), strconv.FormatBool(v)) {
				c.skip()
				r.out = protowire.AppendVarint(r.out, protowire.EncodeBool(v))
				return !v, true
			}
		}
	}
	r.wrong(c, "wrong type", "true or false")
	return false, false
}

// plainText returns what is inside of a string without escapes.
func plainText(raw []byte) ([]byte, bool) {
	if bytes.IndexByte(raw, '\\') >= 0 {
		return nil, false
	}
	return raw[1 : len(raw)-1], true
}

func (r *reader) text(c *cursor) (zero, ok bool) {
	switch c.kind() {
	case jsontok.KindString:
		raw := c.skip()
		if s, ok := plainText(raw); ok {
			r.out = protowire.AppendBytes(r.out, s)
			return len(s) == 0, true
		}
		s, ok := unquote(raw)
		if !ok {
			r.report(Violation{Problem: loneSurrogate, Seen: describe(raw)})
			return false, false
		}
		r.out = protowire.AppendString(r.out, s)
		return s == "", true
	case jsontok.KindNumber, jsontok.KindBool:
		r.wrong(c, "wrong type", fmt.Sprintf("a string: put it in quotes, as %q", clip(string(c.peek()), maxSeenText)))
	default:
		r.wrong(c, "wrong type", "a string")
	}
	return false, false
}

func (r *reader) enum(c *cursor, e *enumPlan) (zero, ok bool) {
	values := e.desc.Values()
	var number string
	switch c.kind() {
	case jsontok.KindNull:
		if e.null {
			c.skip()
			return r.enumNumber(0), true
		}
	case jsontok.KindNumber:
		number = string(c.peek())
	case jsontok.KindString:
		raw := c.peek()
		if s, ok := plainText(raw); ok {
			if n, ok := e.numbers[string(s)]; ok {
				c.skip()
				return r.enumNumber(n), true
			}
		}
		s, ok := unquote(raw)
		if v := enumByName(e.desc, s); ok && v != nil {
			c.skip()
			return r.enumNumber(v.Number()), true
		}
		if !isNumber(s) {
			v := Violation{Problem: "no value of " + string(e.desc.FullName()), Seen: describe(c.skip()), Suggestions: nearest.Names(s, e.names(), enumPrefix(e.desc))}
			if len(v.Suggestions) == 0 || values.Len() <= maxListedNames {
				v.Expected = oneOf(e.names(), values.Len())
			}
			r.report(v)
			return false, false
		}
		number = s
	}
	want := func() string { return oneOf(e.names(), values.Len()) }
	if number == "" {
		r.wrong(c, "wrong type", want())
		return false, false
	}
	digits, whole := parseDecimal(number).integer()
	n, err := strconv.ParseInt(sign(number)+digits, 10, 32)
	switch {
	case !whole || err != nil:
		r.wrong(c, "the number is no 32-bit integer", want())
		return false, false
	case e.desc.IsClosed() && values.ByNumber(protoreflect.EnumNumber(n)) == nil:
		r.wrong(c, "the number is no value of the closed enum "+string(e.desc.FullName()), want())
		return false, false
	}
	c.skip()
	return r.enumNumber(protoreflect.EnumNumber(n)), true
}

func (r *reader) enumNumber(n protoreflect.EnumNumber) (zero bool) {
	r.out = protowire.AppendVarint(r.out, uint64(int64(n))) //nolint:gosec // negative ones are sign-extended
	return n == 0
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

func (r *reader) float(c *cursor, bits int) (zero, ok bool) {
	const want = "a number"
	var number []byte
	switch c.kind() {
	case jsontok.KindNumber:
		number = c.peek()
	case jsontok.KindString:
		s, _ := unquote(c.peek())
		s = strings.TrimSpace(s)
		if f, ok := special(s); ok {
			c.skip()
			return r.putFloat(f, bits), true
		}
		if isNumber(s) {
			number = []byte(s)
		}
	}
	if number == nil {
		r.wrong(c, "wrong type", want)
		return false, false
	}
	f, ok := exactFloat(number)
	if !ok || bits == 32 {
		var err error
		if f, err = strconv.ParseFloat(string(number), bits); err != nil {
			r.wrong(c, "out of range", fmt.Sprintf("a number that a %d-bit float can hold", bits))
			return false, false
		}
	}
	c.skip()
	return r.putFloat(f, bits), true
}

// putFloat appends a float. The negative zero is not the zero value.
func (r *reader) putFloat(f float64, bits int) (zero bool) {
	if bits == 32 {
		v := math.Float32bits(float32(f))
		r.out = protowire.AppendFixed32(r.out, v)
		return v == 0
	}
	v := math.Float64bits(f)
	r.out = protowire.AppendFixed64(r.out, v)
	return v == 0
}

// exactFloat returns a number as JSON writes it, if it has few digits and no
// exponent: then one division of two exact floats gives the nearest one.
func exactFloat(number []byte) (float64, bool) {
	const maxDigits = 15
	digits := number
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) > maxDigits+1 {
		return 0, false
	}
	var mantissa uint64
	fraction := -1 // digits of it
	for _, d := range digits {
		switch {
		case d == '.':
			fraction = 0
			continue
		case d < '0' || d > '9':
			return 0, false
		}
		mantissa = mantissa*10 + uint64(d-'0')
		if fraction >= 0 {
			fraction++
		}
	}
	f := float64(mantissa)
	if fraction > 0 {
		f /= powers[fraction]
	}
	if number[0] == '-' {
		f = -f
	}
	return f, true
}

var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

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

func (r *reader) integer(c *cursor, kind protoreflect.Kind) (zero, ok bool) {
	raw := c.peek()
	text := raw
	if raw[0] == '"' {
		text = raw[1 : len(raw)-1]
	}
	v, ok := shortInteger(kind, text)
	if !ok {
		if v, ok = r.longInteger(c, kind); !ok {
			return false, false
		}
	}
	c.skip()
	r.out = appendInteger(r.out, kind, v)
	return v == 0, true
}

// shortInteger returns an integer of few digits and nothing else, if it is of
// the kind, as 64 bits.
func shortInteger(kind protoreflect.Kind, text []byte) (uint64, bool) {
	const maxDigits = 18
	digits, negative := text, false
	if len(digits) > 0 && digits[0] == '-' {
		digits, negative = digits[1:], true
	}
	if len(digits) == 0 || len(digits) > maxDigits || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	n := int64(0)
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, false
		}
		n = n*10 + int64(d-'0')
	}
	if negative {
		n = -n
	}
	switch kind {
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return uint64(n), n == int64(int32(n))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return uint64(n), n == int64(uint32(n))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return uint64(n), n >= 0
	default:
		return uint64(n), true
	}
}

// longInteger returns any integer that is of the kind, and does not pass it. It
// returns false after it has reported a violation.
func (r *reader) longInteger(c *cursor, kind protoreflect.Kind) (uint64, bool) {
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
		return 0, false
	}
	d := parseDecimal(number)
	digits, whole := d.integer()
	if !whole {
		r.wrong(c, "not a whole number", want)
		return 0, false
	}
	v, err := integerValue(kind, d.negative && digits != "0", digits)
	if err != nil {
		r.wrong(c, "out of range", want)
		return 0, false
	}
	if !quoted && strings.ContainsAny(number, ".eE") {
		// Numbers of this form went through a double, or are going to.
		if n, err := strconv.ParseUint(digits, 10, 64); err != nil || n > maxExact {
			r.wrong(c, "integers above 2^53 lose digits in this form", `all digits in quotes, such as "9007199254740993"`)
			return 0, false
		}
	}
	return v, true
}

// integerValue returns the value of an integer kind as 64 bits. Digits that
// are empty are too many.
//
//nolint:gosec // negative numbers are two's complements
func integerValue(kind protoreflect.Kind, negative bool, digits string) (uint64, error) {
	if negative {
		digits = "-" + digits
	}
	switch kind {
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		n, err := strconv.ParseInt(digits, 10, 32)
		return uint64(n), err
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return strconv.ParseUint(digits, 10, 32)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return strconv.ParseUint(digits, 10, 64)
	default:
		n, err := strconv.ParseInt(digits, 10, 64)
		return uint64(n), err
	}
}

// appendInteger appends a value of an integer kind, or a boolean, that is
// given as 64 bits.
//
//nolint:gosec // the value is known to be of the kind
func appendInteger(dst []byte, kind protoreflect.Kind, v uint64) []byte {
	switch kind {
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return protowire.AppendVarint(dst, protowire.EncodeZigZag(int64(v)))
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return protowire.AppendFixed32(dst, uint32(v))
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return protowire.AppendFixed64(dst, v)
	default:
		return protowire.AppendVarint(dst, v)
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
