package transcode

import (
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

const (
	wantTimestamp = `a time such as "2026-01-31T09:30:00Z"`
	wantDuration  = `a duration in seconds such as "1.5s"`
)

// putTime appends the fields of a Timestamp or a Duration.
//
//nolint:gosec // negative numbers are two's complements
func (r *reader) putTime(seconds, nanos int64) {
	if seconds != 0 {
		r.out = protowire.AppendVarint(protowire.AppendTag(r.out, 1, protowire.VarintType), uint64(seconds))
	}
	if nanos != 0 {
		r.out = protowire.AppendVarint(protowire.AppendTag(r.out, 2, protowire.VarintType), uint64(nanos))
	}
}

func (r *reader) timestamp(c *cursor) {
	if c.kind() != jsontok.KindString {
		r.wrong(c, "wrong type", wantTimestamp)
		return
	}
	raw := c.skip()
	if seconds, nanos, ok := utcTime(raw[1 : len(raw)-1]); ok {
		r.putTime(seconds, nanos)
		return
	}
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
	r.putTime(t.Unix(), int64(t.Nanosecond()))
}

// utcTime reads the form that ProtoJSON writes, such as 2026-01-31T09:30:00.5Z.
// It reports false of every other one, and of days that months do not have.
func utcTime(s []byte) (seconds, nanos int64, ok bool) {
	const layout = "0000-00-00T00:00:00"
	if len(s) < len(layout)+1 || s[len(s)-1] != 'Z' {
		return 0, 0, false
	}
	for i := range len(layout) {
		if layout[i] == '0' && (s[i] < '0' || s[i] > '9') || layout[i] != '0' && s[i] != layout[i] {
			return 0, 0, false
		}
	}
	number := func(from, to int) int {
		n := 0
		for _, d := range s[from:to] {
			n = 10*n + int(d-'0')
		}
		return n
	}
	year, month, day := number(0, 4), number(5, 7), number(8, 10)
	hour, minute, second := number(11, 13), number(14, 16), number(17, 19)
	if year < 1 || month < 1 || month > 12 || day < 1 || day > 28 || hour > 23 || minute > 59 || second > 59 {
		return 0, 0, false // or one of the last days of a month
	}
	if fraction := s[len(layout) : len(s)-1]; len(fraction) > 0 {
		if fraction[0] != '.' || len(fraction) < 2 || len(fraction) > 10 {
			return 0, 0, false
		}
		for i := 1; i < 10; i++ {
			nanos *= 10
			if i < len(fraction) {
				if fraction[i] < '0' || fraction[i] > '9' {
					return 0, 0, false
				}
				nanos += int64(fraction[i] - '0')
			}
		}
	}
	return time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC).Unix(), nanos, true
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

func (r *reader) duration(c *cursor) {
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
	r.putTime(seconds, nanos)
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
