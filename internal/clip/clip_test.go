package clip_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
)

func TestText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		s    string
		n    int
		want string
	}{
		{"", 3, ""}, {"abcd", 4, "abcd"}, {"abcde", 4, "a..."}, {"abcd", 3, "..."},
		{"aé€", 6, "aé€"}, {"aé€b", 6, "aé..."}, {"aé€b", 5, "a..."}, {"€€", 5, "..."}, {"😀😀", 7, "😀..."}, {"😀😀", 6, "..."},
		{"\x80\x80\x80\x80\x80\x80\x80\x80", 7, "\x80\x80\x80\x80..."},
	} {
		if got := clip.Text(tt.s, tt.n); got != tt.want {
			t.Errorf("%q in %d: %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 2_000_000)
	if got, want := clip.Name(long), strings.Repeat("é", 62)+"..."; got != want {
		t.Errorf("a long name becomes %q, want %q", got, want)
	}
	if got := clip.Name([]byte(long)); got != clip.Name(long) {
		t.Errorf("as bytes it becomes %q", got)
	}
	for _, s := range []string{"", "short", strings.Repeat("x", 128)} {
		if got := clip.Name(s); got != s {
			t.Errorf("%q becomes %q", s, got)
		}
	}
	if got := clip.Name(strings.Repeat("x", 129)); got != strings.Repeat("x", 125)+"..." {
		t.Errorf("a name of 129 bytes becomes %q", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add("aé€😀b", 5)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 3 {
			return
		}
		got := clip.Text(s, n)
		switch {
		case len(s) <= n && got != s, len(got) > n, len(s) > n && !strings.HasSuffix(got, "..."):
			t.Errorf("%q in %d: %q", s, n, got)
		case utf8.ValidString(s) && (!utf8.ValidString(got) || len(s) > n && len(got) < n-3):
			t.Errorf("%q in %d: %q", s, n, got)
		}
	})
}
