package transcode

import (
	"strconv"
)

const (
	secondsPerDay = 24 * 60 * 60
	daysPerEra    = 146097 // of 400 years, after which the calendar repeats
	// daysBefore1970 are those since March 1st of the year zero, where eras
	// begin.
	daysBefore1970 = 719468
)

// appendTime appends a time that is in the range of a Timestamp, without
// quotes.
func appendTime(dst []byte, seconds, nanos int64) []byte {
	days := seconds / secondsPerDay
	if seconds %= secondsPerDay; seconds < 0 {
		seconds += secondsPerDay
		days--
	}
	// Years begin in March here, so that the leap day is their last. No
	// Timestamp is before the year zero.
	days += daysBefore1970
	era, day := days/daysPerEra, days%daysPerEra
	year := (day - day/1460 + day/36524 - day/146096) / 365
	day -= 365*year + year/4 - year/100
	month := (5*day + 2) / 153
	day -= (153*month + 2) / 5
	year += 400 * era
	if month += 3; month > 12 {
		month -= 12
		year++
	}
	dst = appendTwo(dst, year/100)
	dst = appendTwo(dst, year%100)
	dst = appendTwo(append(dst, '-'), month)
	dst = appendTwo(append(dst, '-'), day+1)
	dst = appendTwo(append(dst, 'T'), seconds/3600)
	dst = appendTwo(append(dst, ':'), seconds/60%60)
	dst = appendTwo(append(dst, ':'), seconds%60)
	return append(appendFraction(dst, nanos), 'Z')
}

func appendTwo(dst []byte, n int64) []byte {
	return append(dst, byte('0'+n/10), byte('0'+n%10)) //nolint:gosec // less than 100
}

// appendDuration appends a duration that is in range, without quotes.
func appendDuration(dst []byte, seconds, nanos int64) []byte {
	if seconds < 0 || nanos < 0 {
		dst = append(dst, '-')
		seconds, nanos = -seconds, -nanos
	}
	dst = strconv.AppendInt(dst, seconds, 10)
	return append(appendFraction(dst, nanos), 's')
}

// appendFraction appends the fraction of a second with 0, 3, 6 or 9 digits.
func appendFraction(dst []byte, nanos int64) []byte {
	if nanos == 0 {
		return dst
	}
	digits := 9
	for nanos%1000 == 0 {
		nanos /= 1000
		digits -= 3
	}
	var text [10]byte
	text[0] = '.'
	for i := digits; i > 0; i-- {
		text[i] = byte('0' + nanos%10)
		nanos /= 10
	}
	return append(dst, text[:digits+1]...)
}
