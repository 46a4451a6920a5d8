package document

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
)

const (
	// maxViolations bounds the faults of one pass of the codec.
	maxViolations = 1000
	// maxPasses bounds how often a document is decoded without what had faults
	// before.
	maxPasses = 4
)

// Places leads from the paths of a message back to its document.
type Places struct {
	file string
	at   map[string]*place
	// bad are the paths that have faults, as people read them: they do not change
	// when something is left out.
	bad map[string]bool
	// unknown are the paths of mappings with unknown keys.
	unknown map[string]bool
}

// place is where a path stands.
type place struct {
	line, column       int // of the value
	keyLine, keyColumn int // of its key, or of the value where it has none
	shown              string
	node               *Node
	member             *Member // or nil
}

// Decode reads a tree into a message, which should be empty. What has a fault is
// left out. Paths are those of package fieldpath, such as
// upstreams["a"].headers["b"][0].
//
// Keys are JSON names or names of the .proto file. In messages of the package
// strict they are JSON names only.
func Decode(file string, root *Node, m proto.Message, strict protoreflect.FullName) (*Places, fault.Faults) {
	p := &Places{file: file, at: make(map[string]*place), bad: make(map[string]bool), unknown: make(map[string]bool)}
	md := m.ProtoReflect().Descriptor()
	codec, err := transcode.New(md, nil, transcode.Options{MaxViolations: maxViolations, MaxDepth: 2 * maxDepth})
	if err != nil {
		return p, fault.Faults{p.Fault("", err.Error())}
	}
	var faults fault.Faults
	for range maxPasses {
		w := &writer{Places: p, strict: strict}
		w.root(root, md)
		faults = append(faults, w.faults...)
		wire, err := codec.AppendWire(nil, w.out)
		e, ok := errors.AsType[*transcode.ArgumentError](err)
		switch {
		case ok:
			for _, v := range e.Violations {
				faults = append(faults, p.violation(v))
			}
			continue
		case err != nil:
			return p, append(faults, p.Fault("", err.Error()))
		}
		if err := proto.Unmarshal(wire, m); err != nil {
			faults = append(faults, p.Fault("", err.Error()))
		}
		break
	}
	return p, faults
}

// Node returns the node at a path, or nil.
func (p *Places) Node(path string) *Node {
	if at := p.at[path]; at != nil {
		return at.node
	}
	return nil
}

// Fault returns a fault at the value of a path. Where that has no place, such as
// a key that is missing, it is that of what should hold it.
func (p *Places) Fault(path, problem string) fault.Fault {
	at, shown := p.find(path)
	f := fault.Fault{File: p.file, Path: shown, Problem: problem}
	if at != nil {
		f.Line, f.Column = at.line, at.column
	}
	return f
}

// KeyFault returns a fault at the key of a path.
func (p *Places) KeyFault(path, problem string) fault.Fault {
	f := p.Fault(path, problem)
	if at := p.at[path]; at != nil {
		f.Line, f.Column = at.keyLine, at.keyColumn
	}
	return f
}

