package toolname

import (
	"strings"
	"testing"
)

// FuzzGlob: a glob and the name that it is made of.
func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{{"a*b", "axxb"}, {"*", ""}, {"?", "ü"}, {"a?c*", "abc"}, {"**x", "xx"}, {"[a]", "[a]"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, glob, name string) {
		got := Match(glob, name)
		if !strings.ContainsAny(glob, "*?") && got != (glob == name) {
			t.Errorf("%q matches %q: %t", glob, name, got)
		}
		if !Match("*"+glob+"*", name) && got || !Match(strings.ReplaceAll(glob, "?", "*"), name) && got {
			t.Errorf("%q matches %q, and a wider one does not", glob, name)
		}
		if !Match("*", name) || !Match(name, name) && !strings.ContainsAny(name, "*?") {
			t.Errorf("%q does not match itself", name)
		}
	})
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		glob, name string
		want       bool
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
		if got := Match(tt.glob, tt.name); got != tt.want {
			t.Errorf("%q matches %q: %t", tt.glob, tt.name, got)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", MaxBytes)
	for _, tt := range []struct {
		names       *Names
		own, public string
	}{
		{New("", nil, nil, nil), "a", "a"},
		{New("", nil, nil, nil), long + "x", long + "x"},
		{New("up_", nil, nil, nil), "a", "up_a"},
		{New("up_", nil, nil, nil), long, "up_" + strings.Repeat("x", MaxBytes-12) + "_1c40fac2"},
		{New("up_", []string{"a*"}, nil, nil), "ab", "up_ab"},
		{New("up_", []string{"a*"}, nil, nil), "b", ""},
		{New("up_", nil, []string{"a*"}, nil), "ab", ""},
		{New("up_", []string{"a*"}, nil, map[string]string{"ab": "b"}), "ab", "up_b"},
		{New("", nil, nil, map[string]string{"a": "b"}), "a", "b"},
		{New("", nil, nil, map[string]string{"a": "b"}), "b", ""},
		{New("", nil, nil, map[string]string{"a": "b", "b": "a"}), "b", "a"},
	} {
		public, ok := tt.names.Public(tt.own)
		if public != tt.public || ok != (tt.public != "") {
			t.Errorf("%s is %q, %t; want %q", tt.own, public, ok, tt.public)
		}
		if rest := strings.TrimPrefix(public, tt.names.prefix); ok && len(public) < MaxBytes {
			if own, ok := tt.names.Own(rest); own != tt.own || !ok {
				t.Errorf("%s leads back to %q, %t", public, own, ok)
			}
		}
	}
	if own, ok := New("", nil, nil, map[string]string{"a": "b"}).Own("a"); ok {
		t.Errorf("a renamed tool is there by its old name, as %s", own)
	}
}
