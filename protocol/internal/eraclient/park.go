package eraclient

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/bounded"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/internal/seal"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/rounds"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// parking holds the calls that wait for their callers' input. Its states live
// and die with it.
type parking struct {
	box     *seal.Box
	timeout time.Duration
	calls   *bounded.Set[*parked]
}

// parkedState is the requestState of a parked call.
var parkedState = seal.Purpose{Name: "parked call", MaxBytes: 256}

// parked is a call that waits. It is in use by nobody until it is taken.
type parked struct {
	call  *clientCall
	since time.Time
	stop  func() bool // nobody waits for the end of the rounds any more
}

// IdleSince returns when the call was parked.
func (p *parked) IdleSince() (time.Time, bool) { return p.since, true }

func newParking(cfg protocol.ClientConfig) *parking {
	box, _ := seal.New() // a random key is never too short
	limits := bounded.Limits{Idle: cfg.ParkTimeout, Total: cfg.MaxParked, Each: cfg.MaxParkedPerCaller}
	return &parking{box: box, timeout: cfg.ParkTimeout, calls: bounded.New(limits, func(p *parked, why bounded.Reason) {
		if why != bounded.Closed {
			cfg.Logger.Info("a call that waited for its caller's input was cancelled", "method", p.call.request.Method, "reason", string(why))
		}
		p.stop()
		p.call.cancel(errAbandoned)
	})}
}

// add takes a call in and returns the state that stands for it. Only the same
// principal can use it, for the same request, until it expires. Where there are
// too many calls, an older one is cancelled.
func (p *parking) add(ctx context.Context, call *clientCall, r *peer.Request) (state string, fault error) {
	id := rand.Text()
	state, err := p.box.Seal(parkedState, []byte(id), time.Now().Add(p.timeout), binding(r)...)
	if err != nil {
		return "", err // the id is short
	}
	entry := &parked{call: call, since: time.Now()}
	entry.stop = rounds.After(ctx, func() { p.abandon(id) })
	if !p.calls.Add(id, call.quota, entry) {
		entry.stop()
		return "", errClosed
	}
	if ctx.Err() != nil { // nobody is left to answer, and may have gone before the call was there
		p.abandon(id)
		return "", context.Cause(ctx)
	}
	return state, nil
}

// abandon cancels a call, unless it has been taken.
func (p *parking) abandon(id string) {
	if entry, ok := p.calls.Remove(id); ok {
		entry.stop()
		entry.call.cancel(errAbandoned)
	}
}

// take returns a parked call to its one user.
func (p *parking) take(state string, r *peer.Request) (*clientCall, *protocol.Error) {
	id, err := p.box.Open(parkedState, state, binding(r)...)
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "requestState is not valid: it has expired, or was given for another request, to another caller, or by another process; call again without it")
	}
	entry, ok := p.calls.Remove(string(id))
	if !ok {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "requestState has been used already, or has expired")
	}
	entry.stop()
	return entry.call, nil
}

// who tells the callers of one session apart, as far as they can be told: what
// one of them is asked must not reach another one.
func who(r *peer.Request) string {
	return digest(r.Caller.Key(), r.Caller.Quota(), string(r.Meta.ClientInfo), r.Meta.SessionID())
}

// binding is what a state is sealed to: the principal, the method, and the
// params as far as they do not change in a retry.
func binding(r *peer.Request) []string {
	var members []string
	if r.Params != nil {
		// The front has parsed them.
		_ = jsontok.Object(r.Params, func(key, value []byte) error {
			switch k := string(key); k {
			case "_meta", "inputResponses", "requestState":
			default:
				members = append(members, digest(k, string(jsontok.AppendCompact(nil, value))))
			}
			return nil
		})
	}
	slices.Sort(members)
	return []string{r.Caller.Key(), r.Method, digest(members...)}
}

