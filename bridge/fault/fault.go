// Package fault says what is wrong with a file that people write: a configuration
// or options for an API. Everything that is wrong is reported at once, each with
// its line and column.
package fault

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/internal/printable"
)

// Fault is one thing that is wrong with a file, or that its author should know.
type Fault struct {
	// File is the name of the file, or empty for what does not come from one.
	File string
	// Line and Column say where, counted from 1; the column counts characters.
	// They are zero where there is no place.
	Line, Column int
	// Path leads to the value, such as upstreams.orders.url, or is empty.
	Path string
	// Problem says what is wrong.
	Problem string
	// Suggestions are the names that may be meant.
	Suggestions []string
}

// String returns the fault in one line: "file:line:column: path: problem; did
// you mean "x"?". Nothing in it steers a terminal.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if f.Path != "" {
		b.WriteString(f.Path)
		b.WriteString(": ")
	}
	b.WriteString(f.Problem)
	for i, s := range f.Suggestions {
		switch i {
		case 0:
			b.WriteString("; did you mean ")
		case len(f.Suggestions) - 1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(s))
	}
	if len(f.Suggestions) > 0 {
		b.WriteString("?")
	}
	return printable.Line(b.String())
}

// Faults is the error of a file: everything that is wrong with it, in the order of
// the file.
type Faults []Fault

// maxShown bounds how many faults the text of an error has.
const maxShown = 100

// Error returns the faults, one a line, and no more than 100 of them.
func (f Faults) Error() string {
	var b strings.Builder
	for i, fault := range f {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == maxShown {
			fmt.Fprintf(&b, "and %d more faults", len(f)-i)
			break
		}
		b.WriteString(fault.String())
	}
	return b.String()
}

// Sort orders faults by file and place, and returns them without those that say
// the same. It returns nil for none.
func (f Faults) Sort() Faults {
	if len(f) == 0 {
		return nil
	}
	slices.SortStableFunc(f, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Problem, b.Problem))
	})
	return slices.CompactFunc(f, func(a, b Fault) bool { return a.String() == b.String() })
}
