package main

import (
	"fmt"
	"slices"
	"time"
)

// median returns the middle of values, or the mean of the two in the middle.
// There must be one at least.
func median(values []float64) float64 {
	values = slices.Clone(values)
	slices.Sort(values)
	n := len(values)
	return (values[n/2] + values[(n-1)/2]) / 2
}

// medianOf returns the median of a property of samples.
func medianOf(samples []sample, of func(sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	return median(values)
}

// ratio returns the median over the rounds of the ratio, within a round, of a
// property of a to that of b.
func ratio(a, b []sample, of func(sample) float64) float64 {
	values := make([]float64, len(a))
	for i := range a {
		values[i] = of(a[i]) / of(b[i])
	}
	return median(values)
}

func cpuOf(s sample) float64  { return float64(s.cpu) }
func rateOf(s sample) float64 { return s.rate }
func p50Of(s sample) float64  { return float64(s.p50) }
func p99Of(s sample) float64  { return float64(s.p99) }

func times(x float64) string { return fmt.Sprintf("%.2f", x) }

func micros(ns float64) string {
	return fmt.Sprintf("%d", time.Duration(ns).Round(time.Microsecond).Microseconds())
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/(1<<20)) }
