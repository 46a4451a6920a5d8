package matrix

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/internal/ways"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// cell is a feature between a client and a server.
type cell struct {
	feature        *feature
	client, server ways.Way
}

// table is what has come of the cells. It is filled concurrently.
type table struct {
	mu    sync.Mutex
	cells map[cell]outcome
}

func newTable() *table { return &table{cells: make(map[cell]outcome)} }

func (t *table) set(c cell, got outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cells[c] = got
}

// full reports whether all cells have been tried.
func (t *table) full() bool { return len(t.cells) == len(features)*len(allWays())*len(servers()) }

// outcomes returns what has come of the cells that a filter keeps, sorted and
// each once.
func (t *table) outcomes(keep func(cell) bool) []outcome {
	found := make(map[outcome]bool)
	for c, got := range t.cells {
		if keep(c) {
			found[got] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// worksBetween reports whether a feature works between two revisions, over every
// transport.
func (t *table) worksBetween(f *feature, client, server string) bool {
	return onlyWorks(t.outcomes(func(c cell) bool {
		return c.feature == f && c.client.Revision == client && c.server.Revision == server
	}))
}

func onlyWorks(got []outcome) bool { return len(got) == 1 && got[0] == works }

// unable returns the transports that a feature does not pass, be it to the
// client or to the server, in the newest revision.
func (t *table) unable(f *feature) []string {
	var names []string
	for _, w := range allWays() {
		if w.Revision == ways.Modern && t.cells[cell{f, w, w}] != works {
			names = append(names, w.Transport)
		}
	}
	return names
}

// transportNames are for people.
var transportNames = []struct{ transport, name string }{
	{ways.Stdio, "stdio"}, {ways.HTTP, "Streamable HTTP"}, {ways.SSE, "HTTP+SSE"},
	{grpc, "gRPC"}, {grpcWeb, "gRPC-Web"}, {connect, "Connect"}, {tunnels, "Tunnel"},
}

func nameOf(transport string) string {
	for _, n := range transportNames {
		if n.transport == transport {
			return n.name
		}
	}
	return transport
}

// revisionNames returns all revisions, oldest first.
func revisionNames() []string {
	var names []string
	for _, r := range protocol.Revisions() {
		names = append(names, string(r))
	}
	slices.Sort(names)
	return names
}

// transports is a table of the revisions that each transport carries.
func transports() string {
	rows := [][]string{append([]string{""}, revisionNames()...)}
	for _, n := range transportNames {
		row := []string{n.name}
		for _, r := range revisionNames() {
			text := ""
			if slices.Contains(allWays(), ways.Way{Transport: n.transport, Revision: r}) {
				text = "yes"
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return markdown(rows)
}

// datedFeatures returns the features that not all revisions have.
func datedFeatures() []*feature {
	var some []*feature
	for i := range features {
		if f := &features[i]; f.since != "" {
			some = append(some, f)
		}
	}
	return some
}

// common is a list of the features that work in every cell.
func (t *table) common() string {
	var names []string
	for i := range features {
		f := &features[i]
		if onlyWorks(t.outcomes(func(c cell) bool { return c.feature == f })) {
			names = append(names, f.name)
		}
	}
	return wrap("Always: " + strings.Join(names, ", ") + ".")
}

// letter is what a feature is called in the table of revisions.
func letter(i int) string { return string(rune('A' + i)) }

// revisions is a table of clients and servers by revision.
func (t *table) revisions() string {
	between := func(client, server string) string {
		var missing []string
		for i, f := range datedFeatures() {
			if !t.worksBetween(f, client, server) {
				missing = append(missing, letter(i))
			}
		}
		if missing == nil {
			return "all"
		}
		return "all but " + strings.Join(missing, ", ")
	}
	names := revisionNames()
	rows := [][]string{append(append([]string{"client \\ server"}, names...), ways.All)}
	for _, client := range names {
		row := []string{client}
		for _, server := range append(names, ways.All) {
			row = append(row, between(client, server))
		}
		rows = append(rows, row)
	}
	return markdown(transpose(merge(transpose(merge(rows)))))
}

// missing is a table of what does not work between all revisions.
func missing() string {
	rows := [][]string{{"", "", "works since", "otherwise"}}
	for i, f := range datedFeatures() {
		rows = append(rows, []string{letter(i), f.name, string(f.since), f.why})
	}
	return markdown(rows)
}

// byTransport is a table of what some transports do not carry.
func (t *table) byTransport() string {
	rows := [][]string{{"", "not by", "instead", "because"}}
	for i := range features {
		f := &features[i]
		unable := t.unable(f)
		if len(unable) == 0 || len(unable) == len(transportNames)-1 { // all that carry the newest revision
			continue
		}
		got := t.outcomes(func(c cell) bool {
			return c.feature == f && (slices.Contains(unable, c.client.Transport) || slices.Contains(unable, c.server.Transport))
		})
		for i, transport := range unable {
			unable[i] = nameOf(transport)
		}
		rows = append(rows, []string{f.name, strings.Join(unable, ", "), join(got), f.why})
	}
	return markdown(rows)
}

// errors is a table of the errors for what cannot be asked of a client.
func (t *table) errors() string {
	sides := []struct {
		name  string
		among func(ways.Way) bool
	}{
		{"2026-07-28", func(w ways.Way) bool { return w.Revision == ways.Modern }},
		{"older, with a session for each client", func(w ways.Way) bool {
			return w.Revision != ways.Modern && w.Revision != ways.All && !shared(w)
		}},
		{"older, with one session for all", shared},
	}
	rows := [][]string{{"server", "client of 2026-07-28", "older client"}}
	for _, server := range sides {
		row := []string{server.name}
		for _, client := range sides[:2] { // one client of the test is many callers, which no real one is
			row = append(row, join(t.outcomes(func(c cell) bool {
				return c.feature.isQuestion() && client.among(c.client) && server.among(c.server) && t.cells[c] != works
			})))
		}
		rows = append(rows, row)
	}
	return markdown(rows)
}

func join(all []outcome) string {
	texts := make([]string, len(all))
	for i, o := range all {
		texts[i] = string(o)
	}
	return strings.Join(texts, "; ")
}

// merge returns rows with those that are alike, but for their names, as one.
func merge(rows [][]string) [][]string {
	merged := rows[:1:1]
	for _, row := range rows[1:] {
		if last := merged[len(merged)-1]; len(merged) > 1 && slices.Equal(last[1:], row[1:]) {
			merged[len(merged)-1] = append([]string{last[0] + ", " + row[0]}, row[1:]...)
			continue
		}
		merged = append(merged, row)
	}
	return merged
}

func transpose(rows [][]string) [][]string {
	turned := make([][]string, len(rows[0]))
	for i := range turned {
		for _, row := range rows {
			turned[i] = append(turned[i], row[i])
		}
	}
	return turned
}

// markdown writes a table whose first row is its head.
func markdown(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString("|" + strings.Repeat("---|", len(row)) + "\n")
		}
	}
	return b.String()
}

// lineWidth is how long the lines of pages are at most.
const lineWidth = 120

// wrap breaks a text into lines.
func wrap(text string) string {
	var b strings.Builder
	width := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case width == 0:
		case width+1+len(word) > lineWidth:
			b.WriteByte('\n')
			width = 0
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += len(word)
	}
	return b.String() + "\n"
}
