package mux

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/toolname"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/internal/nearest"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// call is a request whose target has been found, by whatever name and detour.
type call struct {
	*asker

	member *member
	target *protocol.Target
	// request is what the upstream gets, by its own names.
	request *protocol.Request
	// unknown returns the error for a missing target. A target that the caller must
	// not have gets the same one.
	unknown func() error
	state   callState
}

// callTool answers tools/call.
func (v *View) callTool(a *asker, n protocol.Notifier) (*protocol.Result, error) {
	name, fault := text(a.r.Params, "name")
	if fault != nil {
		return nil, fault
	}
	unknown := func() error { return v.unknown(a, listTools, name) }
	f, ok := v.find(a, listTools, name)
	if !ok {
		return nil, unknown()
	}
	c := &call{asker: a, member: f.member, target: f.target(listTools), unknown: unknown}
	c.request = withText(a.r, "name", f.own, name)
	if set := f.member.spec.Tools.Override[f.own].Set; len(set) > 0 {
		if res, err := c.fix(set); res != nil || err != nil {
			return res, err
		}
	}
	res, err := v.run(c, n)
	if fault, refused := err.(*protocol.Error); refused && fault.Code == protocol.CodeInvalidParams && f.entry == nil && //nolint:errorlint // no UpstreamError
		f.member.resolver() != nil && a.listed(f.member, listTools, name) == nil {
		return nil, unknown() // an API does not know names of other upstreams
	}
	return res, err
}

// getPrompt answers prompts/get.
func (v *View) getPrompt(a *asker, n protocol.Notifier) (*protocol.Result, error) {
	name, fault := text(a.r.Params, "name")
	if fault != nil {
		return nil, fault
	}
	unknown := func() error { return v.unknown(a, listPrompts, name) }
	f, ok := v.find(a, listPrompts, name)
	if !ok {
		return nil, unknown()
	}
	c := &call{asker: a, member: f.member, target: f.target(listPrompts), unknown: unknown}
	c.request = withText(a.r, "name", f.own, name)
	return v.run(c, n)
}

// readResource answers resources/read.
func (v *View) readResource(a *asker, n protocol.Notifier) (*protocol.Result, error) {
	uri, fault := text(a.r.Params, "uri")
	if fault != nil {
		return nil, fault
	}
	unknown := func() error { return noResource(uri) }
	m, own, err := v.findURI(a, uri)
	if err != nil {
		return nil, err
	}
	c := &call{asker: a, member: m, target: newTarget(m, protocol.TargetResource, listResources, own), unknown: unknown}
	c.request = withText(a.r, "uri", own, uri)
	return v.run(c, n)
}

// complete answers completion/complete.
func (v *View) complete(a *asker, n protocol.Notifier) (*protocol.Result, error) {
	ref, ok := jsontok.Lookup(a.r.Params, "ref")
	if !ok || jsontok.KindOf(ref) != jsontok.KindObject {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.ref must be an object that names a prompt or a resource template")
	}
	c := &call{asker: a}
	if name, fault := text(ref, "name"); fault == nil {
		c.unknown = func() error { return v.unknown(a, listPrompts, name) }
		f, ok := v.find(a, listPrompts, name)
		if !ok {
			return nil, c.unknown()
		}
		c.member, c.target = f.member, newTarget(f.member, protocol.TargetCompletion, listPrompts, f.own)
		c.request = withRef(a.r, ref, "name", f.own, name)
		return v.run(c, n)
	}
	uri, fault := text(ref, "uri")
	if fault != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.ref must name a prompt, or a resource or resource template by its uri")
	}
	c.unknown = func() error { return errNoReference }
	m, own, err := v.findURI(a, uri)
	if err != nil {
		return nil, err
	}
	if a.s.strict() && !a.lists(m, uri) {
		return nil, c.unknown()
	}
	c.member, c.target = m, newTarget(m, protocol.TargetCompletion, listTemplates, own)
	c.request = withRef(a.r, ref, "uri", own, uri)
	return v.run(c, n)
}

// lists reports whether an upstream lists a template or a resource.
func (a *asker) lists(m *member, uri string) bool {
	return a.listed(m, listTemplates, uri) != nil || a.listed(m, listResources, uri) != nil
}

// errNoReference is what an API says of a template that it does not have, so a
// template that the caller must not have looks like one.
var errNoReference = protocol.Errorf(protocol.CodeInvalidParams, "params.ref names no prompt and no resource template that there is")

