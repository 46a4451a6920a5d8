package glob_test

import (
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/glob"
)

// FuzzMatch: a glob and the name that it is made of.
func FuzzMatch(f *testing.F) {
	for _, seed := range [][2]string{{"a*b", "axxb"}, {"*", ""}, {"?", "ü"}, {"a?c*", "abc"}, {"**x", "xx"}, {"[a]", "[a]"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		got := glob.Match(pattern, name)
		if !strings.ContainsAny(pattern, "*?") && got != (pattern == name) {
			t.Errorf("%q matches %q: %t", pattern, name, got)
		}
		if !glob.Match("*"+pattern+"*", name) && got || !glob.Match(strings.ReplaceAll(pattern, "?", "*"), name) && got {
			t.Errorf("%q matches %q, and a wider one does not", pattern, name)
		}
		if !glob.Match("*", name) || !glob.Match(name, name) && !strings.ContainsAny(name, "*?") {
			t.Errorf("%q does not match itself", name)
		}
	})
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true},
		{"", "", true},
		{"", "a", false},
		{"*_Purge*", "Orders_PurgeAll", true},
		{"*_Purge*", "Orders_Purg", false},
		{"a?c", "abc", true},
		{"a?c", "aüc", true},
		{"a?c", "ac", false},
		{"a*b*c", "a1b2b3c", true},
		{"a*b*c", "a1b2b3", false},
		{"*a", "aaa", true},
		{"a/*", "a/b/c", true},
	} {
		if got := glob.Match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%q matches %q: %t", tt.pattern, tt.name, got)
		}
	}
}
