package mux

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// compiled is a listing as one snapshot serves it: under public names, without what
// is filtered, with overrides.
type compiled struct {
	member  *member
	entries []entry
	own     map[string]*entry // by own names
	public  map[string]*entry // by public names
}

// entry is an item of a list with its public name.
type entry struct {
	own, public string
	raw         json.RawMessage
	target      *protocol.Target
}

// compile returns a listing as m serves it.
func (m *member) compile(l *listing, k list, s *snapshot) *compiled {
	slot := &l.compiled
	if m.public != nil {
		slot = &l.compiledOwn
	}
	if c := slot.Load(); c != nil && c.member == m {
		return c
	}
	c := &compiled{member: m, own: make(map[string]*entry, len(l.items)), public: make(map[string]*entry, len(l.items))}
	c.entries = make([]entry, 0, len(l.items)) // pointers into it stay good
	for _, it := range l.items {
		e, ok := m.entry(s, k, it)
		if !ok {
			continue
		}
		if _, taken := c.public[e.public]; taken {
			continue // two long names with one hash, or an upstream that says things twice
		}
		c.entries = append(c.entries, e)
		last := &c.entries[len(c.entries)-1]
		c.own[e.own], c.public[e.public] = last, last
	}
	slot.Store(c)
	return c
}

// entry returns an item of a list as m serves it, and false where it does not.
func (m *member) entry(s *snapshot, k list, it item) (entry, bool) {
	e := entry{own: it.name, public: it.name, raw: it.raw}
	switch k {
	case listTools:
		name, ok := m.publicTool(it.name)
		if !ok {
			return e, false
		}
		e.public = name
		e.raw = m.present(it)
	case listPrompts:
		e.public = m.publicPrompt(it.name)
	case listResources, listTemplates:
		e.public = m.publicURI(it.name)
		if owner, _ := s.uriMember(e.public); owner != m {
			return e, false
		}
	default:
	}
	if !m.prefixed && k != listResources && k != listTemplates {
		if owner, _ := s.prefixedMember(e.public); owner != nil {
			return e, false // the name begins as those of another upstream do
		}
	}
	if e.public != it.name {
		e.raw = mcpjson.Replace(e.raw, listInfo[k].name, jsontok.AppendString(nil, e.public))
	}
	e.target = m.target(s, k, e.own, it.raw)
	return e, true
}

// target describes an item of a list.
func (m *member) target(s *snapshot, k list, own string, raw json.RawMessage) *protocol.Target {
	t := newTarget(m, listInfo[k].kind, k, own)
	if !s.guarded {
		return t
	}
	resolver := m.resolver()
	if k == listTools {
		annotations, _ := jsontok.Lookup(raw, "annotations")
		if m.spec.TrustAnnotations || resolver != nil {
			t.Hints = t.Hints.With(annotations)
		}
	}
	if resolver != nil {
		if res := resolve(resolver, m.conn, probeFor(k, own)); res != nil && res.RPC != "" {
			t.RPC, t.Hints = res.RPC, res.Hints
		}
	}
	if k == listTools {
		t.Hints = t.Hints.With(m.spec.Tools.Override[own].Annotations)
	}
	return t
}

// probeFor returns a request for something in a list, for a resolver to name its
// RPC, or nil where there is none.
func probeFor(k list, own string) *protocol.Request {
	name := jsontok.AppendString(nil, own)
	var params mcpjson.Object
	var method string
	switch k {
	case listTools:
		method = protocol.MethodCallTool
		params.Add("name", name)
		params.Add("arguments", []byte("{}"))
	case listPrompts:
		method = protocol.MethodGetPrompt
		params.Add("name", name)
	case listResources, listTemplates:
		method = protocol.MethodReadResource
		params.Add("uri", name)
	default:
		return nil
	}
	return internalRequest(method, params.JSON(), protocol.Revision20260728)
}

// resolver returns what names the RPCs of the upstream, or nil.
func (m *member) resolver() protocol.Resolver {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, _ := m.server.(protocol.Resolver)
	return r
}

// resolve asks a resolver. It returns nil where that fails.
func resolve(resolver protocol.Resolver, c *conn, r *protocol.Request) *protocol.Resolution {
	if r == nil {
		return nil
	}
	res, err := c.resolve(context.Background(), resolver, r)
	if err != nil {
		return nil
	}
	return res
}

// resolve asks a resolver, whose panic is an error.
func (c *conn) resolve(ctx context.Context, resolver protocol.Resolver, r *protocol.Request) (res *protocol.Resolution, err error) {
	defer c.recovered(ctx, "resolving "+r.Method, &err)
	return resolver.Resolve(ctx, r)
}

// present returns a tool as its override has it.
func (m *member) present(it item) json.RawMessage {
	o, ok := m.spec.Tools.Override[it.name]
	if !ok {
		return it.raw
	}
	raw := it.raw
	if o.Title != "" {
		title := jsontok.AppendString(nil, o.Title)
		raw = mcpjson.Set(raw, "title", title)
		// Older clients read the title of the annotations.
		if annotations, ok := jsontok.Lookup(raw, "annotations"); ok {
			raw = mcpjson.Replace(raw, "annotations", mcpjson.Replace(annotations, "title", title))
		}
	}
	if o.Description != "" {
		raw = mcpjson.Set(raw, "description", jsontok.AppendString(nil, o.Description))
	}
	if o.Annotations != nil {
		annotations, _ := jsontok.Lookup(raw, "annotations")
		// It is valid.
		_ = jsontok.Object(o.Annotations, func(key, value []byte) error {
			annotations = mcpjson.Set(annotations, string(key), value)
			return nil
		})
		raw = mcpjson.Set(raw, "annotations", annotations)
	}
	if len(o.Set) > 0 {
		if schema, ok := jsontok.Lookup(raw, "inputSchema"); ok {
			raw = mcpjson.Replace(raw, "inputSchema", withoutProperties(schema, o.Set, m.resolver() != nil))
		}
	}
	return raw
}

// withoutProperties returns a schema of an object without some properties. rpc is
// true where they are fields of a message.
func withoutProperties(schema json.RawMessage, set map[string]json.RawMessage, rpc bool) json.RawMessage {
	fixed := func(name string) bool { return isFixed(set, name, rpc) }
	if properties, ok := jsontok.Lookup(schema, "properties"); ok {
		if rest, err := mcpjson.Split(properties, func(key string, _ []byte) bool { return fixed(key) }); err == nil {
			schema = mcpjson.Replace(schema, "properties", rest)
		}
	}
	if required, ok := jsontok.Lookup(schema, "required"); ok {
		var rest mcpjson.Array
		err := jsontok.Array(required, func(_ int, value []byte) error {
			if name, ok := jsontok.String(value); !ok || !fixed(name) {
				rest.Add(value)
			}
			return nil
		})
		if err == nil {
			schema = mcpjson.Replace(schema, "required", rest.JSON())
		}
	}
	return schema
}

// isFixed reports whether an argument is one of those that are fixed, also in
// another spelling: many servers do not tell upper from lower case, and fields of a
// message have two names, such as shelf_id and shelfId.
func isFixed(set map[string]json.RawMessage, name string, rpc bool) bool {
	if _, ok := set[name]; ok {
		return true
	}
	if rpc {
		name = strings.ReplaceAll(name, "_", "")
	}
	for key := range set {
		if rpc {
			key = strings.ReplaceAll(key, "_", "")
		}
		if strings.EqualFold(key, name) {
			return true
		}
	}
	return false
}
