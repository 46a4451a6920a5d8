package rpctest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
)

// WantStatus fails the test unless the error is a status of that code, locality
// and message.
func WantStatus(t *testing.T, err error, c code.Code, local bool, message string) {
	t.Helper()
	(&Case{status: just(c), local: local, message: message}).checkStatus(t, err)
}

// WantEnded waits until the backend's handler has seen the end of its context.
func WantEnded(t *testing.T, b *Backend, method string) {
	t.Helper()
	select {
	case got := <-b.Ended:
		if got != method {
			t.Errorf("%s ended, want %s", got, method)
		}
	case <-t.Context().Done():
	case <-time.After(time.Minute):
		t.Errorf("the handler of %s still runs", method)
	}
}

func cancelWaiting(t *testing.T, caller rpc.Caller, b *Backend) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-b.Reached
		cancel()
	}()
	_, err := caller.Call(ctx, NewCall("Hang", nil, ""), ignore)
	WantStatus(t, err, code.Code_CANCELLED, true, "was cancelled")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v does not wrap context.Canceled", err)
	}
	WantEnded(t, b, "Hang")
}

func cancelStreaming(t *testing.T, caller rpc.Caller, b *Backend) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	_, err := caller.Call(ctx, NewCall("Endless", nil, ""), func([]byte) error {
		if n++; n == 3 {
			cancel()
		}
		return nil
	})
	WantStatus(t, err, code.Code_CANCELLED, true, "was cancelled")
	WantEnded(t, b, "Endless")
}

func receiveFails(t *testing.T, caller rpc.Caller, b *Backend) {
	full := errors.New("full")
	n := 0
	_, err := caller.Call(t.Context(), NewCall("Endless", nil, ""), func([]byte) error {
		if n++; n == 3 {
			return full
		}
		return nil
	})
	if err != full { //nolint:errorlint // it must be the very error
		t.Errorf("error %v, want that of receive", err)
	}
	WantEnded(t, b, "Endless")
	_, err = caller.Call(t.Context(), NewCall("Eager", nil, strings.Repeat("x", EagerBytes)), func([]byte) error { return full })
	if err != full { //nolint:errorlint // it must be the very error
		t.Errorf("bidi: error %v, want that of receive", err)
	}
}

func deadlineWaiting(t *testing.T, caller rpc.Caller, b *Backend) {
	// On a machine with much to do a deadline passes before the handler begins.
	for timeout := 200 * time.Millisecond; ; timeout *= 4 {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		_, err := caller.Call(ctx, NewCall("Hang", nil, ""), ignore)
		cancel()
		// The server sees the same deadline and may be first to answer.
		var failure *rpc.StatusError
		if !errors.As(err, &failure) || failure.Code() != code.Code_DEADLINE_EXCEEDED {
			t.Fatalf("error %v, want DEADLINE_EXCEEDED", err)
		}
		select {
		case <-b.Reached:
			WantEnded(t, b, "Hang")
			return
		default:
		}
		if timeout > time.Minute {
			t.Fatal("no call reaches the handler of Hang")
		}
	}
}

func deadlineTravels(t *testing.T, caller rpc.Caller, _ *Backend) {
	for _, test := range []struct {
		timeout time.Duration
		want    string
	}{{0, "none"}, {50 * time.Minute, "early"}, {100 * time.Minute, "late"}} {
		ctx, cancel := t.Context(), func() {}
		if test.timeout != 0 {
			ctx, cancel = context.WithTimeout(ctx, test.timeout)
		}
		_, err := caller.Call(ctx, NewCall("Deadline", nil, ""), func(message []byte) error {
			if string(message) != test.want {
				t.Errorf("with a timeout of %v the server's deadline is %q, want %q", test.timeout, message, test.want)
			}
			return nil
		})
		cancel()
		if err != nil {
			t.Error(err)
		}
	}
}

// reuseBuffers overwrites request and response after every call.
func reuseBuffers(t *testing.T, caller rpc.Caller, _ *Backend) {
	call := NewCall("Echo", nil, strings.Repeat("a", 1000))
	for i := range 50 {
		text := strings.Repeat(string(rune('a'+i%26)), 1000)
		copy(call.Requests[0], text)
		_, err := caller.Call(t.Context(), call, func(message []byte) error {
			if string(message) != text {
				t.Errorf("call %d: received %.10q, want %.10q", i, message, text)
			}
			clear(message)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		clear(call.Requests[0])
	}
}

func manyAtOnce(t *testing.T, caller rpc.Caller, _ *Backend) {
	var group sync.WaitGroup
	for i := range 30 {
		group.Go(func() {
			want := fmt.Sprint("message ", i)
			method := []string{"Echo", "Chat", "Join"}[i%3]
			_, err := caller.Call(t.Context(), NewCall(method, nil, want), func(message []byte) error {
				if string(message) != want {
					t.Errorf("received %q, want %q", message, want)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func backendDies(t *testing.T, caller rpc.Caller, b *Backend) {
	var got []string
	_, err := caller.Call(t.Context(), NewCall("Die", nil, ""), func(message []byte) error {
		got = append(got, string(message))
		b.Kill()
		return nil
	})
	WantStatus(t, err, code.Code_UNAVAILABLE, true, "was lost before the call ended")
	if len(got) != 1 {
		t.Errorf("received %q, want one message", got)
	}
	_, err = caller.Call(t.Context(), NewCall("Echo", nil, ""), ignore)
	WantStatus(t, err, code.Code_UNAVAILABLE, true, " ")
}

func ignore([]byte) error { return nil }
