package document

import (
	"fmt"
	"unicode/utf8"

	"github.com/mcp-bridge/mcp-bridge/bridge/fault"
)

// parser makes a tree of a text.
type parser struct {
	file   string
	faults fault.Faults
	nodes  int
	// tooMany is set once the bound of nodes has been reported.
	tooMany bool

	aliases    int
	aliasBytes int
	// inAlias is positive inside of what an alias stands for.
	inAlias int
}

func (p *parser) fault(line, column int, format string, args ...any) {
	p.faults = append(p.faults, fault.Fault{File: p.file, Line: line, Column: column, Problem: fmt.Sprintf(format, args...)})
}

// node counts a value. It reports false where there are too many, or it is too
// deep.
func (p *parser) node(line, column, depth int) bool {
	p.nodes++
	switch {
	case p.tooMany:
		return false
	case p.nodes > maxNodes:
		p.tooMany = true
		p.fault(line, column, "the file has more than %d values", maxNodes)
		return false
	case depth > maxDepth:
		p.fault(line, column, "values are nested more than %d deep", maxDepth)
		return false
	default:
		return true
	}
}

// add adds a member to a mapping, unless there is one with that key.
func (p *parser) add(n *Node, seen map[string]*Member, m *Member) {
	if first := seen[m.Key]; first != nil {
		p.fault(m.Line, m.Column, "the key %q occurs twice; it stands in line %d too", clip(m.Key), first.Line)
		return
	}
	seen[m.Key] = m
	n.Members = append(n.Members, m)
}

// maxText bounds how much of a text a fault shows.
const maxText = 80

// clip shortens a text that a fault shows.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	n := maxText
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}