// found is the upstream of a name and its own name. entry is nil where it is not
// known to be listed.
type found struct {
	member *member
	own    string
	entry  *entry
}

// newTarget describes something of an upstream that is listed in k, if it is.
func newTarget(m *member, kind protocol.TargetKind, k list, own string) *protocol.Target {
	return &protocol.Target{Upstream: m.name, Kind: kind, Name: own, PublicName: m.publicOf(k, own), Hints: protocol.DefaultHints()}
}

// target returns what a request for f is about, a tool or a prompt.
func (f *found) target(k list) *protocol.Target {
	if f.entry != nil {
		return f.entry.target
	}
	return newTarget(f.member, listInfo[k].kind, k, f.own)
}

// find returns the upstream that a tool or prompt belongs to. It asks no upstream
// for a name that it does not know, but for its first list.
func (v *View) find(a *asker, k list, name string) (found, bool) {
	tool := k == listTools
	if tool && !v.shows(name) {
		return found{}, false
	}
	m, rest := a.s.alone, name
	if m == nil {
		m, rest = a.s.prefixedMember(name)
	}
	if m == nil {
		o, ok := v.unprefixed(a, k, name)
		if !ok || !v.has(o.member) {
			return found{}, false
		}
		return found{o.member, o.entry.own, o.entry}, true
	}
	if !v.has(m) {
		return found{}, false
	}
	f := found{member: m, own: rest}
	if tool {
		var ok bool
		if f.own, ok = m.ownTool(rest); !ok {
			return found{}, false
		}
	}
	// A name of full length may stand for a longer one.
	shortened := tool && m.prefixed && len(name) == toolname.MaxBytes
	if !a.s.strict() && !shortened {
		return f, true
	}
	if e := a.listed(m, k, name); e != nil {
		return found{m, e.own, e}, true
	}
	return f, !a.s.strict()
}

// findURI returns the upstream that a URI, or a template of some, belongs to.
func (v *View) findURI(a *asker, uri string) (*member, string, error) {
	if (a.guarded() || len(a.s.claims) > 0) && !strings.ContainsAny(uri, "{}") && !normalURI(uri) {
		return nil, "", &protocol.Error{
			Code: protocol.CodeInvalidParams, Message: fmt.Sprintf("the URI %q is not in the normal form of RFC 3986, section 6.2.2", clipped(uri)), Data: dataOf(uri),
		}
	}
	m, own := a.s.uriMember(uri)
	if m == nil || !v.has(m) {
		return nil, "", noResource(uri)
	}
	return m, own, nil
}

// unknown is the error for a name that nobody has, as far as the caller may know.
func (v *View) unknown(a *asker, k list, name string) error {
	info := &listInfo[k]
	text := fmt.Sprintf("there is no %s %q", info.noun, clipped(name))
	down, near := v.unavailable(a), nearest.Names(name, slices.Values(v.names(a, k, name)), "")
	if len(down) > 0 {
		text += " now, while these upstreams are unavailable: " + strings.Join(down, ", ")
	}
	switch {
	case len(near) > 0:
		text += fmt.Sprintf("; did you mean %s? %s names all of them", quoted(near), info.method)
	case len(down) == 0:
		text += fmt.Sprintf("; %s names those there are", info.method)
	}
	return protocol.Errorf(protocol.CodeInvalidParams, "%s", text)
}

// names returns the public names in the lists of upstreams but the given one, as far
// as they are known and the principal sees them.
func (v *View) names(a *asker, k list, but string) []string {
	var names []string
	var targets []*protocol.Target
	for _, m := range v.members(a.s) {
		l, _ := m.lists.peek(k, a.era, a.principal)
		if l == nil {
			continue
		}
		for _, e := range m.compile(l, k, a.s).entries {
			if e.public != but && (k != listTools || v.shows(e.public)) && !a.s.contested(v.mux.hub, k, a.era, e.public) {
				names, targets = append(names, e.public), append(targets, e.target)
			}
		}
	}
	if !a.guarded() {
		return names
	}
	var seen []string
	for i, shown := range a.visible(targets) {
		if shown {
			seen = append(seen, names[i])
		}
	}
	return seen
}

