package streamable

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/front"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	// maxMirroring bounds how many tools with parameters in headers are
	// remembered of one list.
	maxMirroring = 10_000
	// maxPrivateLists bounds how many callers' own lists are remembered.
	maxPrivateLists = 256
	// listTimeout bounds the reading of a list, and so the time that calls wait
	// for it.
	listTimeout = 2 * time.Second
	// A list is read again once it is older than its time to live, within these
	// bounds. One that could not be read is read again after the lower one.
	minListAge, maxListAge = time.Minute, 10 * time.Minute
	// A call that does not go with a list makes it be read again, unless that was
	// done so recently.
	rereadAfter = time.Second
)

// paramCheck compares the headers that mirror parameters of tools with the
// arguments of a call (basic/transports/streamable-http, Server Behavior for
// Custom Headers). Which those are is in the tools' schemas. They are read from
// the lists that clients ask for, and before a call where there is none.
//
// A list that is the same for everybody is read without anybody's credentials.
// One that may depend on the caller is read for each caller by itself, on behalf
// of the message that is checked, and says nothing of what others see.
type paramCheck struct {
	core front.Core

	mu      sync.RWMutex
	shared  *toolList            // nil before the first call
	private map[string]*toolList // by key; used while shared is of no use
}

// toolList is what is known of one list of tools.
type toolList struct {
	reading chan struct{} // holds an element while somebody reads the list

	// Guarded by the lock of the paramCheck.
	tools   map[string]mcpjson.ParamHeaders // those that have any
	read    time.Time                       // zero before the first time
	expires time.Time
	ok      bool // the list could be read; of the shared one, that it is public
}

func newToolList() *toolList { return &toolList{reading: make(chan struct{}, 1)} }

func newParamCheck(core front.Core) *paramCheck {
	return &paramCheck{core: core, shared: newToolList(), private: make(map[string]*toolList)}
}

// check reports why the headers of a tools/call do not go with it.
func (p *paramCheck) check(ctx context.Context, r *protocol.Request) *protocol.Error {
	began := time.Now()
	list := p.list(ctx, r, began)
	if p.empty(list) {
		return nil
	}
	raw, _ := jsontok.Lookup(r.Params, "name")
	name, _ := jsontok.String(raw)
	args, _ := jsontok.Lookup(r.Params, "arguments")
	plan := p.plan(list, name)
	fault := plan.Check(r.Caller.Header, args)
	if fault != nil && p.reread(ctx, r, list, began) { // the tool may have changed
		plan = p.plan(list, name)
		fault = plan.Check(r.Caller.Header, args)
	}
	if fault == nil && len(plan) > 0 {
		// What has been checked must be what others read.
		if err := jsontok.Unique(args); args != nil && err != nil {
			fault = protocol.Errorf(protocol.CodeInvalidParams, "params.arguments: %v", err)
		}
	}
	return fault
}

func (p *paramCheck) empty(list *toolList) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(list.tools) == 0
}

func (p *paramCheck) plan(list *toolList, name string) mcpjson.ParamHeaders {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return list.tools[name]
}

// list returns the list that the sender of r sees, and reads it where that has
// to be done.
func (p *paramCheck) list(ctx context.Context, r *protocol.Request, now time.Time) *toolList {
	if p.due(p.shared, now) {
		p.fetch(ctx, p.shared, p.internal(r), now)
	}
	p.mu.RLock()
	public := p.shared.ok
	p.mu.RUnlock()
	if public {
		return p.shared
	}
	own := p.own(r.Caller.Key())
	if p.due(own, now) {
		p.fetch(ctx, own, p.onBehalf(r), now)
	}
	return own
}

// due reports whether a list must be read.
func (p *paramCheck) due(list *toolList, now time.Time) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return !now.Before(list.expires)
}

