package mux

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	// maxRendered bounds what is kept of rendered lists, in bytes.
	maxRendered = 64 << 20
	// maxOutcomes bounds for how many outcomes of a guard one list is kept.
	maxOutcomes = 64
)

// renderKey tells rendered lists apart. principal is empty for what all callers
// share.
type renderKey struct {
	list      list
	era       era
	principal string
}

// rendered is a list of several upstreams, ready to be sent.
type rendered struct {
	s       *snapshot
	version uint64
	until   time.Time // zero is until version changes
	private bool
	made    []*listing // one for each upstream, nil for those without an answer
	cache   protocol.Cache
	some    bool // upstreams are missing
	*content
}

// content is what is in a list.
type content struct {
	entries []*entry
	targets []*protocol.Target

	mu     sync.Mutex
	bodies map[string]json.RawMessage // by what the guard shows
	shown  map[string]*Shown          // likewise
}

// list answers the list methods. What is listed of several upstreams is on one page.
func (v *View) list(a *asker, k list) (*protocol.Result, error) {
	if a.s.alone != nil {
		if !v.has(a.s.alone) {
			return v.page(a, k, &rendered{s: a.s, cache: protocol.Cache{TTLMillis: maxTTL}, content: &content{}})
		}
		return v.listAlone(a, k, a.s.alone)
	}
	if _, ok := jsontok.Lookup(a.r.Params, "cursor"); ok {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.cursor is not one that %s has returned: there is one page", a.r.Method)
	}
	l, err := v.lists(a, k, false)
	if err != nil {
		return nil, err
	}
	return v.page(a, k, l)
}

// lists returns what all upstreams list to the caller. In a hurry, it waits for
// nothing but lists that have never been read or are known to have changed.
func (v *View) lists(a *asker, k list, hurry bool) (*rendered, error) {
	shared := renderKey{list: k, era: a.era}
	own := renderKey{list: k, era: a.era, principal: a.principal.Key()}
	version := v.mux.hub.version.Load()
	now := time.Now()
	v.mu.Lock()
	for _, key := range [...]renderKey{shared, own} {
		if l := v.rendered[key]; l != nil && l.s == a.s && l.version == version && (l.until.IsZero() || now.Before(l.until)) {
			v.mu.Unlock()
			return l, nil
		}
	}
	v.mu.Unlock()
	l := v.gather(a, k, hurry)
	if err := context.Cause(a.ctx); err != nil {
		return nil, err
	}
	l.version = version
	key := shared
	if l.private {
		key = own
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if old := v.rendered[key]; old != nil && old.s == a.s && sameLists(old.made, l.made) {
		l.content = old.content // only its time has changed
	} else {
		v.compile(a, k, l)
	}
	v.keep(key, l)
	return l, nil
}

func sameLists(a, b []*listing) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// gather gets the lists of all upstreams at the same time. It leaves out those that
// are down or do not answer.
func (v *View) gather(a *asker, k list, hurry bool) *rendered {
	members := v.members(a.s)
	l := &rendered{s: a.s, made: make([]*listing, len(members)), cache: protocol.Cache{TTLMillis: maxTTL}}
	var wg sync.WaitGroup
	for i, m := range members {
		select {
		case <-m.tried:
			if m.fault() != nil {
				continue
			}
			if l.made[i], _, _ = m.lists.current(k, a.era, a.principal); l.made[i] != nil {
				continue
			}
			if l.made[i] = m.lists.outdated(k, a.era, a.principal, hurry); l.made[i] != nil {
				l.until = time.Now()
				continue
			}
		default:
		}
		wg.Go(func() {
			if m.settled(a.ctx, firstTimeout) != nil {
				return
			}
			found, err := m.lists.get(a.ctx, k, a.r)
			if err != nil {
				if a.ctx.Err() == nil {
					m.log.WarnContext(a.ctx, "an upstream did not answer and is left out", "method", a.r.Method, "error", err)
				}
				return
			}
			l.made[i] = found
		})
	}
	wg.Wait()
	for i, m := range members {
		if l.made[i] == nil {
			l.some = true
			l.cache.TTLMillis = 0
			if m.fault() == nil {
				l.until = time.Now() // it may answer the next time
			}
			continue
		}
		l.cache = worse(l.cache, &l.made[i].cache)
		_, until, private := m.lists.current(k, a.era, a.principal)
		l.private = l.private || private
		if !until.IsZero() && (l.until.IsZero() || until.Before(l.until)) {
			l.until = until
		}
	}
	return l
}

// compile puts together what is in the lists.
func (v *View) compile(a *asker, k list, l *rendered) {
	l.content = &content{}
	for i, m := range v.members(a.s) {
		if l.made[i] == nil {
			continue
		}
		c := m.compile(l.made[i], k, a.s)
		for j := range c.entries {
			e := &c.entries[j]
			if k == listTools && !v.shows(e.public) || a.s.contested(v.mux.hub, k, a.era, e.public) {
				continue
			}
			l.entries = append(l.entries, e)
			l.targets = append(l.targets, e.target)
		}
	}
}

// keep remembers a rendered list. The caller holds v.mu.
func (v *View) keep(key renderKey, l *rendered) {
	size := 0
	for _, other := range v.rendered {
		size += other.size()
	}
	if size > maxRendered {
		clear(v.rendered)
	}
	v.rendered[key] = l
}

func (l *content) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := 8 * len(l.entries)
	for _, body := range l.bodies {
		size += len(body)
	}
	return size
}

