package jsontok

import (
	"errors"
	"strings"
	"testing"
)

func TestUnique(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`[`, DefaultMaxDepth+1) + strings.Repeat(`]`, DefaultMaxDepth+1)
	for _, tt := range []struct{ data, want string }{
		{` {"a":1,"b":[{"a":1},{"a":2}],"c":{"a":{}}} `, ""},
		{`[]`, ""},
		{`"a"`, ""},
		{`{"a":1,"a":2}`, `at byte 7: member "a" occurs twice`},
		{`{"x":[{"y":{"ab":1,"b":0,"\u0061b":2}}]}`, `at byte 25: member "ab" occurs twice`},
		{`[{"":1},{"":1,"":1}]`, `at byte 14: member "" occurs twice`},
		{`{"a":1`, "at byte 6: want ',' or '}', got the end of the text"},
		{`{} {}`, "at byte 3: want the end of the text after the value, got '{'"},
		{``, "at byte 0: want a value, got the end of the text"},
		{deep, "at byte 128: arrays and objects are nested more than 128 deep"},
	} {
		err := Unique([]byte(tt.data))
		if got := errorText(err); got != tt.want {
			t.Errorf("%.60s: %q, want %q", tt.data, got, tt.want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// FuzzUnique: what is unique is valid, and Object agrees about every level.
func FuzzUnique(f *testing.F) {
	for _, seed := range []string{`{"a":[{"b":1},2],"c":{}}`, `{"a":{"b":1,"b":2}}`, `[[],{}]`, `{"\u0061":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := Unique(data)
		valid := Valid(data, Limits{})
		if err == nil && valid != nil {
			t.Fatalf("unique, but not valid: %v", valid)
		}
		if valid != nil {
			return
		}
		var duplicate *DuplicateKeyError
		if twice := hasDuplicate(data); (err != nil) != twice || err != nil && !errors.As(err, &duplicate) {
			t.Fatalf("error %v, duplicates: %t", err, twice)
		}
	})
}

func hasDuplicate(data []byte) bool {
	found := false
	visit := func(value []byte) {
		if k := KindOf(value); k == KindObject || k == KindArray {
			found = found || hasDuplicate(value)
		}
	}
	var err error
	switch data = data[skipSpace(data, 0):]; KindOf(data) {
	case KindObject:
		err = Object(data, func(_, value []byte) error { visit(value); return nil })
	case KindArray:
		err = Array(data, func(_ int, value []byte) error { visit(value); return nil })
	}
	return found || err != nil
}
