package matrix

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// page is where the tables are for people.
var page = filepath.Join("..", "..", "..", "docs", "compatibility.md")

// The tables are between lines of these, with the name of the table.
const (
	begin  = "<!-- begin "
	end    = "<!-- end "
	closed = " -->\n"
)

// check compares the page with the tables.
func (t *table) check(tb testing.TB) {
	tb.Helper()
	if tb.Failed() || !t.full() {
		return // one of the tests has failed, or some were not run
	}
	old, err := os.ReadFile(page)
	if err != nil {
		tb.Fatal(err)
	}
	text := string(old)
	for _, part := range []struct{ name, text string }{
		{"size", t.size()},
		{"transports", transports()},
		{"revisions", t.revisions()},
		{"common", t.common()},
		{"missing", missing()},
		{"transport", t.byTransport()},
		{"errors", t.errors()},
	} {
		before, rest, ok := strings.Cut(text, begin+part.name+closed)
		_, after, ends := strings.Cut(rest, end+part.name+closed)
		if !ok || !ends {
			tb.Fatalf("%s has no place for the table %q", page, part.name)
		}
		tb.Logf("%s:\n%s", part.name, part.text)
		text = before + begin + part.name + closed + part.text + end + part.name + closed + after
	}
	switch {
	case text == string(old):
	case *update:
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	default:
		tb.Errorf("%s is out of date; run go test with -update and look at what has changed", page)
	}
}

// size says how much is tried.
func (t *table) size() string {
	return wrap("Between each of " + strconv.Itoa(len(allWays())) + " ways to the bridge and " + strconv.Itoa(len(servers())) + " ways from it to a server " +
		strconv.Itoa(len(features)) + " things are tried, " + strconv.Itoa(len(t.cells)) + " in all.")
}
