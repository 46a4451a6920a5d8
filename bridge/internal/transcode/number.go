package transcode

import (
	"strconv"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// decimal is a number taken apart: digits, which neither begin nor end with a
// zero and are empty for zero, times ten to the power of exp.
type decimal struct {
	negative bool
	digits   string
	exp      int64
}

// isNumber reports whether s is a number as JSON writes it.
func isNumber(s string) bool {
	return jsontok.KindOf([]byte(clip(s, 1))) == jsontok.KindNumber && jsontok.Valid([]byte(s), jsontok.Limits{}) == nil
}

// parseDecimal takes apart a number as JSON writes it.
func parseDecimal(s string) decimal {
	var d decimal
	s, d.negative = strings.CutPrefix(s, "-")
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exp, err := strconv.ParseInt(s[i+1:], 10, 64)
		// Exponents that fit no type all mean the same.
		const most = 1 << 40
		if err != nil && strings.HasPrefix(s[i+1:], "-") || exp < -most {
			exp = -most
		} else if err != nil || exp > most {
			exp = most
		}
		d.exp = exp
		s = s[:i]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	d.exp -= int64(len(fraction))
	digits := strings.TrimLeft(whole+fraction, "0")
	d.digits = strings.TrimRight(digits, "0")
	d.exp += int64(len(digits) - len(d.digits))
	if d.digits == "" {
		d.exp = 0
	}
	return d
}

// integer returns the digits of the number without its sign. It reports
// whether the number is whole; where it has more than 20 digits, none are
// returned.
func (d decimal) integer() (digits string, whole bool) {
	switch {
	case d.digits == "":
		return "0", true
	case d.exp < 0:
		return "", false
	case int64(len(d.digits))+d.exp > 20:
		return "", true
	}
	return d.digits + strings.Repeat("0", int(d.exp)), true
}

// nanos returns the number as whole and billionth parts, and false if it is
// finer than that or too large for a Duration.
func (d decimal) nanos() (whole, nanos int64, ok bool) {
	if d.digits == "" {
		return 0, 0, true
	}
	if d.exp < -9 || int64(len(d.digits))+d.exp > 12 {
		return 0, 0, false
	}
	s := d.digits + strings.Repeat("0", int(d.exp+9))
	if len(s) < 10 {
		s = strings.Repeat("0", 10-len(s)) + s
	}
	whole, err := strconv.ParseInt(s[:len(s)-9], 10, 64)
	if err != nil {
		return 0, 0, false
	}
	nanos, err = strconv.ParseInt(s[len(s)-9:], 10, 64)
	if err != nil {
		return 0, 0, false
	}
	if d.negative {
		whole, nanos = -whole, -nanos
	}
	return whole, nanos, true
}
