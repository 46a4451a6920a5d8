package upstream

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// fakeClient answers at once, or waits for the end of the request.
type fakeClient struct{ closed *atomic.Int32 }

func (c fakeClient) Handle(ctx context.Context, r *protocol.Request, _ protocol.Notifier) (*protocol.Result, error) {
	switch r.Method {
	case "hang":
		<-ctx.Done()
		return nil, ctx.Err()
	case "ask":
		return &protocol.Result{Type: protocol.ResultInputRequired}, nil
	}
	return &protocol.Result{}, nil
}

func (c fakeClient) Close() { c.closed.Add(1) }

func (c fakeClient) Restarts() int { return 1 }

func (c fakeClient) Revisions() []protocol.Revision {
	return []protocol.Revision{protocol.Revision20260728, protocol.Revision20250618}
}

// TestProcesses: processes are bounded, idle ones end, and one that is needed
// gives way to nobody.
func TestProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var started, closed atomic.Int32
		p := newProcesses(func() (program, error) {
			started.Add(1)
			return fakeClient{&closed}, nil
		})
		ask := func(ctx context.Context, who, method string) error {
			_, err := p.Handle(ctx, &protocol.Request{
				Method: method, Caller: &protocol.Caller{Principal: protocol.AnonymousPrincipal("", who)},
			}, protocol.Discard)
			return err
		}
		must := func(who, method string) {
			t.Helper()
			if err := ask(t.Context(), who, method); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Second) // so that one has been idle for longer than the next
		}
		counts := func(wantStarted, wantClosed int32) {
			t.Helper()
			synctest.Wait()
			if started.Load() != wantStarted || closed.Load() != wantClosed {
				t.Errorf("%d started and %d ended, want %d and %d", started.Load(), closed.Load(), wantStarted, wantClosed)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		hung := make(chan error, 1)
		go func() { hung <- ask(ctx, "busy", "hang") }()
		synctest.Wait()
		must("asks", "ask")
		for i := range maxProcesses - 2 {
			must(strconv.Itoa(i), "")
		}
		counts(maxProcesses, 0)
		must("more", "") // in the place of the first that is idle
		counts(maxProcesses+1, 1)
		must("0", "")
		counts(maxProcesses+2, 2)

		<-time.After(processIdle + time.Second)
		counts(maxProcesses+2, maxProcesses+1)
		var status Status
		p.report(&status)
		if status.Processes != 1 {
			t.Errorf("%d processes are left, want the busy one", status.Processes)
		}
		if status.Restarts != maxProcesses+2 || !slices.Equal(status.Revisions, []protocol.Revision{protocol.Revision20260728, protocol.Revision20250618}) {
			t.Errorf("%d restarts, revisions %v", status.Restarts, status.Revisions)
		}
		cancel()
		if err := <-hung; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}

		// All are needed.
		for i := range maxProcesses {
			must(strconv.Itoa(i), "ask")
		}
		fault, ok := errors.AsType[*protocol.UpstreamError](ask(t.Context(), "late", ""))
		if !ok || fault.Kind != protocol.UpstreamThrottled {
			t.Errorf("error %v", fault)
		}
		p.Close()
		if started.Load() != closed.Load() || len(p.byKey) != 0 {
			t.Errorf("%d started and %d ended", started.Load(), closed.Load())
		}
		fault, ok = errors.AsType[*protocol.UpstreamError](ask(t.Context(), "0", ""))
		if !ok || fault.Kind != protocol.UpstreamUnavailable {
			t.Errorf("error %v after the end", fault)
		}
	})
}