// quoted returns names in quotes, for a question.
func quoted(names []string) string {
	var b strings.Builder
	for i, name := range names {
		switch {
		case i > 0 && i == len(names)-1:
			b.WriteString(" or ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(name))
	}
	return b.String()
}

func noResource(uri string) error {
	return &protocol.Error{Code: protocol.CodeInvalidParams, Message: fmt.Sprintf("there is no resource %q", clipped(uri)), Data: dataOf(uri)}
}

// dataOf is the data of an error about a resource (server/resources, Error
// Handling).
func dataOf(uri string) json.RawMessage {
	var o mcpjson.Object
	o.Add("uri", jsontok.AppendString(nil, clip.URI(uri)))
	return o.JSON()
}

// withText returns a request with another value of a member, if it is another.
func withText(r *protocol.Request, member, value, was string) *protocol.Request {
	if value == was {
		return r
	}
	own := *r
	own.Params = mcpjson.Replace(r.Params, member, jsontok.AppendString(nil, value))
	return &own
}

// withRef is withText for a member of the reference of a completion.
func withRef(r *protocol.Request, ref json.RawMessage, member, value, was string) *protocol.Request {
	if value == was {
		return r
	}
	own := *r
	own.Params = mcpjson.Replace(r.Params, "ref", mcpjson.Replace(ref, member, jsontok.AppendString(nil, value)))
	return &own
}

// fix adds the fixed arguments of a tool. It refuses a call that gives one itself,
// in whatever spelling: with a result, because the model can do better.
func (c *call) fix(set map[string]json.RawMessage) (*protocol.Result, error) {
	arguments, ok := jsontok.Lookup(c.request.Params, "arguments")
	if !ok {
		arguments = []byte(`{}`)
	}
	resolver := c.member.resolver()
	if fixed, err := givesFixed(set, arguments, resolver != nil); fixed != nil || err != nil {
		return fixed, err
	}
	if resolver != nil {
		// The message has one spelling for each field. Fields that it does not know
		// it does not have.
		res, err := c.member.resolve(c.ctx, resolver, c.request)
		if err != nil {
			return nil, err
		}
		if res != nil && res.Message != nil {
			message, request, err := res.Message()
			if err != nil {
				return toolError(err.Error()), nil
			}
			if fixed, err := givesFixed(set, message, true); fixed != nil || err != nil {
				return fixed, err
			}
			// Its arguments are the message, or hold it beside options of the call.
			c.request = request
			c.pin(res.Pin)
			if arguments, ok = jsontok.Lookup(request.Params, "arguments"); !ok {
				arguments = []byte(`{}`)
			}
		}
	}
	for name, value := range set {
		arguments = mcpjson.Set(arguments, name, value)
	}
	own := *c.request
	own.Params = mcpjson.Set(c.request.Params, "arguments", arguments)
	c.request = &own
	return nil, nil //nolint:nilnil // nothing is in the way
}

// givesFixed returns the result for arguments that have one that is fixed.
func givesFixed(set map[string]json.RawMessage, arguments []byte, rpc bool) (*protocol.Result, error) {
	var given string
	err := jsontok.Object(arguments, func(key, _ []byte) error {
		if given == "" && isFixed(set, string(key), rpc) {
			given = string(key)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.arguments: %v", err)
	case given != "":
		return toolError(fmt.Sprintf("The argument %q is fixed for this tool and must be left out. Nothing was called.", clipped(given))), nil
	}
	return nil, nil //nolint:nilnil // nothing is in the way
}

// toolError is a result that tells a model what went wrong.
func toolError(text string) *protocol.Result {
	body := jsontok.AppendString([]byte(`{"content":[{"type":"text","text":`), text)
	return &protocol.Result{Body: append(body, `}],"isError":true}`...)}
}

// run asks the guard, then the upstream, and gives what it answers public names.
func (v *View) run(c *call, n protocol.Notifier) (*protocol.Result, error) {
	if err := v.openState(c); err != nil {
		return nil, err
	}
	if c.guarded() {
		if res, err := v.decide(c); res != nil || err != nil {
			return res, err
		}
	}
	res, err := c.member.ask(c.ctx, c.forward(), v.notifier(c, n))
	if err != nil {
		return nil, c.fault(err)
	}
	return v.result(c, res)
}

// fault hides from callers under a guard how an upstream words that it does not
// have a resource: that would tell those from ones that the guard refuses.
func (c *call) fault(err error) error {
	if !c.guarded() || c.target.Kind != protocol.TargetResource {
		return err
	}
	if fault, ok := err.(*protocol.Error); ok && (fault.Code == protocol.CodeInvalidParams || fault.Code == protocol.CodeResourceNotFound) { //nolint:errorlint // no UpstreamError
		return c.unknown()
	}
	return err
}
