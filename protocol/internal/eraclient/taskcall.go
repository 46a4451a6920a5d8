package eraclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/backoff"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/internal/mcptask"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

const (
	// lingerTime is how long the task is waited for of a call that nobody wants
	// any more: to cancel it, it must be known (2025-11-25
	// basic/utilities/cancellation).
	lingerTime = 10 * time.Second
	// cancelTaskTimeout bounds tasks/cancel.
	cancelTaskTimeout = 10 * time.Second
	// maxPollFaults is how often in a row a task may fail to be asked for.
	maxPollFaults = 3
	// minPollBackoff is the pause after the first of them.
	minPollBackoff = 100 * time.Millisecond
)

// progressSource is who tells the caller of the progress of a task that is
// waited for: the first one that has something to tell.
type progressSource int

const (
	noProgress progressSource = iota
	ofServer                  // progress that the server sends
	ofStatus                  // the task's changing status messages
)

// hears reports whether a notification goes to the caller.
func (c *clientCall) hears(m *jsonrpc.Message) bool {
	return c.mode.kind != awaited || m.Method != protocol.NotificationProgress || c.progresses(ofServer)
}

func (c *clientCall) progresses(by progressSource) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.progress == noProgress {
		c.progress = by
	}
	return c.progress == by
}

// run makes the call in its mode.
func (c *clientCall) run(ctx context.Context, call *peer.Call) (*jsonrpc.Message, error) {
	s := c.session
	if c.mode.kind == direct {
		return s.conn.Call(ctx, call)
	}
	settled := s.create()
	defer func() { settled() }()
	creating, stop := linger(ctx, s.client.ctx)
	defer stop()
	if c.mode.kind == awaited {
		defer s.related.follow(call.ID, c)()
	}
	m, err := s.conn.Call(creating, call)
	if err != nil || m.Error != nil {
		return m, err
	}
	raw, ok := jsontok.Lookup(m.Result, "task")
	if !ok {
		return m, nil // answered at once
	}
	t, ok := mcptask.ReadLegacy(raw)
	switch {
	case !ok:
		return nil, peer.Malformed(nil, "the task that the MCP server has made of a call cannot be read")
	case ctx.Err() != nil:
		s.giveUp(t.ID, call.Header)
		return nil, context.Cause(ctx)
	case c.mode.kind == awaited:
		s.related.add(t.ID, c)
		defer s.related.remove(t.ID, c)
		settled()
		settled = func() {}
		c.becomeTask()
		return c.wait(ctx, t, call.Header)
	}
	task, err := s.client.newTask(c, t)
	if err != nil {
		s.giveUp(t.ID, call.Header)
		return nil, err
	}
	if c.task, err = mcpjson.ReadResult(protocol.MethodCallTool, m.Result, false); err != nil {
		return nil, err
	}
	c.task.Type, c.task.Server, c.task.Meta = protocol.ResultTask, s.server, mcptask.Unrelated(c.task.Meta)
	c.task.Body = t.Extension(task.id)
	return m, nil
}

// linger returns a context that ends some time after ctx, or with stop. Its
// values are those of base.
func linger(ctx, base context.Context) (_ context.Context, stop func()) {
	out, cancel := context.WithCancel(base)
	unhook := context.AfterFunc(ctx, func() { time.AfterFunc(lingerTime, cancel) })
	return out, func() { unhook(); cancel() }
}

// giveUp cancels a task that nobody will ask for, without waiting for the
// answer.
func (s *clientSession) giveUp(task string, header http.Header) {
	if !hasMembers(s.offers, "tasks", "cancel") {
		return
	}
	s.client.start(func() {
		ctx, cancel := context.WithTimeout(s.client.ctx, cancelTaskTimeout)
		defer cancel()
		m, err := s.ofTask(ctx, protocol.MethodCancelTask, task, header, nil)
		if err == nil && m.Error != nil {
			err = jsonrpc.ReadError(m.Error)
		}
		if err != nil {
			s.client.log.DebugContext(ctx, "a task was not cancelled", "error", err)
		}
	})
}

// ofTask makes a request about a task.
func (s *clientSession) ofTask(ctx context.Context, method, task string, header http.Header, receive func(context.Context, *jsonrpc.Message)) (*jsonrpc.Message, error) {
	return s.conn.Call(ctx, &peer.Call{ID: s.conn.NextID(), Method: method, Params: mcptask.Params(task), Header: header, Receive: receive})
}

// wait waits for a task on behalf of a caller that cannot follow it, and
// returns how the call would have been answered.
func (c *clientCall) wait(ctx context.Context, t *mcptask.Task, header http.Header) (*jsonrpc.Message, error) {
	s := c.session
	defer func() {
		if ctx.Err() != nil {
			s.giveUp(t.ID, header)
		}
	}()
	told, said, faults := 0, "", 0
	for {
		if t.Message != "" && t.Message != said && c.progresses(ofStatus) {
			said = t.Message
			told++
			c.push(statusProgress(told, said), false)
		}
		method := protocol.MethodGetTask
		if t.Terminal() || t.Status == mcptask.InputRequired {
			method = protocol.MethodTaskResult // which blocks, and brings what the task asks
		} else if backoff.Pause(ctx, t.Interval()) != nil {
			return nil, context.Cause(ctx)
		}
		m, err := s.ofTask(ctx, method, t.ID, header, c.receive)
		if err != nil {
			if faults++; ctx.Err() != nil || s.isOver() || faults > maxPollFaults || errors.Is(err, peer.ErrSessionGone) {
				return nil, c.lost(err)
			}
			s.client.log.DebugContext(ctx, "a task could not be asked for", "method", method, "error", err)
			if backoff.Pause(ctx, minPollBackoff<<faults) != nil {
				return nil, context.Cause(ctx)
			}
			t.Status = mcptask.Working
			continue
		}
		if faults = 0; method == protocol.MethodTaskResult || m.Error != nil {
			return m, nil
		}
		next, ok := mcptask.ReadLegacy(m.Result)
		if !ok {
			return nil, peer.Malformed(nil, "the MCP server's answer to tasks/get is no task")
		}
		t = next
	}
}

// lost is the error of a call whose task cannot be waited for any more. It is
// never that of a call which may be made again: the server has worked on it.
func (c *clientCall) lost(err error) error {
	fault, ok := errors.AsType[*protocol.UpstreamError](err)
	if !ok || !errors.Is(err, peer.ErrSessionGone) && !fault.Unsent {
		return err
	}
	c.session.end(err)
	return peer.Unavailable(fmt.Errorf("while its task was waited for: %w", errTaskLost), "the MCP server has ended the session in which the task of this call ran")
}

// statusProgress is a status message of a task as progress.
func statusProgress(n int, text string) *jsonrpc.Message {
	var params mcpjson.Object
	params.Add("progressToken", json.RawMessage("0")) // the caller's takes its place
	params.Add("progress", jsonIndex(n))
	params.Add("message", jsontok.AppendString(nil, text))
	return &jsonrpc.Message{Method: protocol.NotificationProgress, Params: params.JSON()}
}