// page returns the result with those entries of a list that the principal sees.
func (v *View) page(a *asker, k list, l *rendered) (*protocol.Result, error) {
	var shown []bool
	outcome := ""
	cache := l.cache
	if a.guarded() && len(l.targets) > 0 {
		shown, outcome = l.outcome(a)
		cache.Private = true
	}
	body := l.body(outcome, func() json.RawMessage { return listBody(k, l.entries, shown) })
	res := &protocol.Result{Body: body, Cache: &cache, Server: a.s.cfg.Server}
	if l.some {
		res.Meta = v.missing(a, l)
	}
	return res, nil
}

// outcome returns what the guard shows of a list, also as a key.
func (l *content) outcome(a *asker) (shown []bool, key string) {
	shown = a.visible(l.targets)
	bits := make([]byte, (len(shown)+7)/8)
	for i, ok := range shown {
		if ok {
			bits[i/8] |= 1 << (i % 8)
		}
	}
	return shown, "guard " + string(bits)
}

// body returns the body for an outcome, which is rendered once.
func (l *content) body(outcome string, render func() json.RawMessage) json.RawMessage {
	l.mu.Lock()
	body := l.bodies[outcome]
	l.mu.Unlock()
	if body != nil {
		return body
	}
	body = render()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bodies == nil || len(l.bodies) >= maxOutcomes {
		l.bodies = make(map[string]json.RawMessage)
	}
	l.bodies[outcome] = body
	return body
}

// listBody renders the entries that are shown, or all where shown is nil.
func listBody(k list, entries []*entry, shown []bool) json.RawMessage {
	var items mcpjson.Array
	for i, e := range entries {
		if shown == nil || shown[i] {
			items.Add(e.raw)
		}
	}
	var body mcpjson.Object
	body.Add(listInfo[k].items, items.JSON())
	return body.JSON()
}

// missing is the _meta that names the upstreams without an answer, as far as the
// principal knows of them.
func (v *View) missing(a *asker, l *rendered) json.RawMessage {
	var missing []string
	for i, m := range v.members(a.s) {
		if l.made[i] == nil && v.sees(a, m) {
			missing = append(missing, m.name)
		}
	}
	return unavailableMeta(missing)
}

// unavailableMeta is the _meta that names upstreams, or nil for none.
func unavailableMeta(names []string) json.RawMessage {
	if len(names) == 0 {
		return nil
	}
	var meta mcpjson.Object
	meta.Add(MetaUnavailable, textList(names))
	return meta.JSON()
}

