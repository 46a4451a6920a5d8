// Package toolname says by which names clients know the tools of an upstream. The
// texts of tools and the Mux must agree on them.
package toolname

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-bridge/mcp-bridge/internal/glob"
)

// MaxBytes is the longest name of a tool that every host takes.
const MaxBytes = 64

// Names are the names of the tools of one upstream. They are immutable.
type Names struct {
	prefix           string
	include, exclude []string
	rename           map[string]string // new names by own ones
	renamed          map[string]string // own names by new ones
}

// New returns the Names of an upstream whose public names begin with prefix. The
// globs say which tools there are, by own names: those that include matches, or all
// where it is empty, without those that exclude matches. The map rename has new names
// by own names.
func New(prefix string, include, exclude []string, rename map[string]string) *Names {
	n := &Names{prefix: prefix, include: include, exclude: exclude, rename: rename, renamed: make(map[string]string, len(rename))}
	for own, name := range rename {
		n.renamed[name] = own
	}
	return n
}

// Served reports whether the globs let a tool pass, by its own name.
func (n *Names) Served(own string) bool { return Chosen(n.include, n.exclude, own) }

// Public returns the public name of a tool, and false for one that is not served.
func (n *Names) Public(own string) (string, bool) {
	if !n.Served(own) {
		return "", false
	}
	name, renamed := n.rename[own]
	if !renamed {
		if _, taken := n.renamed[own]; taken {
			return "", false // another tool has been given this name
		}
		name = own
	}
	if n.prefix == "" {
		return name, true
	}
	return shorten(n.prefix + name), true
}

// Own returns the own name of the tool that a public name without its prefix stands
// for, and false where none has it.
func (n *Names) Own(name string) (string, bool) {
	if own, ok := n.renamed[name]; ok {
		name = own
	} else if _, ok := n.rename[name]; ok {
		return "", false // it has another name now
	}
	return name, n.Served(name)
}

// shorten returns a name that every host takes: the head of a long one, and a
// hash that tells it from others with that head.
func shorten(name string) string {
	if len(name) <= MaxBytes {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	tail := "_" + hex.EncodeToString(sum[:4])
	end := MaxBytes - len(tail)
	for end > 0 && !utf8.RuneStart(name[end]) {
		end--
	}
	// Always of full length, by which such a name is known.
	return name[:end] + strings.Repeat("_", MaxBytes-len(tail)-end) + tail
}

// Chosen reports whether globs let a name pass.
func Chosen(include, exclude []string, name string) bool {
	matches := func(pattern string) bool { return glob.Match(pattern, name) }
	return (len(include) == 0 || slices.ContainsFunc(include, matches)) && !slices.ContainsFunc(exclude, matches)
}
