package mux

import "testing"

func TestSaid(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		said said
		want string
	}{
		{nil, ""},
		{said{{"a", "Use a."}}, "a: Use a."},
		{said{{"a", "Use a."}, {"b", "Use b."}}, "a: Use a.\n\nb: Use b."},
		{said{{"a", "Use a.\n\nTimes:\n- x\n- y"}, {"b", "Times:\n- x\n- z"}, {"c", "Use c.\n\n\n\nMore."}}, "a: Use a.\n\nc: Use c.\n\nMore.\n\na, b: Times:\n- x\n- y\n- z"},
		{said{{"a", "Twice.\n\nTwice."}}, "a: Twice.\n\nTwice."},
	} {
		if got := tt.said.text(); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.said, got, tt.want)
		}
	}
}
