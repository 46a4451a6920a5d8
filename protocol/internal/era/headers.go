package era

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol/internal/peer"
)

const (
	// headerKey is the keyword of a schema that mirrors a parameter.
	headerKey = "x-mcp-header"
	// maxIdentities bounds for how many callers tools are remembered.
	maxIdentities = 256
	// maxTools bounds how many tools are remembered for each.
	maxTools = 10_000
)

// headers remembers which parameters of which tools go into headers. What one
// caller sees of a tool says nothing about what another one sees.
type headers struct {
	log *slog.Logger

	mu      sync.Mutex
	callers map[string]*toolPlans
}

type toolPlans struct {
	complete bool // the whole list has been read
	tools    map[string]headerPlan
}

// headerPlan is the parameters of one tool that go into headers.
type headerPlan []mirrored

type mirrored struct {
	header string
	path   []string
}

// plan returns the plan of a tool, and false where it might have one that is
// not known.
func (h *headers) plan(identity, tool string) (headerPlan, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.callers[identity]
	if c == nil {
		return nil, false
	}
	plan, ok := c.tools[tool]
	return plan, ok || c.complete
}

func (h *headers) forget(identity string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.callers, identity)
}

func (h *headers) listed(identity string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of(identity).complete = true
}

func (h *headers) of(identity string) *toolPlans {
	c := h.callers[identity]
	if c == nil {
		if h.callers == nil || len(h.callers) >= maxIdentities {
			h.callers = make(map[string]*toolPlans)
		}
		c = &toolPlans{tools: make(map[string]headerPlan)}
		h.callers[identity] = c
	}
	return c
}

// learn reads the result of a tools/list, and returns it without the tools
// whose x-mcp-header is against the rules: clients must not show them
// (basic/transports/streamable-http, Schema Extension).
func (h *headers) learn(ctx context.Context, identity string, body json.RawMessage) (json.RawMessage, error) {
	tools, ok := jsontok.Lookup(body, "tools")
	if !ok {
		return body, nil
	}
	var (
		kept    = []byte{'['}
		removed bool
		plans   = make(map[string]headerPlan)
	)
	err := jsontok.Array(tools, func(_ int, tool []byte) error {
		name, plan, err := toolPlan(tool)
		if err != nil {
			h.log.WarnContext(ctx, "a tool was left out because of its x-mcp-header", "tool", name, "error", err)
			removed = true
			return nil
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(kept, tool...)
		plans[name] = plan
		return nil
	})
	if err != nil {
		return nil, peer.Malformed(err, "the MCP server's list of tools cannot be read")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.of(identity)
	for name, plan := range plans {
		if len(c.tools) < maxTools {
			c.tools[name] = plan
		}
	}
	if removed {
		body = mcpjson.Replace(body, "tools", append(kept, ']'))
	}
	return body, nil
}

func toolPlan(tool []byte) (name string, plan headerPlan, err error) {
	if jsontok.KindOf(tool) != jsontok.KindObject {
		return "", nil, nil // the client's affair
	}
	raw, _ := jsontok.Lookup(tool, "name")
	name, _ = jsontok.String(raw)
	schema, _ := jsontok.Lookup(tool, "inputSchema")
	plan, err = compileHeaders(schema)
	return name, plan, err
}

// compileHeaders finds the parameters of a schema that go into headers.
func compileHeaders(schema json.RawMessage) (headerPlan, error) {
	// A key written with escapes needs the full scan as well.
	if !strings.Contains(string(schema), headerKey) && !strings.Contains(string(schema), `\u00`) {
		return nil, nil
	}
	w := &schemaWalk{names: make(map[string]bool)}
	err := w.schema(schema, nil, true)
	return w.plan, err
}

type schemaWalk struct {
	plan  headerPlan
	names map[string]bool
}

// schema looks at one schema. path is that of the value it describes, static
// as long as only properties lead there. The depth is bounded, because jsontok
// has validated all of the text.
func (w *schemaWalk) schema(raw json.RawMessage, path []string, static bool) error {
	if jsontok.KindOf(raw) != jsontok.KindObject {
		return nil // true, false, or a fault that is not ours to find
	}
	return jsontok.Object(raw, func(k, value []byte) error {
		switch key := string(k); key {
		case headerKey:
			return w.annotated(raw, value, path, static)
		case "properties":
			return members(value, func(name string, schema []byte) error {
				return w.schema(schema, append(slices.Clip(path), name), static)
			})
		case "patternProperties", "$defs", "definitions", "dependentSchemas":
			return members(value, func(_ string, schema []byte) error { return w.schema(schema, nil, false) })
		case "items", "prefixItems", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "contains", "additionalItems",
			"additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema":
			if jsontok.KindOf(value) != jsontok.KindArray {
				return w.schema(value, nil, false)
			}
			return jsontok.Array(value, func(_ int, schema []byte) error { return w.schema(schema, nil, false) })
		}
		return nil
	})
}

func members(raw []byte, visit func(name string, value []byte) error) error {
	if jsontok.KindOf(raw) != jsontok.KindObject {
		return nil
	}
	return jsontok.Object(raw, func(k, v []byte) error { return visit(string(k), v) })
}

func (w *schemaWalk) annotated(schema, value []byte, path []string, static bool) error {
	name, ok := jsontok.String(value)
	switch {
	case !ok || !isToken(name):
		return fmt.Errorf("%s %.100s is no name for a header", headerKey, value)
	case !static || len(path) == 0:
		return fmt.Errorf("%s %q is where no chain of properties leads", headerKey, name)
	case w.names[strings.ToLower(name)]:
		return fmt.Errorf("%s %q is there twice", headerKey, name)
	}
	raw, _ := jsontok.Lookup(schema, "type")
	switch t, _ := jsontok.String(raw); t {
	case "string", "integer", "boolean":
	default:
		return fmt.Errorf("%s %q is on a parameter whose type is not string, integer or boolean", headerKey, name)
	}
	w.names[strings.ToLower(name)] = true
	w.plan = append(w.plan, mirrored{header: "Mcp-Param-" + name, path: path})
	return nil
}

// isToken reports whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		alnum := '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		return !alnum && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// apply sets the headers of a call with the given arguments.
func (p headerPlan) apply(header http.Header, arguments json.RawMessage) {
	for _, m := range p {
		value := []byte(arguments)
		for _, name := range m.path {
			value, _ = jsontok.Lookup(value, name)
		}
		if text, err := headerText(value); err == nil {
			header.Set(m.header, mcpjson.EncodeHeader(text))
		}
	}
}

// errNoHeader is for values that have no header: null, absent, or of a type
// that the server will refuse by itself.
var errNoHeader = errors.New("the value has no header")

func headerText(value []byte) (string, error) {
	switch jsontok.KindOf(value) {
	case jsontok.KindString:
		s, _ := jsontok.String(value)
		return s, nil
	case jsontok.KindBool:
		return string(value), nil
	case jsontok.KindNumber:
		// Exponents would make huge numbers of short text.
		if !strings.ContainsAny(string(value), ".eE") {
			return string(value), nil
		}
		const limit = 32
		if len(value) > limit || strings.Contains(strings.ToLower(string(value)), "e") {
			return string(value), nil
		}
		if r, ok := new(big.Rat).SetString(string(value)); ok && r.IsInt() {
			return r.Num().String(), nil
		}
		return string(value), nil
	}
	return "", errNoHeader
}
