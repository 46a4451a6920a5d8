package mux

import (
	"context"
	"errors"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/toolname"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// schemeOf returns what begins the URIs of an upstream, without the '+': its name
// in lower case with '-' for '_', which makes a URI scheme of it.
func schemeOf(upstream string) string {
	scheme := strings.ReplaceAll(strings.ToLower(upstream), "_", "-")
	if c := scheme[0]; c < 'a' || c > 'z' {
		return "x" + scheme // a scheme begins with a letter (RFC 3986, section 3.1)
	}
	return scheme
}

// member is an upstream as one snapshot serves it. It is immutable.
type member struct {
	*conn
	spec     Upstream
	prefixed bool
	several  bool            // clients must be told which upstream has failed
	scheme   string          // of its URIs, with the '+', where it is prefixed
	tools    *toolname.Names // of its tools
	// public is the member as clients are shown it, where this one shows the own
	// names of the same upstream, and nil otherwise.
	public *member
}

func newMember(c *conn, spec *Upstream, prefix string, several bool) *member {
	m := &member{
		conn: c, spec: *spec, prefixed: prefix != "", several: several,
		tools: toolname.New(prefix, spec.Tools.Include, spec.Tools.Exclude, spec.Tools.Rename),
	}
	if m.prefixed {
		m.scheme = schemeOf(spec.Name) + "+"
	}
	return m
}

// ownNames returns the member under its own names. It serves what m serves.
func (m *member) ownNames() *member {
	return &member{conn: m.conn, spec: m.spec, several: m.several, public: m}
}

// ask passes a request on. Its faults name the upstream, where there are several.
func (m *member) ask(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	res, err := m.conn.ask(ctx, r, n)
	if fault, ok := errors.AsType[*protocol.UpstreamError](err); ok && m.several {
		own := *fault
		own.Message = "upstream " + m.name + ": " + fault.Message
		return nil, &own
	}
	return res, err
}

// plain reports whether the names and the items of the upstream stay as they are.
func (m *member) plain() bool { return !m.prefixed && m.spec.Tools.zero() }

// publicOf returns the name that clients see of something in a list.
func (m *member) publicOf(k list, own string) string {
	if m.public != nil {
		return m.public.publicOf(k, own)
	}
	switch k {
	case listTools:
		name, _ := m.publicTool(own)
		return name
	case listPrompts:
		return m.publicPrompt(own)
	default:
		return m.publicURI(own)
	}
}

// publicTool returns the public name of a tool, and false for one that is not
// served.
func (m *member) publicTool(own string) (string, bool) {
	if m.public != nil {
		_, ok := m.public.publicTool(own)
		return own, ok
	}
	return m.tools.Public(own)
}

// publicPrompt returns the public name of a prompt.
func (m *member) publicPrompt(own string) string {
	if !m.prefixed {
		return own
	}
	return m.spec.Name + "_" + own
}

// ownTool returns the own name of the tool that a public name without its prefix
// stands for, and false where none has it.
func (m *member) ownTool(name string) (string, bool) {
	if m.public != nil {
		return m.publicTool(name)
	}
	return m.tools.Own(name)
}

// prefixedMember returns the upstream whose prefix a name has, and the rest of the
// name. Names of upstreams are such that only one can fit.
func (s *snapshot) prefixedMember(name string) (*member, string) {
	for i := range min(len(name), 33) { // a name of 32, and '_'
		if name[i] == '_' {
			if m := s.byName[name[:i]]; m != nil && m.prefixed {
				return m, name[i+1:]
			}
		}
	}
	return nil, ""
}

// uriMember returns the upstream that a URI belongs to, and its own URI.
func (s *snapshot) uriMember(uri string) (*member, string) {
	if scheme, rest, ok := strings.Cut(uri, "+"); ok {
		if m := s.byScheme[scheme]; m != nil {
			return m, rest
		}
	}
	if s.alone != nil {
		return s.alone, uri
	}
	var (
		found *member
		best  = -1
	)
	for _, c := range s.claims {
		if len(c.prefix) > best && strings.HasPrefix(uri, c.prefix) {
			found, best = c.member, len(c.prefix)
		}
	}
	return found, uri
}

// publicURI returns the public form of a URI or of a template of URIs.
func (m *member) publicURI(own string) string { return m.scheme + own }

func isObject(raw []byte) bool {
	return jsontok.KindOf(raw) == jsontok.KindObject && jsontok.Valid(raw, jsontok.Limits{}) == nil
}

func isValue(raw []byte) bool { return jsontok.Valid(raw, jsontok.Limits{}) == nil }
