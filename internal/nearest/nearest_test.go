package nearest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/nearest"
)

func TestNames(t *testing.T) {
	t.Parallel()
	names := []string{"Library_GetBook", "Library_ListBooks", "Library_DeleteBook", "a", "GENRE_NOVEL", strings.Repeat("x", 100)}
	for _, tt := range []struct {
		seen, prefix string
		want         []string
	}{
		{"Library_GetBok", "", []string{"Library_GetBook"}},
		{"library-getbook", "", []string{"Library_GetBook"}},
		{"GetBook", "", []string{"Library_GetBook"}},
		{"Library_Books", "", []string{"Library_GetBook", "Library_ListBooks"}},
		{"novell", "GENRE_", []string{"GENRE_NOVEL"}},
		{"b", "", []string{"a"}},
		{"something", "", nil},
		{strings.Repeat("x", 99), "", nil},
		{"", "", []string{"a"}},
	} {
		if got := nearest.Names(tt.seen, slices.Values(names), tt.prefix); !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.seen, got, tt.want)
		}
	}
}