// listAlone answers for one upstream without prefix: page by page as the upstream
// does, and untouched unless something is configured or hidden. While the upstream
// is down there is nothing, and _meta says why.
func (v *View) listAlone(a *asker, k list, m *member) (*protocol.Result, error) {
	down := &rendered{s: a.s, made: make([]*listing, 1), some: true, content: &content{}}
	if fault := m.settled(a.ctx, firstTimeout); fault != nil && a.ctx.Err() == nil {
		if v.own != "" {
			return nil, m.unavailable(fault)
		}
		return v.page(a, k, down)
	}
	res, err := m.ask(a.ctx, a.r, protocol.Discard)
	if unreachable(err) && a.ctx.Err() == nil && v.own == "" {
		return v.page(a, k, down)
	}
	filtered := k == listTools && len(v.ep.Include)+len(v.ep.Exclude) > 0
	if err != nil || m.plain() && !a.guarded() && !filtered {
		return res, err
	}
	return v.filter(a, k, m, res)
}

// filter returns a page of an upstream with what the caller sees of it.
func (v *View) filter(a *asker, k list, m *member, res *protocol.Result) (*protocol.Result, error) {
	l, err := v.filtered(a, k, m, res.Body)
	if err != nil || l == nil {
		return res, err
	}
	own := *res
	var shown []bool
	outcome := ""
	if a.guarded() {
		shown, outcome = l.outcome(a)
		cache := worse(protocol.Cache{TTLMillis: maxTTL}, res.Cache)
		cache.Private = true
		own.Cache = &cache
	}
	own.Body = l.body(outcome, func() json.RawMessage {
		items, _ := jsontok.Lookup(listBody(k, l.entries, shown), listInfo[k].items)
		return mcpjson.Replace(res.Body, listInfo[k].items, items)
	})
	return &own, nil
}

// maxFiltered bounds how many pages are remembered with what is served of them.
const maxFiltered = 32

// filteredPage is a page of an upstream and what is served of it.
type filteredPage struct {
	raw  json.RawMessage
	list list
	page *rendered
}

// filtered returns what is served of a page, or nil where the page has no list.
func (v *View) filtered(a *asker, k list, m *member, raw json.RawMessage) (*rendered, error) {
	v.mu.Lock()
	for _, p := range v.filters {
		if p.list == k && p.page.s == a.s && sameBytes(p.raw, raw) {
			v.mu.Unlock()
			return p.page, nil
		}
	}
	v.mu.Unlock()
	items, _ := jsontok.Lookup(raw, listInfo[k].items)
	if jsontok.KindOf(items) != jsontok.KindArray {
		return nil, nil //nolint:nilnil // an answer without a list shows nothing
	}
	l := &rendered{s: a.s, content: &content{}}
	err := jsontok.Array(items, func(_ int, raw []byte) error {
		value, _ := jsontok.Lookup(raw, listInfo[k].name)
		name, ok := jsontok.String(value)
		if !ok {
			return nil
		}
		e, ok := m.entry(a.s, k, item{name: name, raw: raw})
		if !ok || k == listTools && !v.shows(e.public) {
			return nil
		}
		l.entries = append(l.entries, &e)
		l.targets = append(l.targets, e.target)
		return nil
	})
	if err != nil {
		return nil, &protocol.UpstreamError{Kind: protocol.UpstreamMalformed, Message: "its list cannot be read", Err: err}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.filters) >= maxFiltered {
		v.filters = slices.Delete(v.filters, 0, 1)
	}
	v.filters = append(v.filters, filteredPage{raw: raw, list: k, page: l})
	return l, nil
}

// sameBytes compares pages. Upstreams share one body between results, so that it is
// seldom needed to look inside.
func sameBytes(a, b json.RawMessage) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || bytes.Equal(a, b))
}

