package mcptask_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/mcptask"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// TestWatch: a task is looked at when it is told of and at its own interval, told
// of when it has changed, and forgotten once it has ended.
func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var (
			status   = mcptask.Working
			fault    error
			wake     func()
			detached = 0
			told     []string
			begun    = time.Now()
		)
		subject := mcptask.Subject{
			Look: func(context.Context) (json.RawMessage, error) {
				return json.RawMessage(`{"taskId":"a","status":"` + status + `","pollIntervalMs":2000}`), fault
			},
			Attach: func(f func()) func() {
				wake = f
				return func() { detached++ }
			},
		}
		r := &protocol.Request{Meta: protocol.Meta{Capabilities: json.RawMessage(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)}}
		w, bad := mcptask.NewWatch(r, json.RawMessage(`{"taskIds":["a","a","b"]}`), func(id string) (mcptask.Subject, bool) { return subject, id == "a" })
		if bad != nil || string(w.IDs()) != `["a"]` {
			t.Fatalf("%s, %v", w.IDs(), bad)
		}
		defer w.Stop()
		look := func() {
			<-w.Due()
			err := w.Look(t.Context(), protocol.NotifierFunc(func(_ context.Context, n *protocol.Notification) error {
				told = append(told, fmt.Sprint(time.Since(begun), " ", mcptask.ReadExtension(n.Params).Status))
				return nil
			}))
			if err != nil {
				t.Error(err)
			}
		}
		look() // at once
		look() // after two seconds, without a change
		fault = fmt.Errorf("down: %w", mcptask.ErrAway)
		look() // after four
		fault = nil
		status = mcptask.InputRequired
		wake()
		look() // still after four
		status = mcptask.Completed
		look()
		if got, want := fmt.Sprint(told), "[0s working 4s input_required 6s completed]"; got != want || detached != 1 {
			t.Errorf("told %s, detached %d times; want %s", got, detached, want)
		}
		select {
		case <-w.Due():
			t.Error("a task that has ended is looked at")
		case <-time.After(time.Hour):
		}
	})
}

// TestWatchSubject: a subject says what a change is, and how seldom it may be
// looked at.
func TestWatchSubject(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		asked string        // the task's own interval, in milliseconds
		most  time.Duration // the subject's
		want  time.Duration // until the second look
	}{
		{"1", 0, mcptask.MinPoll},
		{"2000", 0, 2 * time.Second},
		{"20000", 0, mcptask.MaxPoll},
		{"20000", 30 * time.Second, 20 * time.Second},
		{"40000", 30 * time.Second, 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			var looks []time.Duration
			begun := time.Now()
			subject := mcptask.Subject{
				Look: func(context.Context) (json.RawMessage, error) {
					looks = append(looks, time.Since(begun))
					return fmt.Appendf(nil, `{"status":"working","lastUpdatedAt":%d,"pollIntervalMs":%s}`, len(looks), tt.asked), nil
				},
				Same: func(before, now json.RawMessage) bool {
					return mcptask.ReadExtension(before).Status == mcptask.ReadExtension(now).Status
				},
				MaxPoll: tt.most,
			}
			r := &protocol.Request{Meta: protocol.Meta{Capabilities: json.RawMessage(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)}}
			w, fault := mcptask.NewWatch(r, json.RawMessage(`{"taskIds":["a"]}`), func(string) (mcptask.Subject, bool) { return subject, true })
			if fault != nil {
				t.Fatal(fault)
			}
			defer w.Stop()
			told := 0
			for range 2 {
				<-w.Due()
				if err := w.Look(t.Context(), protocol.NotifierFunc(func(context.Context, *protocol.Notification) error {
					told++
					return nil
				})); err != nil {
					t.Error(err)
				}
			}
			if want := []time.Duration{0, tt.want}; !slices.Equal(looks, want) || told != 1 {
				t.Errorf("asked for %s ms: looked at %v, want %v; told %d times, want once", tt.asked, looks, want, told)
			}
		})
	}
}

func TestWatchFaults(t *testing.T) {
	t.Parallel()
	able := protocol.Meta{Capabilities: json.RawMessage(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)}
	gone := mcptask.Subject{Look: func(context.Context) (json.RawMessage, error) { return nil, errors.New("forgotten") }}
	find := func(string) (mcptask.Subject, bool) { return gone, true }
	for _, tt := range []struct {
		meta   protocol.Meta
		filter string
		code   int
	}{
		{able, `{"taskIds":1}`, protocol.CodeInvalidParams},
		{able, `{"taskIds":["a",1]}`, protocol.CodeInvalidParams},
		{protocol.Meta{}, `{"taskIds":["a"]}`, protocol.CodeMissingClientCapability},
		{protocol.Meta{}, `{}`, 0},
	} {
		w, fault := mcptask.NewWatch(&protocol.Request{Meta: tt.meta}, json.RawMessage(tt.filter), find)
		if (fault == nil) != (tt.code == 0) || fault != nil && fault.Code != tt.code {
			t.Errorf("%s: %v", tt.filter, fault)
		}
		if w != nil {
			w.Stop()
		}
	}
	w, fault := mcptask.NewWatch(&protocol.Request{Meta: able}, json.RawMessage(`{"taskIds":["a"]}`), find)
	if fault != nil {
		t.Fatal(fault)
	}
	defer w.Stop()
	<-w.Due()
	if err := w.Look(t.Context(), protocol.NotifierFunc(func(context.Context, *protocol.Notification) error {
		t.Error("told of a task that is forgotten")
		return nil
	})); err != nil {
		t.Error(err)
	}
}
