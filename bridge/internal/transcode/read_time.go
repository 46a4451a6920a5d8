package transcode

import (
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

const (
	wantTimestamp = `a time such as "2026-01-31T09:30:00Z"`
	wantDuration  = `a duration in seconds such as "1.5s"`
)

// setTime sets the fields of a Timestamp or a Duration.
func setTime(m protoreflect.Message, seconds, nanos int64) {
	fields := m.Descriptor().Fields()
	m.Set(fields.ByNumber(1), protoreflect.ValueOfInt64(seconds))
	m.Set(fields.ByNumber(2), protoreflect.ValueOfInt32(int32(nanos))) //nolint:gosec // nanoseconds are below a billion
}

func (r *reader) timestamp(c *cursor, m protoreflect.Message) {
	if c.kind() != jsontok.KindString {
		r.wrong(c, "wrong type", wantTimestamp)
		return
	}
	raw := c.skip()
	s, _ := unquote(raw)
	t, err := time.Parse(time.RFC3339Nano, s)
	switch {
	case err != nil:
		r.report(Violation{Problem: timeProblem(s), Expected: wantTimestamp, Seen: describe(raw)})
		return
	case t.Unix() < minTimestampSeconds || t.Unix() > maxTimestampSeconds:
		r.report(Violation{Problem: "out of range", Expected: "a time from year 1 to 9999", Seen: describe(raw)})
		return
	case fractionDigits(s) > 9:
		r.report(Violation{Problem: "finer than a nanosecond", Expected: "at most 9 digits of a second", Seen: describe(raw)})
		return
	}
	setTime(m, t.Unix(), int64(t.Nanosecond()))
}

// fractionDigits counts the digits of the fraction of a second.
func fractionDigits(s string) int {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return 0
	}
	n := 0
	for n < len(s)-i-1 && '0' <= s[i+1+n] && s[i+1+n] <= '9' {
		n++
	}
	return n
}

// timeProblem says what is wrong with a time that cannot be read.
func timeProblem(s string) string {
	if _, err := time.Parse("2006-01-02T15:04:05", s); err == nil {
		return "the time zone is missing; append Z for UTC, or an offset such as +02:00"
	}
	if _, err := time.Parse(time.DateOnly, s); err == nil {
		return "the time of day is missing; append T00:00:00Z for midnight in UTC"
	}
	if _, err := time.Parse("2006-01-02 15:04:05Z07:00", s); err == nil {
		return "the letter T is missing between date and time"
	}
	return "not a time of RFC 3339"
}

func (r *reader) duration(c *cursor, m protoreflect.Message) {
	var text string
	switch c.kind() {
	case jsontok.KindNumber:
		text = string(c.peek())
	case jsontok.KindString:
		text, _ = unquote(c.peek())
	default:
		r.wrong(c, "wrong type", wantDuration)
		return
	}
	seconds, nanos, ok := parseDuration(strings.TrimSpace(text))
	switch {
	case !ok:
		r.wrong(c, "not a duration, or finer than a nanosecond", wantDuration)
		return
	case seconds < -maxDurationSeconds || seconds > maxDurationSeconds:
		r.wrong(c, "out of range", "at most 315576000000 seconds, about 10000 years")
		return
	}
	c.skip()
	setTime(m, seconds, nanos)
}

// parseDuration reads "1.5s", and, beyond ProtoJSON, "1.5", "1h30m" and
// "PT1H30M". ISO 8601's years and months have no fixed length and are refused.
func parseDuration(s string) (seconds, nanos int64, ok bool) {
	if isNumber(s) {
		return parseDecimal(s).nanos()
	}
	sign, body := "", s
	if body != "" && (body[0] == '-' || body[0] == '+') {
		body = body[1:]
		if s[0] == '-' {
			sign = "-"
		}
	}
	if number, found := strings.CutSuffix(body, "s"); found {
		if number, ok := fillNumber(number); ok {
			return parseDecimal(sign + number).nanos()
		}
	}
	if iso, found := strings.CutPrefix(body, "P"); found {
		seconds, nanos, ok = parseISODuration(iso)
		if sign != "" {
			seconds, nanos = -seconds, -nanos
		}
		return seconds, nanos, ok
	}
	d, err := time.ParseDuration(s)
	return int64(d / time.Second), int64(d % time.Second), err == nil
}

// fillNumber makes a number as JSON writes it of one that may begin or end
// with its decimal point, and false of anything else.
func fillNumber(s string) (string, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" && strings.Trim(s, "0123456789") != "." {
		return "", false
	}
	whole, fraction, _ := strings.Cut(s, ".")
	whole = strings.TrimLeft(whole, "0")
	return "0" + whole + "." + fraction + "0", true
}

// parseISODuration reads what follows the P: nW nD T nH nM n.nS, in this
// order.
func parseISODuration(s string) (seconds, nanos int64, ok bool) {
	units := []struct {
		letter byte
		length int64
		time   bool
	}{{'W', 7 * 86400, false}, {'D', 86400, false}, {'H', 3600, true}, {'M', 60, true}, {'S', 1, true}}
	inTime := false
	next := 0
	for s != "" {
		if s[0] == 'T' && !inTime {
			inTime = true
			s = s[1:]
			ok = false // something must follow
			continue
		}
		n := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if n <= 0 {
			return 0, 0, false
		}
		number, valid := fillNumber(s[:n])
		for next < len(units) && (units[next].letter != s[n] || units[next].time != inTime) {
			next++
		}
		if !valid || next == len(units) {
			return 0, 0, false
		}
		whole, fine, valid := parseDecimal(number).nanos()
		if !valid || fine != 0 && units[next].length != 1 {
			return 0, 0, false
		}
		seconds += whole * units[next].length
		nanos = fine
		next++
		s = s[n+1:]
		ok = true
	}
	return seconds, nanos, ok
}