// discover answers server/discover. It waits for upstreams that have never answered,
// and then declares what they may have.
func (v *View) discover(a *asker) (*protocol.Result, error) {
	if m := a.s.alone; m != nil && v.has(m) {
		if res, err := v.discoverAlone(a, m); res != nil || err != nil {
			return res, err
		}
	}
	capabilities := json.RawMessage(`{"logging":{},"tools":{"listChanged":true}}`)
	cache := protocol.Cache{TTLMillis: time.Minute.Milliseconds(), Private: a.guarded()}
	var (
		instructions said
		down         []string
	)
	members := v.members(a.s)
	described := describe(a, members)
	for i, m := range members {
		fault := m.settled(a.ctx, discoveryTimeout)
		if err := context.Cause(a.ctx); err != nil {
			return nil, err
		}
		if fault != nil {
			cache.TTLMillis = 0
			capabilities = union(capabilities, anything)
			if v.sees(a, m) {
				down = append(down, m.name)
			}
			continue
		}
		res := described[i]
		if res == nil { // it does not say what it is
			capabilities = union(capabilities, anything)
			continue
		}
		if more, ok := jsontok.Lookup(res.Body, "capabilities"); ok {
			capabilities = union(capabilities, more)
		}
		raw, _ := jsontok.Lookup(res.Body, "instructions")
		if text, _ := jsontok.String(raw); text != "" && v.sees(a, m) {
			instructions = append(instructions, saying{m.name, text})
		}
		cache = worse(cache, res.Cache)
	}
	var body mcpjson.Object
	body.Add("supportedVersions", protocol.AppendRevisions(nil))
	body.Add("capabilities", announced(capabilities))
	if len(instructions) > 0 {
		body.Add("instructions", jsontok.AppendString(nil, instructions.text()))
	}
	return &protocol.Result{Body: body.JSON(), Meta: unavailableMeta(down), Cache: &cache, Server: a.s.cfg.Server}, nil
}

// describe returns what upstreams say of themselves to clients of the caller's side,
// each nil where it says nothing.
func describe(a *asker, members []*member) []*protocol.Result {
	ctx, cancel := context.WithTimeout(a.ctx, discoveryTimeout)
	defer cancel()
	results := make([]*protocol.Result, len(members))
	var wg sync.WaitGroup
	for i, m := range members {
		wg.Go(func() {
			if m.settled(ctx, discoveryTimeout) == nil {
				results[i] = m.described(ctx, a.era.side())
			}
		})
	}
	wg.Wait()
	return results
}

// anything is what an upstream may have of which nothing is known.
var anything = json.RawMessage(`{"resources":{"listChanged":true,"subscribe":true},"prompts":{"listChanged":true},"completions":{}}`)

// announced returns capabilities with listChanged wherever there are lists: they
// change with the upstreams that are there.
func announced(capabilities json.RawMessage) json.RawMessage {
	for _, name := range []string{"tools", "prompts", "resources"} {
		if value, ok := jsontok.Lookup(capabilities, name); ok && jsontok.KindOf(value) == jsontok.KindObject {
			capabilities = mcpjson.Replace(capabilities, name, mcpjson.Set(value, "listChanged", []byte("true")))
		}
	}
	return capabilities
}

// discoverAlone has the only upstream answer server/discover. It returns nil where
// that must be said without it.
func (v *View) discoverAlone(a *asker, m *member) (*protocol.Result, error) {
	if m.settled(a.ctx, discoveryTimeout) != nil {
		return nil, nil //nolint:nilnil // it is down
	}
	ctx, cancel := context.WithTimeout(a.ctx, discoveryTimeout)
	defer cancel()
	res, err := m.ask(ctx, a.r, protocol.Discard)
	if err == nil || a.ctx.Err() != nil {
		return res, err
	}
	if ctx.Err() != nil {
		return m.discovered[sideModern].Load(), nil
	}
	if unreachable(err) {
		return nil, nil //nolint:nilnil // it is down
	}
	return nil, err
}

// union returns an object with the members of both, and of objects among them in
// turn. Otherwise a wins, but true wins over false.
func union(a, b json.RawMessage) json.RawMessage {
	if jsontok.KindOf(a) != jsontok.KindObject || jsontok.KindOf(b) != jsontok.KindObject {
		if string(b) == "true" {
			return b
		}
		return a
	}
	var o mcpjson.Object
	// Both are valid.
	_ = jsontok.Object(a, func(key, value []byte) error {
		if other, ok := jsontok.Lookup(b, string(key)); ok {
			value = union(value, other)
		}
		o.Add(string(key), value)
		return nil
	})
	_ = jsontok.Object(b, func(key, value []byte) error {
		if _, ok := jsontok.Lookup(a, string(key)); !ok {
			o.Add(string(key), value)
		}
		return nil
	})
	return o.JSON()
}