// park leaves a call to wait for its caller's input, which the result asks for.
func (c *legacyClient) park(ctx context.Context, call *clientCall, r *peer.Request, questions []*question) (*protocol.Result, error) {
	call.park(true)
	state, err := c.parking.add(ctx, call, r)
	if err != nil {
		call.cancel(errAbandoned)
		return nil, err
	}
	var body mcpjson.Object
	body.Add("inputRequests", inputRequests(questions))
	body.Add("requestState", jsontok.AppendString(nil, state))
	return &protocol.Result{Type: protocol.ResultInputRequired, Server: call.session.server, Body: body.JSON()}, nil
}

// park says whether the call waits for input.
func (c *clientCall) park(waits bool) {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	c.parked = waits
}

// inputRequests returns requests of the server as a result has them.
func inputRequests(questions []*question) json.RawMessage {
	var requests mcpjson.Object
	for _, q := range questions {
		requests.Add(q.key, inputRequest(q.method, q.params))
	}
	return requests.JSON()
}

// inputRequest returns a request of the server as it stands in inputRequests.
func inputRequest(method string, params json.RawMessage) []byte {
	var o mcpjson.Object
	o.Add("method", jsontok.AppendString(nil, method))
	if params != nil {
		o.Add("params", params)
	}
	return o.JSON()
}

func jsonIndex(i int) []byte { return strconv.AppendInt(nil, int64(i), 10) }

// resume takes a parked call up again with the answers that a retry brings.
func (c *legacyClient) resume(ctx context.Context, r *peer.Request, rawState json.RawMessage, n protocol.Notifier) (*protocol.Result, error) {
	state, ok := jsontok.String(rawState)
	if !ok {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.requestState must be a string")
	}
	answers, fault := readAnswers(r.Params)
	if fault != nil {
		return nil, fault
	}
	call, fault := c.parking.take(state, r)
	if fault != nil {
		return nil, fault
	}
	call.park(false)
	call.session.setLevel(ctx, r.Meta.LogLevel, r.Header)
	if err := call.answer(ctx, r, answers); err != nil {
		call.cancel(errAbandoned)
		return nil, err
	}
	res, err := call.serve(ctx, r, n)
	if errors.Is(err, peer.ErrSessionGone) {
		err = peer.Unavailable(err, "the MCP server has ended the session in which it had asked for input: call again")
	}
	return res, err
}

// readAnswers returns the inputResponses of a request.
func readAnswers(params json.RawMessage) (map[string]json.RawMessage, *protocol.Error) {
	answers := make(map[string]json.RawMessage)
	raw, ok := jsontok.Lookup(params, "inputResponses")
	if !ok {
		return answers, nil
	}
	if jsontok.KindOf(raw) != jsontok.KindObject {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.inputResponses must be an object")
	}
	err := jsontok.Object(raw, func(key, value []byte) error {
		if jsontok.KindOf(value) != jsontok.KindObject {
			return fmt.Errorf("the response to %q must be an object", clip.Name(key))
		}
		answers[string(key)] = value
		return nil
	})
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.inputResponses: %v", err)
	}
	return answers, nil
}

// answer sends the answers that are there to the server. What has none is
// asked for again.
func (c *clientCall) answer(ctx context.Context, r *peer.Request, answers map[string]json.RawMessage) error {
	for _, q := range c.open() {
		result, ok := answers[q.key]
		if !ok {
			continue
		}
		if err := c.session.answer(ctx, q, result, r.Header); err != nil {
			return err
		}
		c.withdraw(q.id)
	}
	return nil
}

// answer answers a request of the server, and remembers roots.
func (s *clientSession) answer(ctx context.Context, q *question, result json.RawMessage, header http.Header) error {
	if err := s.conn.Send(ctx, jsonrpc.AppendRawResult(nil, q.id, q.result(result)), header); err != nil {
		return err
	}
	if q.method == protocol.MethodListRoots {
		s.mu.Lock()
		s.roots = bytes.Clone(result)
		s.mu.Unlock()
	}
	return nil
}
