package mux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/backoff"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	// maxPages bounds the pages of one list of one upstream, maxItems and
	// maxListBytes what is in them, and listTimeout the time that they take.
	maxPages     = 1000
	maxItems     = 50_000
	maxListBytes = 64 << 20
	listTimeout  = time.Minute

	// answerTimeout is how long a client that asks for a list waits for one
	// upstream. An upstream that has taken longer is waited for only lateTimeout
	// until latePause has passed.
	answerTimeout = 10 * time.Second
	lateTimeout   = time.Second
	latePause     = time.Minute

	// maxPrivate and maxPrivateBytes bound the private lists that are kept of one
	// upstream.
	maxPrivate      = 256
	maxPrivateBytes = 64 << 20
	// privateTTL is how long a private list is good whose upstream tells of
	// changes: what it tells all callers may not be all that changes for one.
	privateTTL = time.Minute
	// refreshPause is the time between attempts to refresh a list in the
	// background.
	refreshPause = 30 * time.Second
)

// list is a kind of list.
type list int

const (
	listTools list = iota
	listPrompts
	listResources
	listTemplates
	kindsOfLists
)

// listInfo is what is to know of a kind of list: its method, the member of the
// result with the items, the member of an item that names it, the notification of
// changes, and its bit in a filter of subscriptions.
var listInfo = [kindsOfLists]struct {
	method, items, name, notification, flag, noun string
	changed                                       changes
	kind                                          protocol.TargetKind
}{
	{protocol.MethodListTools, "tools", "name", protocol.NotificationToolsChanged, "toolsListChanged", "tool", toolsChanged, protocol.TargetTool},
	{protocol.MethodListPrompts, "prompts", "name", protocol.NotificationPromptsChanged, "promptsListChanged", "prompt", promptsChanged, protocol.TargetPrompt},
	{protocol.MethodListResources, "resources", "uri", protocol.NotificationResourcesChanged, "resourcesListChanged", "resource", resourcesChanged, protocol.TargetResource},
	{protocol.MethodListTemplates, "resourceTemplates", "uriTemplate", protocol.NotificationResourcesChanged, "resourcesListChanged", "resource template", resourcesChanged, protocol.TargetTemplate},
}

// listOf returns the kind of list that a method asks for.
func listOf(method string) (list, bool) {
	for l := range kindsOfLists {
		if listInfo[l].method == method {
			return l, true
		}
	}
	return 0, false
}

// era is a group of revisions whose clients are shown the same lists.
type era int

const (
	eraModern era = iota
	era2025       // knows tasks as 2025-11-25 has them
	eraOlder
	eras
)

// revisions are those in which lists are read for an era.
var revisions = [eras]protocol.Revision{protocol.Revision20260728, protocol.Revision20251125, protocol.Revision20250618}

func eraOf(r protocol.Revision) era {
	switch {
	case r.Modern():
		return eraModern
	case r == protocol.Revision20251125:
		return era2025
	}
	return eraOlder
}

// side is one of the two ways in which servers are spoken to: by requests that stand
// alone, or in sessions. A server that knows both may serve different lists, and is
// followed in both.
type side int

const (
	sideModern side = iota
	sideLegacy
	sides
)

func (e era) side() side {
	if e == eraModern {
		return sideModern
	}
	return sideLegacy
}

// sideRevisions are those in which changes are followed.
var sideRevisions = [sides]protocol.Revision{protocol.Revision20260728, protocol.LatestLegacy}

// listing is what an upstream lists, by its own names. It is immutable.
type listing struct {
	id    uint64
	items []item
	cache protocol.Cache
	size  int

	// compiled is the listing for the member that it was last used for, and
	// compiledOwn that for the last one that shows own names.
	compiled, compiledOwn atomic.Pointer[compiled]
}

type item struct {
	name string
	raw  json.RawMessage
}

var listingID atomic.Uint64

// listKey tells the lists of one upstream apart. principal is empty for the list
// that all callers share.
type listKey struct {
	list      list
	era       era
	principal string
}

// lists are the lists of one upstream, as far as they have been asked for.
type lists struct {
	conn   *conn
	follow [sides]sync.Once // begins to follow changes

	mu      sync.Mutex
	entries map[listKey]*cachedList
	private [kindsOfLists]bool        // must be read for each caller
	told    [sides][kindsOfLists]bool // the upstream tells of changes
	late    time.Time                 // when it last took too long
	clock   uint64
}

// cachedList is one list and how good it is.
type cachedList struct {
	listing *listing // the last one that could be read, or nil
	err     error    // why the last attempt failed, or nil
	fresh   time.Time
	expired bool // it has changed since
	again   bool // it has changed since the attempt under way began
	tried   time.Time
	used    uint64
	reading chan struct{} // closed when the attempt under way is over, or nil
}

