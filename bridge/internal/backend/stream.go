package backend

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Streams reports whether the responses of the method are a stream.
func (p *Plan) Streams() bool { return p.kind == rpc.ServerStream || p.kind == rpc.BidiStream }

// clientStreams reports whether the requests of the method are a stream.
func (p *Plan) clientStreams() bool { return p.kind == rpc.ClientStream || p.kind == rpc.BidiStream }

// errEnough ends an RPC, or a walk, of which enough is known.
var errEnough = errors.New("a limit is reached")

// stopReason says why a stream's result has no more messages.
type stopReason string

const (
	stopEOF      stopReason = "eof"
	stopLimit    stopReason = "limit"
	stopBytes    stopReason = "bytes"
	stopDeadline stopReason = "deadline"
	stopError    stopReason = "error"
)

// collector gathers the messages of a stream.
type collector struct {
	out     *transcode.Codec
	limits  Limits
	observe Observer
	// first is how long the first message may be, in bytes.
	first int
	// bodies is set where the messages are parts of one google.api.HttpBody.
	bodies bool

	list     []byte // the JSON of the messages, with commas between
	last     int    // where the last one begins
	body     httpBody
	count    int
	warnings []string
	texts    []string // what bytes are that are text
	stop     stopReason
}

// add takes one message. Its error is errEnough where a limit is reached.
func (c *collector) add(ctx context.Context, message []byte) error {
	var shown []byte
	if c.bodies {
		if full, err := c.body.add(message, c.limits.Bytes); err != nil {
			return err
		} else if full {
			c.stop = stopBytes
			return errEnough
		}
	} else {
		before := len(c.list)
		list := c.list
		if c.count > 0 {
			list = append(list, ',')
		}
		start := len(list)
		list, texts, warnings, err := c.out.AppendReadable(list, message)
		if _, ok := errors.AsType[*transcode.SizeError](err); ok && c.count > 0 {
			c.list = list[:before]
			c.stop = stopBytes
			return errEnough
		}
		if err != nil {
			return err
		}
		if c.count > 0 && len(list) > c.limits.Bytes {
			c.list = list[:before]
			c.stop = stopBytes
			return errEnough
		}
		c.list, c.last, shown = list, start, list[start:]
		for _, text := range texts {
			if len(c.texts) < transcode.MaxTexts {
				c.texts = append(c.texts, MessagesArgument+"["+strconv.Itoa(c.count)+"]."+text)
			}
		}
		for _, w := range warnings {
			if len(c.warnings) < transcode.MaxViolations {
				c.warnings = append(c.warnings, MessagesArgument+"["+strconv.Itoa(c.count)+"]: "+w)
			}
		}
	}
	c.count++
	if c.observe != nil {
		if err := c.observe(ctx, c.count, shown); err != nil {
			return err
		}
	}
	switch {
	case c.count >= c.limits.Messages && !c.bodies:
		c.stop = stopLimit
		return errEnough
	case len(c.list) >= c.limits.Bytes:
		c.stop = stopBytes
		return errEnough
	}
	return nil
}

// append appends the result of the stream.
func (c *collector) append(dst []byte, stop stopReason) []byte {
	dst = append(dst, `{"messages":[`...)
	dst = append(dst, c.list...)
	dst = append(dst, `],"count":`...)
	dst = strconv.AppendInt(dst, int64(c.count), 10)
	dst = append(dst, `,"complete":`...)
	dst = strconv.AppendBool(dst, stop == stopEOF)
	dst = append(dst, `,"stopReason":`...)
	dst = jsontok.AppendString(dst, string(stop))
	return append(dst, '}')
}

// partial returns what there is of a stream that has failed, or nil.
func (c *collector) partial() json.RawMessage {
	if c.count == 0 || c.bodies {
		return nil
	}
	return c.append(nil, stopError)
}

// stream performs a call whose responses are a stream.
func (p *Plan) stream(ctx context.Context, of *compiled, call *rpc.Call, c *collector, r *protocol.Request) (*protocol.Result, error) {
	callCtx := ctx
	if c.limits.Time > 0 {
		var cancel context.CancelFunc
		callCtx, cancel = context.WithTimeout(ctx, c.limits.Time)
		defer cancel()
	}
	var tooLarge error
	trailer, err := p.env.Caller.Call(callCtx, call, func(message []byte) error {
		err := c.add(callCtx, message)
		if _, ok := errors.AsType[*transcode.SizeError](err); ok {
			tooLarge = err
		}
		return err
	})
	switch {
	case tooLarge != nil:
		return of.tooLarge(tooLarge)
	case err == nil:
		c.stop = stopEOF
	case c.stop != "": // a limit has ended the call
	case outOfTime(callCtx, err):
		c.stop = stopDeadline
	default:
		return nil, callError(err, c.partial())
	}
	if c.bodies {
		return p.bodiesResult(of, c, trailer, r), nil
	}
	return p.result("", c.append(nil, c.stop), notes{of.more.note(c.list[c.last:]), readable(c.texts)}, c.warnings, trailer), nil
}

// deadlineSlack is how much earlier than here a deadline may be seen to pass
// elsewhere.
const deadlineSlack = time.Second / 4

// outOfTime reports whether err says that the time of ctx is up. The peer has
// the same deadline, and may be the first to see it pass.
func outOfTime(ctx context.Context, err error) bool {
	e, ok := errors.AsType[*rpc.StatusError](err)
	if !ok || errors.Is(ctx.Err(), context.Canceled) {
		return false
	}
	deadline, bounded := ctx.Deadline()
	return bounded && time.Until(deadline) < deadlineSlack &&
		(e.Code() == code.Code_DEADLINE_EXCEEDED || ctx.Err() != nil && e.Code() == code.Code_CANCELLED)
}
