package config

import (
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/document"
)

// Fault is one thing that is wrong with a configuration, or that its author
// should know.
type Fault struct {
	// File is the name of the file, or empty for a configuration that does not
	// come from one.
	File string
	// Line and Column say where, counted from 1. They are zero where there is no
	// place.
	Line, Column int
	// Path leads to the value, such as upstreams.orders.url, or is empty.
	Path string
	// Problem says what is wrong.
	Problem string
	// Suggestions are the names that may be meant.
	Suggestions []string
}

// String returns the fault in one line: file:line:column: path: problem; did you
// mean "x"?
func (f Fault) String() string { return document.Fault(f).String() }

// Faults is the error of a configuration: everything that is wrong with it, in
// the order of the file.
type Faults []Fault

// Error returns the faults, one a line.
func (f Faults) Error() string {
	all := make(document.Faults, len(f))
	for i, fault := range f {
		all[i] = document.Fault(fault)
	}
	return all.Error()
}

// publicFaults sorts faults, and returns nil for none.
func publicFaults(all document.Faults) Faults {
	var out Faults
	for _, f := range all.Sort() {
		out = append(out, Fault(f))
	}
	return out
}