// everyList expires all lists.
const everyList = toolsChanged | promptsChanged | resourcesChanged

// key returns which list a caller is shown.
func (l *lists) key(k list, e era, principal *protocol.Principal) listKey {
	key := listKey{list: k, era: e}
	if l.private[k] && !principal.Internal() && principal.Key() != noCredentials {
		key.principal = principal.Key()
	}
	return key
}

// noCredentials is the key of callers that bring no credentials. An upstream can
// tell them as little apart as it can tell them from this program.
var noCredentials = (*protocol.Principal)(nil).Key()

// peek returns the last list that a caller was shown, or nil, and whether there
// has been an attempt to read it. It never asks the upstream.
func (l *lists) peek(k list, e era, principal *protocol.Principal) (*listing, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.entries[l.key(k, e, principal)]
	if c == nil {
		return nil, false
	}
	return c.listing, !c.tried.IsZero()
}

// known returns a list that all callers of some era share, or nil where there is none
// yet, and the era.
func (l *lists) known(k list) (*listing, era) {
	for e := range eras {
		if found, _ := l.peek(k, e, protocol.InternalPrincipal()); found != nil {
			return found, e
		}
	}
	return nil, eraModern
}

// current returns the list that a caller is shown, until when it is good, and whether
// it is the caller's own. It returns nil where the upstream has to be asked.
func (l *lists) current(k list, e era, principal *protocol.Principal) (found *listing, until time.Time, private bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := l.key(k, e, principal)
	c := l.entries[key]
	if c == nil || !l.good(key, c) {
		return nil, time.Time{}, key.principal != ""
	}
	l.clock++
	c.used = l.clock
	until = c.fresh
	if l.told[e.side()][k] && key.principal == "" {
		until = time.Time{}
	}
	return c.listing, until, key.principal != ""
}

// outdated returns the last list that a caller was shown where the hurry allows it:
// one whose time has passed, but that nobody has said has changed. It is read again in
// the background.
func (l *lists) outdated(k list, e era, principal *protocol.Principal, hurry bool) *listing {
	if !hurry {
		return nil
	}
	l.mu.Lock()
	key := l.key(k, e, principal)
	c := l.entries[key]
	if key.principal != "" || c == nil || c.listing == nil || c.expired {
		l.mu.Unlock()
		return nil
	}
	found := c.listing
	l.mu.Unlock()
	l.refresh(listInfo[k].changed, refreshPause)
	return found
}

// good reports whether a list need not be read again.
func (l *lists) good(key listKey, c *cachedList) bool {
	if c.listing == nil || c.expired {
		return false
	}
	return key.principal == "" && l.told[key.era.side()][key.list] || time.Now().Before(c.fresh)
}

// get returns the list that the sender of a request is shown. Where it cannot be
// read anew, that is the last one.
func (l *lists) get(ctx context.Context, k list, r *protocol.Request) (*listing, error) {
	e := eraOf(r.Meta.Revision)
	l.followSide(e.side())
	for {
		if found, _, _ := l.current(k, e, r.Caller.Principal); found != nil {
			return found, nil
		}
		found, err := l.read(ctx, k, e, r)
		if err != nil && ctx.Err() == nil && r.Caller.Principal.Authenticated() && refused(err) && !l.isPrivate(k) {
			// This program has no credentials. The caller may have some.
			l.setPrivate(k)
			continue
		}
		if err == nil && found.cache.Private && !l.isPrivate(k) {
			l.setPrivate(k)
			if !r.Caller.Principal.Internal() && r.Caller.Key() != noCredentials {
				continue // it may be another one for this caller
			}
		}
		if errors.Is(err, context.Canceled) && ctx.Err() == nil && l.conn.ctx.Err() == nil {
			continue // another request of the caller was reading, and has gone
		}
		if err != nil && found != nil && ctx.Err() == nil {
			l.conn.log.DebugContext(ctx, "a list could not be read again; the last one is served", "method", listInfo[k].method, "error", err)
			err = nil
		}
		return found, err
	}
}

// refused reports whether an upstream wants credentials.
func refused(err error) bool {
	fault, ok := errors.AsType[*protocol.UpstreamError](err)
	return ok && (fault.Kind == protocol.UpstreamUnauthenticated || fault.Kind == protocol.UpstreamPermissionDenied)
}

func (l *lists) isPrivate(k list) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.private[k]
}

func (l *lists) setPrivate(k list) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.private[k] = true
	l.conn.hub.send(0) // what has been rendered counts no more
}

