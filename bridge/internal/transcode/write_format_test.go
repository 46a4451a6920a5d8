package transcode

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// TestAppendTime holds times and durations against packages time and fmt.
func TestAppendTime(t *testing.T) {
	t.Parallel()
	fraction := func(nanos int64) string {
		if nanos == 0 {
			return ""
		}
		return strings.TrimSuffix(strings.TrimSuffix(fmt.Sprintf(".%09d", nanos), "000"), "000")
	}
	check := func(seconds, nanos int64) {
		t.Helper()
		want := time.Unix(seconds, nanos).UTC().Format("2006-01-02T15:04:05") + fraction(nanos) + "Z"
		if got := appendTime([]byte("x"), seconds, nanos); string(got) != "x"+want {
			t.Fatalf("%d seconds, %d nanos: got %s, want x%s", seconds, nanos, got, want)
		}
		sign := ""
		if whole := seconds; whole < 0 {
			sign, whole = "-", -whole
			want = fmt.Sprintf("%s%d%ss", sign, whole, fraction(nanos))
			seconds, nanos = -whole, -nanos
		} else {
			want = fmt.Sprintf("%d%ss", whole, fraction(nanos))
		}
		if got := appendDuration([]byte("x"), seconds, nanos); string(got) != "x"+want {
			t.Fatalf("%d seconds, %d nanos: got %s, want x%s", seconds, nanos, got, want)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	nanos := func() int64 {
		return []int64{0, 1, 1_000, 1_000_000, 120_000_000, 999_999_999, rng.Int64N(nanosPerSecond)}[rng.IntN(7)]
	}
	// The days about the end of each February and each year, and others.
	for year := 1; year <= 9999; year++ {
		for _, month := range []time.Month{time.January, time.March} {
			first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC).Unix()
			check(first, 0)
			if first > minTimestampSeconds {
				check(first-1, 999_999_999)
			}
			check(first+rng.Int64N(secondsPerDay*300), nanos())
		}
	}
	check(minTimestampSeconds, 0)
	check(maxTimestampSeconds, 999_999_999)
	if got := string(appendDuration(nil, 0, -5e8)); got != "-0.500s" {
		t.Errorf("got %s", got)
	}
}

// TestAppendCamelPath holds paths of a FieldMask against the conversions of
// ProtoJSON.
func TestAppendCamelPath(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 3))
	good := 0
	for range 200_000 {
		path := make([]byte, rng.IntN(8))
		for i := range path {
			path[i] = "ab_.1AZ*\xff"[rng.IntN(9)]
			if rng.IntN(2) == 0 {
				path[i] = "az_."[rng.IntN(4)]
			}
		}
		s := string(path)
		camel := camelCase(s)
		want := protoreflect.FullName(s).IsValid() && snakeCase(camel) == s
		got, ok := appendCamelPath([]byte("x"), path)
		if ok != want || ok && string(got) != "x"+camel {
			t.Fatalf("%q: got %q, %t, want %q, %t", s, got, ok, camel, want)
		}
		if ok {
			good++
		}
	}
	if good < 10_000 {
		t.Errorf("only %d paths were good", good)
	}
}
