//go:build unix

package stdio_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// TestOneBadTool: a tool that ends the process again and again is soon refused to
// its caller. From then on the calls of others succeed.
func TestOneBadTool(t *testing.T) {
	t.Parallel()
	c, _ := startServer(t, "legacy")
	ask := func(who, tool string) error {
		r := call(tool)
		r.Caller = &protocol.Caller{Principal: protocol.AnonymousPrincipal(who, "")}
		_, err := c.Handle(t.Context(), r, protocol.Discard)
		return err
	}
	const (
		attacker      = "192.0.2.66"
		callers, each = 4, 100
		refusal       = "the MCP server's process has ended during requests for this tool by this caller; they are refused for another "
	)
	// attack reports whether the call was refused. Otherwise it may have ended the
	// process.
	attack := func() bool {
		fault, ok := errors.AsType[*protocol.UpstreamError](ask(attacker, "exit"))
		if !ok {
			t.Error("the tool answers")
			return true
		}
		return fault.Unsent && fault.RetryAfter > 0 && strings.HasPrefix(fault.Message, refusal)
	}
	others := func(do func(who string)) *sync.WaitGroup {
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() { do("192.0.2." + itoa(i)) })
		}
		return &wg
	}

	// Everybody calls until the attacker is refused.
	refused := make(chan struct{})
	first := others(func(who string) {
		for {
			select {
			case <-refused:
				return
			default:
				_ = ask(who, "pid") // it may be under way when the process ends
			}
		}
	})
	for !attack() {
		continue
	}
	close(refused)
	first.Wait()

	// Those who were suspects are cleared by an answer. Then only an attack after
	// the end of the refusal, as on a slow machine, can disturb them.
	var works, kills, refusals atomic.Int32
	stop := make(chan struct{})
	var attacks sync.WaitGroup
	attacks.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if attack() {
				refusals.Add(1)
			} else {
				kills.Add(1)
			}
		}
	})
	others(func(who string) {
		for ask(who, "pid") != nil {
			continue
		}
		for range each {
			if ask(who, "pid") == nil {
				works.Add(1)
			}
		}
	}).Wait()
	err := ask(attacker, "pid")
	close(stop)
	attacks.Wait()
	t.Logf("%d of %d calls succeeded; %d calls of the tool were refused, %d were not", works.Load(), callers*each, refusals.Load(), kills.Load())
	if kills.Load() == 0 && works.Load() < callers*each {
		t.Errorf("only %d of %d calls succeeded", works.Load(), callers*each)
	}
	if kills.Load() == 0 && err != nil {
		t.Errorf("another tool of the attacker: %v", err)
	}
	// Nobody else is refused the tool.
	for i := range 2 {
		fault, ok := errors.AsType[*protocol.UpstreamError](ask("192.0.2.99", "exit"))
		if kills.Load() == 0 && (!ok || strings.HasPrefix(fault.Message, refusal)) {
			t.Errorf("call %d of somebody else: %v", i, fault)
		}
	}
}
