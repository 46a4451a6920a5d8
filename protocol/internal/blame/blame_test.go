package blame_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/blame"
)

var (
	bad  = blame.Suspect{Caller: "mallory", Kind: "tool", Name: "die"}
	good = blame.Suspect{Caller: "alice", Kind: "tool", Name: "echo"}
	also = blame.Suspect{Caller: "bob", Kind: "tool", Name: "echo"}
)

func begin(t *testing.T, tracker *blame.Tracker, s blame.Suspect) *blame.Call {
	t.Helper()
	c, err := tracker.Begin(t.Context(), s)
	if err != nil {
		t.Fatalf("%v is refused: %v", s, err)
	}
	return c
}

func refused(t *testing.T, tracker *blame.Tracker, s blame.Suspect, want string, after time.Duration) {
	t.Helper()
	_, err := tracker.Begin(t.Context(), s)
	fault, ok := errors.AsType[*protocol.UpstreamError](err)
	if !ok || fault.Message != want || fault.RetryAfter != after || !fault.Unsent {
		t.Fatalf("%v: error %v after %v, want %q after %v", s, err, fault.RetryAfter, want, after)
	}
}

// TestOnlyCall: a call that is alone is to blame. It is forgiven once, and then
// refused for longer each time; an answer ends the suspicion.
func TestOnlyCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tracker blame.Tracker
		c := begin(t, &tracker, bad)
		if !tracker.Ended([]blame.Suspect{bad}) {
			t.Error("nobody is to blame")
		}
		c.End(false)
		begin(t, &tracker, bad).End(true) // which does not make it new
		for _, refusal := range []time.Duration{5, 10, 20, 40, 80, 160, 300, 300} {
			c := begin(t, &tracker, bad)
			if !tracker.Ended([]blame.Suspect{bad}) {
				t.Error("nobody is to blame")
			}
			c.End(false)
			refused(t, &tracker, bad, fmt.Sprintf("the MCP server's process has ended during requests for this tool by this caller; they are refused for another %v", refusal*time.Second), refusal*time.Second)
			begin(t, &tracker, good).End(true)
			begin(t, &tracker, blame.Suspect{Caller: "alice", Kind: "tool", Name: "die"}).End(true)
			<-time.After(refusal * time.Second)
		}
		begin(t, &tracker, bad).End(true)
		one, two := begin(t, &tracker, bad), begin(t, &tracker, bad) // together again
		one.End(true)
		two.End(true)
		// Long behaviour is rewarded.
		<-time.After(time.Hour)
		begin(t, &tracker, bad)
		tracker.Ended([]blame.Suspect{bad})
		_, err := tracker.Begin(t.Context(), bad)
		if fault, _ := errors.AsType[*protocol.UpstreamError](err); fault == nil || fault.RetryAfter > 300*time.Second {
			t.Errorf("error %v", err)
		}
	})
}

// TestSeveralCalls: of several, the one that ends the process again is convicted,
// and those that answer are free.
func TestSeveralCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tracker blame.Tracker
		calls := []*blame.Call{begin(t, &tracker, good), begin(t, &tracker, bad), begin(t, &tracker, also)}
		if tracker.Ended([]blame.Suspect{good, bad, also}) {
			t.Error("somebody is to blame of three")
		}
		for _, c := range calls {
			c.End(false)
		}
		// Others are not concerned.
		other := begin(t, &tracker, blame.Suspect{Caller: "carol", Kind: "tool", Name: "echo"})
		first := begin(t, &tracker, good)
		second := make(chan *blame.Call)
		go func() { second <- begin(t, &tracker, bad) }()
		synctest.Wait()
		select {
		case <-second:
			t.Fatal("two suspects at a time")
		default:
		}
		first.End(true)
		trial := <-second
		begin(t, &tracker, good) // it is free
		if !tracker.Ended([]blame.Suspect{bad, good, {Caller: "carol", Kind: "tool", Name: "echo"}}) {
			t.Error("nobody is to blame")
		}
		trial.End(false)
		other.End(false)
		refused(t, &tracker, bad, "the MCP server's process has ended during requests for this tool by this caller; they are refused for another 5s", 5*time.Second)
		begin(t, &tracker, good).End(true)
		begin(t, &tracker, also).End(true)
	})
}

// TestSlowTrial: a trial that takes long does not keep the others for ever.
func TestSlowTrial(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tracker blame.Tracker
		tracker.Ended([]blame.Suspect{good, bad})
		slow := begin(t, &tracker, good)
		refused(t, &tracker, bad, "the MCP server's process has ended during a request like this one; such requests are made one at a time now", 2*time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := tracker.Begin(ctx, bad); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		<-time.After(time.Second)
		trial := begin(t, &tracker, bad)
		if !tracker.Ended([]blame.Suspect{good, bad}) { // the most recent one
			t.Error("nobody is to blame")
		}
		trial.End(false)
		slow.End(false)
		begin(t, &tracker, good).End(true)
		if _, err := tracker.Begin(t.Context(), bad); err == nil {
			t.Error("what has ended the process is let through")
		}
	})
}

// TestCancelled: who leaves before the process ends is a suspect all the same.
func TestCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tracker blame.Tracker
		tracker.Cancelled(bad)
		<-time.After(time.Second)
		if !tracker.Ended(nil) {
			t.Error("nobody is to blame")
		}
		begin(t, &tracker, bad).End(false)
		tracker.Cancelled(bad)
		if !tracker.Ended(nil) {
			t.Error("nobody is to blame")
		}
		if _, err := tracker.Begin(t.Context(), bad); err == nil {
			t.Error("what has ended the process is let through")
		}
		tracker.Cancelled(good)
		<-time.After(10 * time.Second)
		if tracker.Ended(nil) {
			t.Error("a call that is long over is to blame")
		}
	})
}

// TestManyCallers: what ends the process for several callers is refused to all.
func TestManyCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tracker blame.Tracker
		for i := range 3 {
			s := blame.Suspect{Caller: fmt.Sprint(i), Kind: "tool", Name: "die"}
			begin(t, &tracker, s).End(false)
			tracker.Ended([]blame.Suspect{s})
		}
		_, err := tracker.Begin(t.Context(), bad)
		if err == nil || !strings.Contains(err.Error(), "for this tool by several callers") {
			t.Errorf("error %v", err)
		}
		begin(t, &tracker, good).End(true)
	})
}

// TestBounded: an attacker with many names fills no memory.
func TestBounded(t *testing.T) {
	t.Parallel()
	var tracker blame.Tracker
	var many []blame.Suspect
	for i := range 3000 {
		many = append(many, blame.Suspect{Caller: fmt.Sprint(i), Kind: "tool", Name: "die"})
	}
	for range 2 {
		tracker.Ended([]blame.Suspect{bad})
	}
	tracker.Ended(many)
	if n := tracker.Len(); n > 1024 {
		t.Errorf("%d records", n)
	}
	if _, err := tracker.Begin(t.Context(), bad); err == nil {
		t.Error("what is convicted was forgotten first")
	}
}