// read reads a list, or waits for who reads it already, but not longer than the
// upstream deserves. It returns the last list as well as an error.
func (l *lists) read(ctx context.Context, k list, e era, r *protocol.Request) (*listing, error) {
	l.mu.Lock()
	key := l.key(k, e, r.Caller.Principal)
	c := l.entry(key)
	patience := answerTimeout
	if !l.late.IsZero() && time.Since(l.late) < latePause {
		patience = lateTimeout
	}
	if c.reading == nil {
		c.reading = make(chan struct{})
		req := internalRequest(listInfo[k].method, nil, revisions[e])
		reading := l.conn.ctx
		if key.principal != "" {
			req.Caller, req.Meta = r.Caller, protocol.Meta{Revision: r.Meta.Revision, ClientInfo: r.Meta.ClientInfo, Capabilities: r.Meta.Capabilities}
			reading = ctx // nobody's credentials are used after he has gone
		}
		if !l.conn.spawn(func() { l.readInto(reading, key, c, req) }) {
			c.reading = nil
			defer l.mu.Unlock()
			return c.listing, errDrained
		}
	}
	done := c.reading
	l.mu.Unlock()

	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
		l.mu.Lock()
		defer l.mu.Unlock()
		return c.listing, c.err
	case <-timer.C:
		l.mu.Lock()
		defer l.mu.Unlock()
		if patience == answerTimeout {
			l.late = time.Now()
		}
		return c.listing, fmt.Errorf("no answer to %s within %v", listInfo[k].method, patience)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// entry returns the entry of a key, and makes it where there is none. The caller
// holds l.mu.
func (l *lists) entry(key listKey) *cachedList {
	c := l.entries[key]
	if c == nil {
		if l.entries == nil {
			l.entries = make(map[listKey]*cachedList)
		}
		c = &cachedList{}
		l.entries[key] = c
	}
	l.clock++
	c.used = l.clock
	return c
}

// readInto reads a list into its entry.
func (l *lists) readInto(ctx context.Context, key listKey, c *cachedList, r *protocol.Request) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	var (
		begun time.Time
		found *listing
		err   error
	)
	const attempts = 3 // at a list that changes while it is read
	for range attempts {
		begun = time.Now()
		l.mu.Lock()
		c.again = false
		l.mu.Unlock()
		found, err = l.conn.readList(ctx, key.list, r)
		l.mu.Lock()
		changed := c.again
		l.mu.Unlock()
		if !changed || err != nil {
			break
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	close(c.reading)
	c.reading = nil
	c.tried, c.err = time.Now(), err
	if err != nil {
		return
	}
	c.expired, c.again = c.again, false
	if time.Since(begun) < answerTimeout {
		l.late = time.Time{}
	}
	c.fresh = begun.Add(time.Duration(found.cache.TTLMillis) * time.Millisecond)
	if key.principal != "" && l.told[key.era.side()][key.list] && found.cache.TTLMillis == 0 {
		c.fresh = begun.Add(privateTTL)
	}
	if c.listing == nil || !same(c.listing, found) {
		c.listing = found
	}
	l.evict()
	l.conn.hub.send(0)
}

// same reports whether two lists show the same.
func same(a, b *listing) bool {
	if len(a.items) != len(b.items) || a.cache != b.cache {
		return false
	}
	for i := range a.items {
		if string(a.items[i].raw) != string(b.items[i].raw) {
			return false
		}
	}
	return true
}

// evict forgets the private lists that were used longest ago, where there are too
// many. The caller holds l.mu.
func (l *lists) evict() {
	for {
		var (
			count, size int
			oldest      *listKey
			used        uint64
		)
		for key, c := range l.entries {
			if key.principal == "" || c.reading != nil {
				continue
			}
			count++
			if c.listing != nil {
				size += c.listing.size
			}
			if oldest == nil || c.used < used {
				oldest, used = &key, c.used
			}
		}
		if count <= maxPrivate && size <= maxPrivateBytes || count <= 1 {
			return
		}
		delete(l.entries, *oldest)
	}
}

// expire has lists read again before they are shown.
func (l *lists) expire(what changes) {
	for s := range sides {
		l.expireSide(s, what)
	}
}

func (l *lists) expireSide(s side, what changes) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, c := range l.entries {
		if key.era.side() == s && listInfo[key.list].changed&what != 0 {
			c.expired, c.again = true, true
		}
	}
}

// refresh has the shared lists that are not good any more read in the background,
// for calls that depend on them.
func (l *lists) refresh(what changes, pause time.Duration) {
	for s := range sides {
		l.refreshSide(s, what, pause)
	}
}

func (l *lists) refreshSide(s side, what changes, pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, c := range l.entries {
		if key.era.side() != s || key.principal != "" || listInfo[key.list].changed&what == 0 || c.reading != nil || l.good(key, c) || time.Since(c.tried) < pause {
			continue
		}
		c.reading = make(chan struct{})
		r := internalRequest(listInfo[key.list].method, nil, revisions[key.era])
		if !l.conn.spawn(func() { l.readInto(l.conn.ctx, key, c, r) }) {
			c.reading = nil
		}
	}
}

// followSide begins to follow changes for the clients of a side.
func (l *lists) followSide(s side) {
	l.follow[s].Do(func() { l.conn.spawn(func() { l.followChanges(s) }) })
}

// followChanges keeps one subscription to the changes of the lists, for all
// callers of a side, until the upstream is closed or turns out to tell of nothing.
func (l *lists) followChanges(s side) {
	c := l.conn
	r := internalRequest(protocol.MethodListen, json.RawMessage(`{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}`), sideRevisions[s])
	pauses := c.pauses
	for {
		select {
		case <-c.available():
		case <-c.ctx.Done():
			return
		}
		begun := time.Now()
		_, err := c.direct(c.ctx, r, protocol.NotifierFunc(func(_ context.Context, n *protocol.Notification) error {
			l.hear(s, n)
			return nil
		}))
		l.tell(s, nil)
		if fault, ok := err.(*protocol.Error); ok && fault.Code == protocol.CodeMethodNotFound { //nolint:errorlint // no UpstreamError
			return
		}
		if backoff.Pause(c.ctx, pauses.After(time.Since(begun))) != nil {
			return
		}
	}
}

// hear takes a notification of the subscription to changes.
func (l *lists) hear(s side, n *protocol.Notification) {
	if n.Method == protocol.NotificationAcknowledged {
		filter, _ := jsontok.Lookup(n.Params, "notifications")
		l.tell(s, filter)
		return
	}
	var what changes
	for _, info := range listInfo {
		if n.Method == info.notification {
			what |= info.changed
		}
	}
	if what == 0 {
		return
	}
	l.expireSide(s, what)
	l.refreshSide(s, what, 0)
	l.conn.hub.sendTo(s, what)
}

// tell notes which changes the upstream tells of. What has changed before it began
// to tell is read again.
func (l *lists) tell(s side, filter []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k := range kindsOfLists {
		v, _ := jsontok.Lookup(filter, listInfo[k].flag)
		told := string(v) == "true"
		if told && !l.told[s][k] {
			for key, c := range l.entries {
				// A list that is being read now may be older than this. One that was
				// read before is good for its own time only.
				if key.era.side() == s && key.list == k && (c.reading != nil || !time.Now().Before(c.fresh)) {
					c.expired, c.again = true, true
				}
			}
		}
		l.told[s][k] = told
	}
	l.conn.hub.send(0)
}

// readList reads all pages of a list.
func (c *conn) readList(ctx context.Context, k list, r *protocol.Request) (*listing, error) {
	info := &listInfo[k]
	l := &listing{id: listingID.Add(1), cache: protocol.Cache{TTLMillis: maxTTL}}
	page := *r
	known, seen := make(map[string]bool), make(map[string]bool)
	for range maxPages {
		res, err := c.ask(ctx, &page, protocol.Discard)
		if fault, ok := errors.AsType[*protocol.Error](err); ok && fault.Code == protocol.CodeMethodNotFound {
			return l, nil // it has none
		}
		if err != nil {
			return nil, err
		}
		if l.size += len(res.Body); l.size > maxListBytes {
			return nil, fmt.Errorf("its %s is longer than %d bytes", info.method, maxListBytes)
		}
		l.cache = worse(l.cache, res.Cache)
		items, ok := jsontok.Lookup(res.Body, info.items)
		if !ok {
			return nil, fmt.Errorf("its %s has no %s", info.method, info.items)
		}
		err = jsontok.Array(items, func(_ int, raw []byte) error {
			v, _ := jsontok.Lookup(raw, info.name)
			name, ok := jsontok.String(v)
			if !ok || known[name] || len(l.items) >= maxItems {
				return nil // nobody could ask for it, or tell it from another
			}
			known[name] = true
			l.items = append(l.items, item{name: name, raw: raw})
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", info.method, err)
		}
		cursor, ok := jsontok.Lookup(res.Body, "nextCursor")
		if !ok || jsontok.KindOf(cursor) != jsontok.KindString || seen[string(cursor)] {
			return l, nil
		}
		seen[string(cursor)] = true
		page.Params = mcpjson.Set(r.Params, "cursor", cursor)
	}
	return l, nil
}

// maxTTL is the longest TTL of a list, in milliseconds.
const maxTTL = 60_000

// worse is what two caches allow together.
func worse(a protocol.Cache, b *protocol.Cache) protocol.Cache {
	if b == nil {
		return protocol.Cache{Private: a.Private}
	}
	return protocol.Cache{TTLMillis: min(a.TTLMillis, b.TTLMillis), Private: a.Private || b.Private}
}
