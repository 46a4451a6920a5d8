package document

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-bridge/mcp-bridge/bridge/fault"
)

// Bounds of a document.
const (
	// MaxBytes is how long a document may be.
	MaxBytes = 4 << 20
	// maxDepth is how deep it may be nested.
	maxDepth = 64
	// maxNodes is how many values it may have once its aliases are resolved.
	maxNodes = 200_000
	// maxAliases is how many aliases it may have.
	maxAliases = 1000
	// maxAliasBytes is how many bytes of text may come of aliases.
	maxAliasBytes = 1 << 20
)

// Kind is the kind of a value.
type Kind int

// The kinds.
const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Map
)

// String returns what people call the kind.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "a boolean"
	case Number:
		return "a number"
	case String:
		return "a string"
	case List:
		return "a list"
	case Map:
		return "a mapping"
	default:
		return "nothing"
	}
}

// Node is a value of a document, and where it stands.
type Node struct {
	Kind Kind
	// Text is the value of a scalar: the text of a string, or a boolean or a
	// number as JSON has it.
	Text string
	// Source is a scalar that is not a string as the document writes it: 0x10
	// or 1.10.
	Source string
	// Raw is what the document says where that is not Text: a string before it
	// was expanded. It is what may be shown.
	Raw string
	// Line and Column are where the value begins.
	Line, Column int

	Members []*Member
	Items   []*Node

	// skip is set where the value has a fault.
	skip bool
}

// Member is an entry of a mapping.
type Member struct {
	Key string
	// Line and Column are where the key begins.
	Line, Column int
	Value        *Node

	skip bool
}

// Get returns the value of a member, or nil.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for _, m := range n.Members {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// Drop removes a member.
func (n *Node) Drop(key string) {
	n.Members = slices.DeleteFunc(n.Members, func(m *Member) bool { return m.Key == key })
}

// Parse reads a document. JSON is what has a name that ends in .json or .jsonc,
// or begins like it and is no YAML. Faults that do not keep the rest from being
// understood come together with a tree. The tree of an empty document is Null.
func Parse(name string, data []byte) (*Node, fault.Faults) {
	p := &parser{file: name}
	switch {
	case len(data) > MaxBytes:
		p.fault(0, 0, "the file has more than %d bytes", MaxBytes)
		return nil, p.faults
	case !utf8.Valid(data):
		p.fault(0, 0, "the file is not UTF-8 text")
		return nil, p.faults
	}
	data = []byte(strings.TrimPrefix(string(data), "\ufeff"))
	clean, begins := cleanJSON(data)
	ext := strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/")))
	if begins && (ext == ".json" || ext == ".jsonc" || json.Valid(clean)) {
		return p.json(clean), p.faults
	}
	root := p.yaml(data)
	if root == nil && begins {
		// What begins with a brace and is no YAML was meant as JSON.
		p.faults = nil
		root = p.json(clean)
	}
	return root, p.faults
}

// Leave leaves the value out of the message, because it has a fault.
func (n *Node) Leave() { n.skip = true }
