package mux

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/internal/seal"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	// confirmTime is how long the answer to a question of a guard is waited for.
	confirmTime = 5 * time.Minute
	// stateTime bounds the life of the states of upstreams, which may end sooner.
	stateTime = 24 * time.Hour
)

// The purposes of what is sealed. Ids of tasks travel in HTTP headers. The id of an
// upstream may be a sealed one itself. States travel in bodies, and some servers put
// a lot into them.
var (
	taskPurpose  = seal.Purpose{Name: "mux task", MaxBytes: 6 << 10}
	statePurpose = seal.Purpose{Name: "mux request state", MaxBytes: 256 << 10}
)

// callState is what a client brings back with the answers to questions.
type callState struct {
	owner     string
	asked     string // the digest of the guard's question that is open
	confirmed string // and of the one that the user has confirmed
	some      bool   // inner is there
	inner     string // the upstream's own state

	given bool // the client has brought this state
}

// sealState seals the state of a call for its caller, target and arguments.
func (v *View) sealState(c *call, st callState) (string, error) {
	value := appendText(nil, c.s.cfg.Owner, st.asked, st.confirmed)
	expires := time.Now().Add(confirmTime)
	if st.some {
		value = append(append(value, 1), st.inner...)
	}
	if st.some || st.confirmed != "" {
		expires = time.Now().Add(stateTime)
	}
	binding, err := v.stateBinding(c)
	if err != nil {
		return "", err
	}
	token, err := c.s.box.Seal(statePurpose, value, expires, binding...)
	if err != nil {
		return "", &protocol.UpstreamError{Kind: protocol.UpstreamTooLarge, Message: "upstream " + c.member.name + ": its requestState is too long", Err: err}
	}
	return token, nil
}

// openState reads the state that a retry brings.
func (v *View) openState(c *call) error {
	raw, ok := jsontok.Lookup(c.r.Params, "requestState")
	if !ok || !asksForInput(c.r.Method) {
		return nil
	}
	invalid := protocol.Errorf(protocol.CodeInvalidParams, "params.requestState was not given to this caller for this request, or has expired: call again without it")
	token, ok := jsontok.String(raw)
	if !ok {
		return protocol.Errorf(protocol.CodeInvalidParams, "params.requestState must be a string")
	}
	binding, err := v.stateBinding(c)
	if err != nil {
		return err
	}
	value, err := c.s.box.Open(statePurpose, token, binding...)
	if err != nil {
		return invalid
	}
	st := callState{given: true}
	rest, ok := readText(value, &st.owner, &st.asked, &st.confirmed)
	if !ok {
		return invalid
	}
	if len(rest) > 0 {
		st.some, st.inner = true, string(rest[1:])
	}
	c.state = st
	return nil
}

// asksForInput reports whether a method may be answered by input_required.
func asksForInput(method string) bool {
	return method == protocol.MethodCallTool || method == protocol.MethodGetPrompt || method == protocol.MethodReadResource
}

// stateBinding is what a state is sealed to.
func (v *View) stateBinding(c *call) ([]string, error) {
	arguments, err := digestOf(c.r.Params)
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params: %v", err)
	}
	return []string{c.principal.Key(), v.ep.Name, c.r.Method, c.target.Upstream, c.target.Name, arguments}, nil
}

// forward returns the request for the upstream, with its own state.
func (c *call) forward() *protocol.Request {
	if !c.state.given {
		return c.request
	}
	own := *c.request
	own.Params, _ = mcpjson.Split(c.request.Params, func(key string, _ []byte) bool {
		return key == "requestState" || key == "inputResponses" && !c.state.some
	})
	if !c.state.some {
		return &own
	}
	own.Params = mcpjson.With(own.Params, "requestState", jsontok.AppendString(nil, c.state.inner))
	return &own
}

// taskRef is what the id of a task stands for.
type taskRef struct {
	owner, upstream, tool, rpc string
	hints                      protocol.Hints
	id                         string // the upstream's own
}

// sealTask returns the public id of a task.
func (v *View) sealTask(a *asker, ref taskRef) (string, error) {
	value := appendText(nil, a.s.cfg.Owner, ref.upstream, ref.tool, ref.rpc)
	var bits byte
	for i, hint := range []bool{ref.hints.ReadOnly, ref.hints.Destructive, ref.hints.Idempotent, ref.hints.OpenWorld} {
		if hint {
			bits |= 1 << i
		}
	}
	value = append(append(value, bits), ref.id...)
	// The upstream knows how long its task lives.
	return a.s.box.Seal(taskPurpose, value, time.Time{}, a.principal.Key(), v.ep.Name)
}

// openTask reads the public id of a task of the caller.
func (v *View) openTask(a *asker, id string) (taskRef, bool) {
	var ref taskRef
	value, err := a.s.box.Open(taskPurpose, id, a.principal.Key(), v.ep.Name)
	if err != nil {
		return ref, false
	}
	rest, ok := readText(value, &ref.owner, &ref.upstream, &ref.tool, &ref.rpc)
	if !ok || len(rest) == 0 {
		return ref, false
	}
	for i, hint := range []*bool{&ref.hints.ReadOnly, &ref.hints.Destructive, &ref.hints.Idempotent, &ref.hints.OpenWorld} {
		*hint = rest[0]&(1<<i) != 0
	}
	ref.id = string(rest[1:])
	return ref, true
}

// appendText appends texts so that readText can take them apart.
func appendText(dst []byte, texts ...string) []byte {
	for _, text := range texts {
		dst = append(binary.AppendUvarint(dst, uint64(len(text))), text...)
	}
	return dst
}

func readText(value []byte, to ...*string) (rest []byte, ok bool) {
	for _, text := range to {
		length, n := binary.Uvarint(value)
		if n <= 0 {
			return nil, false
		}
		if value = value[n:]; length > uint64(len(value)) {
			return nil, false
		}
		*text, value = string(value[:length]), value[length:]
	}
	return value, true
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// digestOf returns a hash of the params of a request as far as they stay the same in
// a retry. It does not depend on the order of members or on white space.
func digestOf(params json.RawMessage) (string, error) {
	var parts []string
	if params == nil {
		return digest(""), nil
	}
	err := jsontok.Object(params, func(key, value []byte) error {
		switch k := string(key); k {
		case "_meta", "inputResponses", "requestState":
			return nil
		default:
			text, err := canonical(value)
			if err != nil {
				return err
			}
			parts = append(parts, digest(k)+digest(text))
			return nil
		}
	})
	if err != nil {
		return "", err
	}
	slices.Sort(parts)
	var all bytes.Buffer
	for _, part := range parts {
		all.WriteString(part)
	}
	return digest(all.String()), nil
}

// canonical returns a JSON value with the members of objects in order.
func canonical(value []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	text, err := json.Marshal(v)
	return string(text), err
}