// Bad reports whether there is a fault already that explains one at a path: at
// the path, below it, or at an unknown key beside it.
func (p *Places) Bad(path string) bool {
	_, shown := p.find(path)
	if p.unknown[shown] || p.unknown[parent(shown)] {
		return true
	}
	for bad := range p.bad {
		if rest, ok := strings.CutPrefix(bad, shown); ok && (rest == "" || shown == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// find returns the place of a path, or of the nearest one around it that has
// any, and the path as people read it.
func (p *Places) find(path string) (*place, string) {
	rest := ""
	for at := path; ; at = parent(at) {
		if found := p.at[at]; found != nil {
			rest = strings.TrimPrefix(path, at)
			if found.shown == "" {
				rest = strings.TrimPrefix(rest, ".")
			}
			return found, found.shown + plain(rest)
		}
		if at == "" {
			return nil, plain(path)
		}
	}
}

// quotedKey matches a map key in a path that needs no quotes to be read.
var quotedKey = regexp.MustCompile(`\["([A-Za-z0-9_-]+)"\]`)

// plain returns a path as people read it.
func plain(path string) string { return quotedKey.ReplaceAllString(path, ".$1") }

// parent cuts the last step from a path.
func parent(path string) string {
	if strings.HasSuffix(path, `"]`) {
		for i := len(path) - 3; i > 0; i-- {
			if strings.HasPrefix(path[i:], `["`) && quoted(path[i+1:len(path)-1]) {
				return path[:i]
			}
		}
	}
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}

func quoted(s string) bool {
	_, err := strconv.Unquote(s)
	return err == nil
}

// violation returns the fault of a violation, and leaves what it is about out of
// further passes.
func (p *Places) violation(v transcode.Violation) fault.Fault {
	at, _ := p.find(v.Path)
	f := p.Fault(v.Path, problemOf(v.Problem))
	f.Suggestions = v.Suggestions
	expanded := at != nil && at.node != nil && at.node.Raw != ""
	if v.Expected != "" {
		f.Problem += "; want " + v.Expected
	}
	switch {
	case v.Seen == "":
	case expanded:
		f.Problem += ", got " + strconv.Quote(clip(at.node.Raw))
	default:
		f.Problem += ", got " + seen(v.Seen)
	}
	if at == nil {
		return f
	}
	p.bad[f.Path] = true
	if at.member != nil {
		at.member.skip = true
	}
	switch {
	case at.node != nil:
		at.node.skip = true
	case at.member != nil: // an unknown key
		p.unknown[parent(f.Path)] = true
		f.Line, f.Column = at.keyLine, at.keyColumn
	}
	return f
}

// problemOf words a problem for people who write a file, not for models.
func problemOf(problem string) string {
	switch {
	case strings.HasPrefix(problem, "unknown field"):
		return "unknown key"
	case strings.HasPrefix(problem, "no value of "):
		return "unknown value"
	default:
		return problem
	}
}

// seen is [problemOf] for what was there.
func seen(text string) string {
	switch text {
	case "an object":
		return Map.String()
	case "an array":
		return List.String()
	default:
		return text
	}
}

// writer writes a tree as JSON for the codec.
type writer struct {
	*Places

	strict protoreflect.FullName
	out    []byte
	faults fault.Faults
}

func (w *writer) root(n *Node, md protoreflect.MessageDescriptor) {
	w.at[""] = &place{line: n.Line, column: n.Column, keyLine: n.Line, keyColumn: n.Column, node: n}
	if n.Kind == Null || n.skip {
		w.out = append(w.out, "{}"...)
		return
	}
	if n.Kind != Map {
		w.wrong("", n, "a mapping of keys to values")
		w.out = append(w.out, "{}"...)
		return
	}
	w.message(n, md, "", "")
}

// wrong reports a value of the wrong kind, once.
func (w *writer) wrong(path string, n *Node, want string) {
	w.refuse(path, n, fmt.Sprintf("wrong type; want %s, got %s", want, n.Kind))
}

func (w *writer) refuse(path string, n *Node, problem string) {
	if n.skip {
		return
	}
	n.skip = true
	f := w.Fault(path, problem)
	w.bad[f.Path] = true
	w.faults = append(w.faults, f)
}

// put notes where a value stands.
func (w *writer) put(path, shown string, n *Node, m *Member) {
	at := &place{line: n.Line, column: n.Column, keyLine: n.Line, keyColumn: n.Column, shown: shown, node: n, member: m}
	if m != nil {
		at.keyLine, at.keyColumn = m.Line, m.Column
	}
	w.at[path] = at
}

// NoPlaces returns the places of a message that comes from no document.
func NoPlaces() *Places { return &Places{} }

// Each visits the places of all values.
func (p *Places) Each(visit func(path string, n *Node)) {
	for path, at := range p.at {
		if at.node != nil {
			visit(path, at.node)
		}
	}
}
