package mux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// maxPages bounds the pages of one list of one part, maxItems and maxListBytes
// what is in them, and listTimeout the time that they take.
const (
	maxPages     = 1000
	maxItems     = 50_000
	maxListBytes = 64 << 20
	listTimeout  = time.Minute
)

// listMembers are the members of results that have the items.
var listMembers = map[string]string{
	protocol.MethodListTools:     "tools",
	protocol.MethodListPrompts:   "prompts",
	protocol.MethodListResources: "resources",
	protocol.MethodListTemplates: "resourceTemplates",
}

// listing is what one part lists.
type listing struct {
	items []item
	cache protocol.Cache
}

type item struct {
	name string
	raw  json.RawMessage
}

// list lists what all parts have, on one page.
func (m *Mux) list(ctx context.Context, r *protocol.Request) (*protocol.Result, error) {
	if _, ok := jsontok.Lookup(r.Params, "cursor"); ok {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.cursor is not one that %s has returned: there is one page", r.Method)
	}
	answers := m.readAll(ctx, r)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	names := m.names[r.Method]
	cache := protocol.Cache{TTLMillis: maxTTL}
	list := []byte{'['}
	for i, a := range answers {
		l, ok := a.(*listing)
		if !ok {
			cache.TTLMillis = 0
			continue
		}
		cache = worse(cache, &l.cache)
		for _, it := range l.items {
			k := key{m.parts[i], it.name}
			if names.given() {
				if public := names.of(k); public != it.name {
					it.raw = mcpjson.Replace(it.raw, "name", jsontok.AppendString(nil, public))
				}
			} else if !names.claim(k) {
				m.cfg.Logger.DebugContext(ctx, "two upstreams have it, the first is served", "what", it.name, "left_out", m.parts[i].name)
				continue
			}
			if len(list) > 1 {
				list = append(list, ',')
			}
			list = append(list, it.raw...)
		}
	}
	var body mcpjson.Object
	body.Add(listMembers[r.Method], append(list, ']'))
	return &protocol.Result{Body: body.JSON(), Meta: m.unavailable(answers), Cache: &cache}, nil
}

// maxTTL is the longest time that a list is said to be fresh, in milliseconds.
const maxTTL = 60_000

// readAll reads the lists of all parts and gives their items names.
func (m *Mux) readAll(ctx context.Context, r *protocol.Request) []any {
	answers := m.each(ctx, func(p *part) (any, error) {
		l, err := p.list(ctx, r, m.names[r.Method].member)
		if err != nil {
			return nil, err
		}
		return l, nil
	})
	if names := m.names[r.Method]; names.given() {
		var now []key
		for i, a := range answers {
			if l, ok := a.(*listing); ok {
				for _, it := range l.items {
					now = append(now, key{m.parts[i], it.name})
				}
			}
		}
		names.give(now)
	}
	return answers
}

// list reads all pages of a list of the part.
func (p *part) list(ctx context.Context, r *protocol.Request, member string) (*listing, error) {
	l := &listing{cache: protocol.Cache{TTLMillis: maxTTL}}
	page := *r
	size := 0
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	known, seen := make(map[string]bool), make(map[string]bool)
	for range maxPages {
		res, err := p.askSoon(ctx, &page)
		if fault, ok := errors.AsType[*protocol.Error](err); ok && fault.Code == protocol.CodeMethodNotFound {
			return l, nil // it has none
		}
		if err != nil {
			return nil, err
		}
		if size += len(res.Body); size > maxListBytes {
			return nil, fmt.Errorf("its %s is longer than %d bytes", r.Method, maxListBytes)
		}
		l.cache = worse(l.cache, res.Cache)
		items, ok := jsontok.Lookup(res.Body, listMembers[r.Method])
		if !ok {
			return nil, fmt.Errorf("its %s has no %s", r.Method, listMembers[r.Method])
		}
		err = jsontok.Array(items, func(_ int, raw []byte) error {
			v, _ := jsontok.Lookup(raw, member)
			name, ok := jsontok.String(v)
			if !ok || known[name] || len(l.items) >= maxItems {
				return nil // nobody could ask for it, or tell it from another
			}
			known[name] = true
			l.items = append(l.items, item{name: name, raw: raw})
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Method, err)
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
