package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	benchv1 "github.com/mcp-bridge/mcp-bridge/gen/bench/v1"
)

func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) == "" {
		os.Exit(m.Run())
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := play(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// linux skips a test that needs the accounts of other processes.
func linux(tb testing.TB) {
	tb.Helper()
	if _, err := cpuTime(os.Getpid()); errors.Is(err, errors.ErrUnsupported) {
		tb.Skip(err)
	}
}

// Everything that the harness measures can be measured, and every answer is the
// right one.
func TestSmall(t *testing.T) {
	t.Parallel()
	linux(t)
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{
			"all", []string{"-small", "-clients", "16"},
			[]string{
				"revision  Echo  Medium  Large  Fetch\n", "\n16, 2026-07-28 ", "\ngoal ", "p99 of a call's time, as", "\nFetch, 16, floor ",
				"\nLarge ", " objects, ", "100 methods, by reflection ", "a bare JSON-RPC proxy's", "tools/list of 100 tools, steady ", " goroutines ",
			},
		},
		{
			"one", []string{"-small", "-part", "calls", "-clients", "2", "-work", "Medium", "-revision", modern, "-calls", "20", "-bridge-env", "GOGC=400", "-markdown"},
			[]string{"| clients at once, revision | Medium |\n|---|--:|\n| 2, 2026-07-28 | ", "| goal | 0.50 |\n"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o, err := parseOptions(tt.args, t.Output())
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := o.measure(t.Context(), &out, t.Output()); err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the output lacks %q:\n%s", want, out.String())
				}
			}
		})
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	_, err := parseOptions([]string{
		"-clients", "1,none", "-work", "Echo,Tiny", "-revision", "2020-01-01", "-part", "all", "-rounds", "0", "rest",
	}, t.Output())
	want := strings.Join([]string{
		`-clients "none" is not a number of clients`,
		`-work "Tiny" is no kind of call`,
		`-revision "2020-01-01" is not measured`,
		`-part "all" does not exist`,
		`-rounds 0 and -calls 0 are too few`,
		`there are arguments: ["rest"]`,
	}, "\n")
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// The sizes are those that the tables are about.
func TestWorks(t *testing.T) {
	t.Parallel()
	all, err := works()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]int{"Echo": {80, 90}, "Medium": {1500, 1900}, "Large": {180_000, 210_000}, "Fetch": {80, 90}}
	for _, w := range all {
		if n := len(w.arguments); n < want[w.name][0] || n > want[w.name][1] {
			t.Errorf("the arguments of %s have %d bytes, want %v", w.name, n, want[w.name])
		}
	}
}

// An answer is checked in full, also after one that was right.
func TestCheck(t *testing.T) {
	t.Parallel()
	w := &work{name: "Echo", want: &benchv1.EchoResponse{Text: "a", Count: 2}}
	for _, tt := range []struct{ name, body, want string }{
		{"right", `{"jsonrpc":"2.0","id":1000007,"result":{"content":[{"type":"text","text":"{\"text\":\"a\",\"count\":2}"}],"structuredContent":{"count":2,"text":"a"}}}`, ""},
		{"id", `{"jsonrpc":"2.0","id":1000008,"result":{}}`, "does not have id 1000007"},
		{"id elsewhere", `{"jsonrpc":"2.0","id":1,"result":{"x":1000007}}`, "id 1 of version"},
		{"error", `{"jsonrpc":"2.0","id":1000007,"error":{"code":1}}`, "the call failed"},
		{"isError", `{"jsonrpc":"2.0","id":1000007,"result":{"isError":true}}`, "the call failed"},
		{"no text", `{"jsonrpc":"2.0","id":1000007,"result":{"structuredContent":{"count":2,"text":"a"}}}`, "0 blocks of content"},
		{"structured", `{"jsonrpc":"2.0","id":1000007,"result":{"content":[{"type":"text","text":"{\"text\":\"a\",\"count\":2}"}],"structuredContent":{"count":3,"text":"a"}}}`, "structuredContent: the value is not the expected one"},
		{"text", `{"jsonrpc":"2.0","id":1000007,"result":{"content":[{"type":"text","text":"{\"count\":2}"}],"structuredContent":{"count":2,"text":"a"}}}`, "text: the value is not the expected one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &client{lastID: 7}
			c.body.WriteString(tt.body)
			k := &checker{work: w}
			for range 2 {
				err := c.check(k)
				if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("got %v, want %q", err, tt.want)
				}
			}
		})
	}
}

func TestRatio(t *testing.T) {
	t.Parallel()
	a := []sample{{cpu: 10}, {cpu: 40}, {cpu: 9}}
	b := []sample{{cpu: 20}, {cpu: 40}, {cpu: 30}}
	if got := ratio(a, b, cpuOf); got != .5 {
		t.Errorf("the median of the ratios is %v, want .5", got)
	}
	if got := median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("the median is %v, want 2.5", got)
	}
}

// BenchmarkCall makes one call after the other of the floor and of the bridge.
// Its time is that of a call; cpu-ns/op is what the server had of it on a CPU,
// and objects/op what it allocated.
func BenchmarkCall(b *testing.B) {
	linux(b)
	all, err := works()
	if err != nil {
		b.Fatal(err)
	}
	bed, err := (&options{bridge: "not used"}).newBed(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := bed.close(); err != nil {
			b.Error(err)
		}
	})
	for _, role := range []string{roleFloor, roleLibrary} {
		p, err := bed.role(b.Context(), role, bed.backend.line)
		if err != nil {
			b.Fatal(err)
		}
		for i := range all {
			b.Run(role+"/"+all[i].name, func(b *testing.B) { benchmarkCall(b, p, &all[i]) })
		}
	}
}

func benchmarkCall(b *testing.B, p *process, w *work) {
	s, err := newSide(b.Context(), p.name, p, legacy, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := s.close(); err != nil {
			b.Error(err)
		}
	}()
	k := &checker{work: w}
	if _, err := s.turn(k, 1, w.calls/10); err != nil {
		b.Fatal(err)
	}
	objects, err := allocated(b.Context(), p)
	if err != nil {
		b.Fatal(err)
	}
	cpu, err := cpuTime(p.pid())
	if err != nil {
		b.Fatal(err)
	}
	c := s.clients[0]
	for b.Loop() {
		c.prepare(w)
		if err := errors.Join(c.call(w), c.check(k)); err != nil {
			b.Fatal(err)
		}
	}
	cpuAfter, err := cpuTime(p.pid())
	if err != nil {
		b.Fatal(err)
	}
	objectsAfter, err := allocated(b.Context(), p)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(cpuAfter-cpu)/float64(time.Duration(b.N)), "cpu-ns/op")
	b.ReportMetric((objectsAfter.Objects-objects.Objects)/float64(b.N), "objects/op")
}
