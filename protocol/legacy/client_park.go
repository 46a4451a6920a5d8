package legacy

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
	"github.com/mcp-bridge/mcp-bridge/protocol/jsonrpc"
)

// parking holds the calls that wait for their callers' input. The key of its
// states lives and dies with it.
type parking struct {
	owner string
	aead  cipher.AEAD

	mu    sync.Mutex
	calls map[string]*parked
}

type parked struct {
	call  *clientCall
	timer *time.Timer
	stop  func() bool // nobody waits for the end of the rounds any more
}

// roundsKey is the key of the context that ends with the rounds of a call.
type roundsKey struct{}

// withRounds returns ctx with the promise that whoever makes a call in it makes
// no further round of it once ctx has ended. Of other callers nobody knows.
func withRounds(ctx context.Context) context.Context {
	return context.WithValue(ctx, roundsKey{}, ctx)
}

// afterRounds calls f once there are certainly no further rounds. Where stop
// returns true, f will not be called.
func afterRounds(ctx context.Context, f func()) (stop func() bool) {
	rounds, ok := ctx.Value(roundsKey{}).(context.Context)
	if !ok {
		return func() bool { return true }
	}
	return context.AfterFunc(rounds, f)
}

const idBytes = 16

func newParking() *parking {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	p := &parking{owner: rand.Text()[:8], calls: make(map[string]*parked)}
	// The key has the length that AES wants, so there are no errors.
	block, _ := aes.NewCipher(key)
	p.aead, _ = cipher.NewGCMWithRandomNonce(block)
	return p
}

// seal returns the state that stands for a parked call. Only the same caller
// can use it, for the same request, until it expires.
func (p *parking) seal(id string, expires time.Time, binding []byte) string {
	plain := binary.BigEndian.AppendUint64([]byte(id), uint64(expires.UnixNano()))
	sealed := p.aead.Seal(nil, nil, plain, binding) //nolint:gosec // the nonce is made at random within
	return p.owner + "." + base64.RawURLEncoding.EncodeToString(sealed)
}

// unseal returns the id of a parked call.
func (p *parking) unseal(state string, now time.Time, binding []byte) (string, *protocol.Error) {
	owner, text, ok := strings.Cut(state, ".")
	if !ok || len(text) > 1024 {
		return "", protocol.Errorf(protocol.CodeInvalidParams, "requestState is not one that was given here")
	}
	if owner != p.owner {
		return "", protocol.Errorf(protocol.CodeInvalidParams, "requestState belongs to another process, or to one that has ended: call again without it")
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err == nil {
		var plain []byte
		if plain, err = p.aead.Open(nil, nil, sealed, binding); err == nil && len(plain) == idBytes+8 {
			expires := time.Unix(0, int64(binary.BigEndian.Uint64(plain[idBytes:]))) //nolint:gosec // as sealed
			if now.After(expires) {
				return "", protocol.Errorf(protocol.CodeInvalidParams, "requestState has expired: call again without it")
			}
			return string(plain[:idBytes]), nil
		}
	}
	return "", protocol.Errorf(protocol.CodeInvalidParams, "requestState was not given to this caller for this request")
}

func (p *parking) add(id string, c *parked, limit int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls == nil || len(p.calls) >= limit {
		return false
	}
	p.calls[id] = c
	return true
}

// take returns a parked call to its one user, or nil.
func (p *parking) take(id string) *clientCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[id]
	if c == nil {
		return nil
	}
	delete(p.calls, id)
	c.timer.Stop()
	c.stop()
	return c.call
}

// clear gives up all calls.
func (p *parking) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.calls {
		c.timer.Stop()
		c.stop()
		c.call.cancel(errAbandoned)
	}
	p.calls = nil
}

// bound names the caller of a request as far as it must not change between a
// call and its retry.
func bound(r *peer.Request) string {
	if r.Caller == nil {
		return digest(r.Identity)
	}
	return digest(r.Identity, r.Caller.Transport, strings.Join(r.Caller.Header.Values("Authorization"), "\n"))
}

// who names the caller of a request as well as it can be told from others.
func who(r *peer.Request) string {
	host := ""
	if r.Caller != nil {
		host = r.Caller.RemoteAddr
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
	}
	return digest(bound(r), host, string(r.Meta.ClientInfo))
}

// binding is what a state is sealed to: the caller, the method and the params
// as far as they do not change in a retry.
func binding(r *peer.Request) []byte {
	parts := []string{bound(r), r.Method}
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
	return []byte(digest(append(parts, members...)...))
}

// park leaves a call to wait for its caller's input, which the result asks for.
func (c *Client) park(ctx context.Context, call *clientCall, r *peer.Request, questions []*question) (*protocol.Result, error) {
	id := rand.Text()[:idBytes]
	entry := &parked{call: call}
	entry.stop = afterRounds(ctx, func() {
		if call := c.parking.take(id); call != nil {
			call.cancel(errAbandoned)
		}
	})
	entry.timer = time.AfterFunc(c.cfg.ParkTimeout, func() {
		if call := c.parking.take(id); call != nil {
			c.log.Info("a call was cancelled because its caller did not answer in time", "method", call.request.Method, "timeout", c.cfg.ParkTimeout)
			call.cancel(errAbandoned)
		}
	})
	if !c.parking.add(id, entry, c.cfg.MaxParked) {
		entry.timer.Stop()
		entry.stop()
		call.cancel(errAbandoned)
		return nil, &protocol.UpstreamError{Kind: protocol.UpstreamThrottled, Message: "too many calls wait for input already"}
	}
	if ctx.Err() != nil { // whoever is to answer has gone already
		if call := c.parking.take(id); call != nil {
			call.cancel(errAbandoned)
		}
		return nil, context.Cause(ctx)
	}
	var requests, body mcpjson.Object
	for _, q := range questions {
		requests.Add(q.key, inputRequest(q.method, q.params))
	}
	body.Add("inputRequests", requests.JSON())
	state := c.parking.seal(id, time.Now().Add(c.cfg.ParkTimeout), binding(r))
	body.Add("requestState", jsontok.AppendString(nil, state))
	return &protocol.Result{Type: protocol.ResultInputRequired, Server: call.session.server, Body: body.JSON()}, nil
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
func (c *Client) resume(ctx context.Context, r *peer.Request, rawState json.RawMessage, n protocol.Notifier) (*protocol.Result, error) {
	state, ok := jsontok.String(rawState)
	if !ok {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.requestState must be a string")
	}
	answers, fault := readAnswers(r.Params)
	if fault != nil {
		return nil, fault
	}
	id, fault := c.parking.unseal(state, time.Now(), binding(r))
	if fault != nil {
		return nil, fault
	}
	call := c.parking.take(id)
	if call == nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "requestState has been used already, or has expired")
	}
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
			return fmt.Errorf("the response to %q must be an object", key)
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
	if q.method == methodListRoots {
		s.mu.Lock()
		s.roots = bytes.Clone(result)
		s.mu.Unlock()
	}
	return nil
}
