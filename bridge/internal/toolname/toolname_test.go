package toolname

import (
	"strings"
	"testing"
)

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
