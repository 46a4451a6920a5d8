// Package blame finds out which calls end the process of a server, and refuses
// those, so that everybody else's go on.
//
// A call that was the only one under way when the process ended is to blame.
// The first time it is forgiven, because any process may end once, and nobody
// else was affected. Where several calls were under way, each of them is a
// suspect: calls of suspects are let through one at a time, until one answers,
// which clears it, or the process ends again, which convicts it. What is
// convicted is refused for a while, which doubles each time, and then tried again
// in the same way.
package blame

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	// minRefusal and maxRefusal are the times for which what is convicted is
	// refused.
	minRefusal = 5 * time.Second
	maxRefusal = 5 * time.Minute
	// forgetAfter is how long after its last offence a suspect is forgotten.
	forgetAfter = 2 * maxRefusal
	// trialTime is how long a trial keeps other suspects waiting. A process that
	// a call ends seldom takes longer.
	trialTime = 2 * time.Second
	// maxWait is how long a call waits for its trial.
	maxWait = time.Second
	// lingerTime is how long a call that its caller has cancelled counts as
	// under way.
	lingerTime = 5 * time.Second
	// manyCallers is how many callers must be convicted of the same thing for it
	// to be refused to all.
	manyCallers = 3
	// maxRecords and maxLingering bound what is remembered.
	maxRecords   = 1024
	maxLingering = 64
)

// Suspect is a kind of call: what a caller asks for.
type Suspect struct {
	// Caller tells callers apart.
	Caller string
	// Kind and Name are what is asked for: a tool, a prompt, a resource.
	Kind, Name string
}

// Tracker remembers which calls have ended a process. The zero value is ready
// for use. It is used concurrently.
type Tracker struct {
	watching atomic.Bool // whether there are records

	mu        sync.Mutex
	records   map[Suspect]*record
	trials    []*Call // under way, oldest first
	free      chan struct{}
	lingering []lingering
}

// record is what is known of a suspect.
type record struct {
	suspect  bool // was under way when the process ended
	forgiven bool // has ended the process alone, once more than offences says
	offences int
	until    time.Time // refused until then, or forgiven and counted against all callers
	last     time.Time // when the process ended last
}

type lingering struct {
	suspect Suspect
	until   time.Time
}

// Call is a call that has been let through.
type Call struct {
	tracker *Tracker
	suspect Suspect
	since   time.Time
	trial   bool
}