// own returns the list of one caller. Of too many it forgets one.
func (p *paramCheck) own(key string) *toolList {
	p.mu.RLock()
	list := p.private[key]
	p.mu.RUnlock()
	if list != nil {
		return list
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if list := p.private[key]; list != nil {
		return list
	}
	if len(p.private) >= maxPrivateLists {
		var oldest string
		for k, l := range p.private {
			if oldest == "" || l.read.Before(p.private[oldest].read) {
				oldest = k
			}
		}
		delete(p.private, oldest)
	}
	list = newToolList()
	p.private[key] = list
	return list
}

// internal returns the request for the list that everybody sees.
func (p *paramCheck) internal(r *protocol.Request) *protocol.Request {
	return &protocol.Request{
		Method: protocol.MethodListTools, Caller: protocol.InternalCaller(),
		Meta: protocol.Meta{Revision: r.Meta.Revision, Capabilities: json.RawMessage(`{}`)},
	}
}

// onBehalf returns the request for the list that the sender of r sees. It has
// the id of r, so nobody counts it as another request.
func (p *paramCheck) onBehalf(r *protocol.Request) *protocol.Request {
	return &protocol.Request{
		ID: r.ID, Method: protocol.MethodListTools, Caller: r.Caller,
		Meta: protocol.Meta{Revision: r.Meta.Revision, ClientInfo: r.Meta.ClientInfo, Capabilities: r.Meta.Capabilities},
	}
}

// reread reads a list again, unless that was done since began or just before. It
// reports whether the list is newer now than it was at began.
func (p *paramCheck) reread(ctx context.Context, r *protocol.Request, list *toolList, began time.Time) bool {
	p.mu.RLock()
	before := list.read
	p.mu.RUnlock()
	if before.After(began.Add(-rereadAfter)) {
		return before.After(began)
	}
	ask := p.onBehalf(r)
	if list == p.shared {
		ask = p.internal(r)
	}
	p.fetch(ctx, list, ask, began)
	p.mu.RLock()
	defer p.mu.RUnlock()
	return list.read.After(before)
}

// fetch reads a list by a request, unless somebody has done so since began. Where
// that fails nothing is checked for a while, and the calls themselves say what is
// wrong.
func (p *paramCheck) fetch(ctx context.Context, list *toolList, ask *protocol.Request, began time.Time) {
	select {
	case list.reading <- struct{}{}:
		defer func() { <-list.reading }()
	case <-ctx.Done():
		return
	}
	p.mu.RLock()
	done := list.read.After(began)
	p.mu.RUnlock()
	if done {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	tools := make(map[string]mcpjson.ParamHeaders)
	public := true
	age := maxListAge
	err := mcpjson.EachPage(func(params json.RawMessage) (json.RawMessage, error) {
		page := *ask
		page.Params = params
		res, fault := p.core.Answer(ctx, &page, protocol.Discard)
		if fault != nil {
			return nil, fault
		}
		public = public && isPublic(res)
		age = min(age, ttl(res))
		learn(tools, res.Body)
		return res.Body, nil
	})
	if fault, ok := errors.AsType[*protocol.Error](err); ok && fault.Code == protocol.CodeMethodNotFound {
		err = nil // there are no tools, for anybody
	}
	if err != nil {
		p.core.Log.DebugContext(ctx, "tools could not be listed for their x-mcp-header", "error", err)
		age = minListAge
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	list.read = time.Now()
	list.expires = list.read.Add(max(age, minListAge))
	list.ok = err == nil && (public || list != p.shared)
	if err == nil {
		list.tools = tools
	}
}

// isPublic reports whether a list is the same for everybody.
func isPublic(res *protocol.Result) bool { return res.Cache != nil && !res.Cache.Private }

func ttl(res *protocol.Result) time.Duration {
	if res.Cache == nil {
		return 0
	}
	return time.Duration(min(res.Cache.TTLMillis, maxListAge.Milliseconds())) * time.Millisecond
}

// learned takes a page of a list that a caller has got.
func (p *paramCheck) learned(caller *protocol.Caller, res *protocol.Result) {
	list := p.shared
	p.mu.RLock()
	public := p.shared.ok && isPublic(res)
	if !public {
		list = p.private[caller.Key()]
	}
	none := list == nil || len(list.tools) == 0
	p.mu.RUnlock()
	if list == nil || none && !mcpjson.MayMirror(res.Body) {
		return // what is not known yet is read before the first call
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if list.tools == nil {
		list.tools = make(map[string]mcpjson.ParamHeaders)
	}
	learn(list.tools, res.Body)
}

// learn reads a page of a list into tools.
func learn(tools map[string]mcpjson.ParamHeaders, body json.RawMessage) {
	if len(tools) == 0 && !mcpjson.MayMirror(body) {
		return
	}
	list, _ := jsontok.Lookup(body, "tools")
	if jsontok.KindOf(list) != jsontok.KindArray {
		return // the client's affair
	}
	_ = jsontok.Array(list, func(_ int, tool []byte) error { // valid already
		// A tool that breaks the rules has no headers: clients must not use it.
		name, plan, err := mcpjson.ReadParamHeaders(tool)
		switch {
		case err != nil || len(plan) == 0:
			delete(tools, name)
		case len(tools) < maxMirroring:
			tools[name] = plan
		}
		return nil
	})
}