// Begin lets a call through, or says why not. It may wait for the trial of
// another. End must be called when the call is over.
func (t *Tracker) Begin(ctx context.Context, s Suspect) (*Call, error) {
	var timer *time.Timer
	for {
		t.mu.Lock()
		now := time.Now()
		if err := t.refused(s, now); err != nil {
			t.mu.Unlock()
			return nil, err
		}
		c := &Call{tracker: t, suspect: s, since: now}
		r := t.records[s]
		if r == nil || !r.suspect {
			t.mu.Unlock()
			return c, nil
		}
		if n := len(t.trials); n == 0 || now.Sub(t.trials[n-1].since) >= trialTime {
			c.trial = true
			t.trials = append(t.trials, c)
			t.mu.Unlock()
			return c, nil
		}
		if t.free == nil {
			t.free = make(chan struct{})
		}
		free := t.free
		t.mu.Unlock()
		if timer == nil {
			timer = time.NewTimer(maxWait)
			defer timer.Stop()
		}
		select {
		case <-free:
		case <-timer.C:
			return nil, &protocol.UpstreamError{
				Kind: protocol.UpstreamUnavailable, RetryAfter: trialTime, Unsent: true,
				Message: "the MCP server's process has ended during a request like this one; such requests are made one at a time now",
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// refused says why a call is not let through, or returns nil.
func (t *Tracker) refused(s Suspect, now time.Time) error {
	if len(t.records) == 0 {
		return nil
	}
	whose := "this caller"
	var until time.Time
	if r := t.records[s]; r != nil && r.offences > 0 {
		until = r.until
	} else {
		var others []time.Time
		for other, r := range t.records {
			if other.Kind == s.Kind && other.Name == s.Name && r.until.After(now) {
				others = append(others, r.until)
			}
		}
		if len(others) >= manyCallers {
			whose, until = "several callers", slices.MinFunc(others, time.Time.Compare)
		}
	}
	wait := until.Sub(now)
	if wait <= 0 {
		return nil
	}
	return &protocol.UpstreamError{
		Kind: protocol.UpstreamUnavailable, RetryAfter: wait, Unsent: true,
		Message: fmt.Sprintf("the MCP server's process has ended during requests for this %s by %s; they are refused for another %v", s.Kind, whose, wait.Round(100*time.Millisecond)),
	}
}

// Watching reports whether there is anybody whom Begin could refuse. Where there
// is not, calls need not begin.
func (t *Tracker) Watching() bool { return t.watching.Load() }

// Cancelled says that a caller has cancelled a call. It counts as under way for
// a little longer.
func (t *Tracker) Cancelled(s Suspect) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lingering) == maxLingering {
		t.lingering = t.lingering[1:]
	}
	t.lingering = append(t.lingering, lingering{s, time.Now().Add(lingerTime)})
}

// End says that a call is over. One that the server has answered is cleared.
func (c *Call) End(answered bool) {
	t := c.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	if answered {
		if r := t.records[c.suspect]; r != nil {
			r.suspect = false
			if r.offences == 0 && !r.forgiven {
				delete(t.records, c.suspect)
				t.watching.Store(len(t.records) > 0)
			}
		}
	}
	if c.trial {
		t.trials = slices.DeleteFunc(t.trials, func(o *Call) bool { return o == c })
		t.wake()
	}
}

func (t *Tracker) wake() {
	if t.free != nil {
		close(t.free)
		t.free = nil
	}
}

// Ended says that the process has ended while calls were under way. It reports
// whether one of them is to blame, so that it will not end again for the same
// reason at once.
func (t *Tracker) Ended(underWay []Suspect) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	defer t.forget(now)
	for _, l := range t.lingering {
		if l.until.After(now) {
			underWay = append(underWay, l.suspect)
		}
	}
	t.lingering = nil
	suspects := make(map[Suspect]struct{}, len(underWay))
	for _, s := range underWay {
		suspects[s] = struct{}{}
	}
	for _, c := range slices.Backward(t.trials) {
		if _, ok := suspects[c.suspect]; ok {
			t.convict(c.suspect, now)
			return true
		}
	}
	for s := range suspects {
		if len(suspects) == 1 {
			if t.records[s] == nil {
				t.forgive(s, now)
			} else {
				t.convict(s, now)
			}
			return true
		}
		r := t.record(s)
		r.suspect, r.last = true, now
	}
	return false
}

// forgive remembers what ended the process for the first time.
func (t *Tracker) forgive(s Suspect, now time.Time) {
	r := t.record(s)
	r.suspect, r.forgiven, r.last, r.until = true, true, now, now.Add(minRefusal)
}

// convict refuses a suspect from now on.
func (t *Tracker) convict(s Suspect, now time.Time) {
	r := t.record(s)
	refusal := maxRefusal
	if r.offences < 16 {
		refusal = min(maxRefusal, minRefusal<<r.offences)
	}
	r.offences++
	r.suspect, r.last, r.until = true, now, now.Add(refusal)
}

func (t *Tracker) record(s Suspect) *record {
	if t.records == nil {
		t.records = make(map[Suspect]*record)
	}
	r := t.records[s]
	if r == nil {
		r = &record{}
		t.records[s] = r
	}
	return r
}

// forget drops what has long behaved, and the oldest where there is too much.
func (t *Tracker) forget(now time.Time) {
	for s, r := range t.records {
		if now.Sub(r.last) >= forgetAfter {
			delete(t.records, s)
		}
	}
	if excess := len(t.records) - maxRecords; excess > 0 {
		worst := slices.SortedFunc(maps.Keys(t.records), func(a, b Suspect) int {
			x, y := t.records[a], t.records[b]
			return cmp.Or(cmp.Compare(x.offences, y.offences), x.last.Compare(y.last))
		})
		for _, s := range worst[:excess] {
			delete(t.records, s)
		}
	}
	t.watching.Store(len(t.records) > 0)
}
