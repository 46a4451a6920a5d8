package jsontok_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// members returns what Object visits, as "key=value".
func members(data string) ([]string, error) {
	var got []string
	err := jsontok.Object([]byte(data), func(key, value []byte) error {
		got = append(got, fmt.Sprintf("%s=%s", key, value))
		return nil
	})
	return got, err
}

func TestObject(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in      string
		want    []string // visited before the error, if there is one
		wantErr string
	}{
		{in: `{}`},
		{in: " { \n } "},
		{in: `{"":0}`, want: []string{"=0"}},
		{in: "\t{ \"a\" : [ 1, 2 ] , \"b\":{\"a\":null}\r\n}\n", want: []string{"a=[ 1, 2 ]", `b={"a":null}`}},
		{in: `{"\u0061\n\"\ud83d\ude00":"\u0061"}`, want: []string{"a\n\"\U0001f600=\"\\u0061\""}},
		{in: `{"caf` + "\u00e9" + `":1.50}`, want: []string{"caf\u00e9=1.50"}},
		{in: `{"a":{"b":1,"b":2}}`, want: []string{`a={"b":1,"b":2}`}}, // not our level

		{in: ``, wantErr: "at byte 0: want an object, got the end of the text"},
		{in: ` [1]`, wantErr: "at byte 1: want an object, got '['"},
		{in: `"{}"`, wantErr: "at byte 0: want an object, got '\"'"},
		{in: `{"a":1`, want: []string{"a=1"}, wantErr: "at byte 6: want ',' or '}', got the end of the text"},
		{in: `{"a":1,}`, want: []string{"a=1"}, wantErr: "at byte 7: want the name of a member in double quotes, got '}'"},
		{in: `{"a" 1}`, wantErr: "at byte 5: want ':' after the name of a member, got '1'"},
		{in: `{"a":[1}`, wantErr: "at byte 7: want ',' or ']', got '}'"},
		{in: `{"a":1}}`, want: []string{"a=1"}, wantErr: "at byte 7: want the end of the text after the value, got '}'"},
		{in: `{"a":1,"b":2,"a":3}`, want: []string{"a=1", "b=2"}, wantErr: `at byte 13: member "a" occurs twice`},
		{in: `{"method":1,"\u006dethod":2}`, want: []string{"method=1"}, wantErr: `at byte 12: member "method" occurs twice`},
		{in: `{"\ud800":1,"\udfff":2}`, want: []string{"\ufffd=1"}, wantErr: "at byte 12: member \"\ufffd\" occurs twice"},
		{in: `{"":1,"":2}`, want: []string{"=1"}, wantErr: `at byte 6: member "" occurs twice`},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			got, err := members(tt.in)
			if !slices.Equal(got, tt.want) {
				t.Errorf("visited %q, want %q", got, tt.want)
			}
			checkError(t, err, tt.wantErr)
		})
	}
}

func TestObjectManyMembers(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 15, 16, 17, 18, 47, 48, 49, 50, 1000} {
		var b strings.Builder
		b.WriteByte('{')
		for i := range n {
			fmt.Fprintf(&b, `"k%d":%d,`, i, i)
		}
		visited := 0
		unique := b.String() + `"last":0}`
		err := jsontok.Object([]byte(unique), func(key, value []byte) error {
			if want := fmt.Sprintf("k%s", value); visited < n && string(key) != want {
				t.Errorf("member %d of %d is %q, want %q", visited, n, key, want)
			}
			visited++
			return nil
		})
		if err != nil || visited != n+1 {
			t.Errorf("%d members visited of %d, error %v", visited, n+1, err)
		}
		for _, again := range []int{0, n / 2, n - 1} {
			data := fmt.Sprintf(`%s"k%d":0}`, b.String(), again)
			want := fmt.Sprintf(`at byte %d: member "k%d" occurs twice`, b.Len(), again)
			_, err := members(data)
			checkError(t, err, want)
		}
	}
}

func TestDuplicateKeyErrorIsCut(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("x", 63) + strings.Repeat("\u00e9", 1000)
	_, err := members(fmt.Sprintf(`{%q:1,%q:2}`, key, key))
	checkError(t, err, `at byte 2069: member "`+strings.Repeat("x", 63)+`"... occurs twice`)
	if e, ok := errors.AsType[*jsontok.DuplicateKeyError](err); !ok || e.Key != key {
		t.Errorf("error %T does not have the key", err)
	}
}

func TestArray(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in      string
		want    []string
		wantErr string
	}{
		{in: `[]`},
		{in: "\n[ ] "},
		{in: `[ 1 , "a,]" ,{"x":[ ]},null]`, want: []string{"0:1", `1:"a,]"`, `2:{"x":[ ]}`, "3:null"}},
		{in: ``, wantErr: "at byte 0: want an array, got the end of the text"},
		{in: `{}`, wantErr: "at byte 0: want an array, got '{'"},
		{in: `[1,]`, want: []string{"0:1"}, wantErr: "at byte 3: want a value, got ']'"},
		{in: `[1`, want: []string{"0:1"}, wantErr: "at byte 2: want ',' or ']', got the end of the text"},
		{in: `[1]]`, want: []string{"0:1"}, wantErr: "at byte 3: want the end of the text after the value, got ']'"},
		{in: `[tru]`, wantErr: "at byte 4: want true, got ']'"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			var got []string
			err := jsontok.Array([]byte(tt.in), func(i int, value []byte) error {
				got = append(got, fmt.Sprintf("%d:%s", i, value))
				return nil
			})
			if !slices.Equal(got, tt.want) {
				t.Errorf("visited %q, want %q", got, tt.want)
			}
			checkError(t, err, tt.wantErr)
		})
	}
}

func TestVisitError(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	calls := 0
	if err := jsontok.Object([]byte(`{"a":1,"b":2} garbage`), func(_, _ []byte) error { calls++; return stop }); !errors.Is(err, stop) {
		t.Errorf("Object returns %v, want the error of visit", err)
	}
	if err := jsontok.Array([]byte(`[1,2] garbage`), func(int, []byte) error { calls++; return stop }); !errors.Is(err, stop) {
		t.Errorf("Array returns %v, want the error of visit", err)
	}
	if calls != 2 {
		t.Errorf("%d visits, want 2", calls)
	}
}

// TestVisitDepth checks that the visited level counts.
func TestVisitDepth(t *testing.T) {
	t.Parallel()
	array := func(depth int) []byte {
		return []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
	}
	none := func(int, []byte) error { return nil }
	if err := jsontok.Array(array(jsontok.DefaultMaxDepth), none); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	checkError(t, jsontok.Array(array(jsontok.DefaultMaxDepth+1), none),
		"at byte 128: arrays and objects are nested more than 128 deep")
	object := fmt.Appendf(nil, `{"a":%s}`, array(jsontok.DefaultMaxDepth))
	_, err := members(string(object))
	checkError(t, err, "at byte 132: arrays and objects are nested more than 128 deep")
	if _, ok := jsontok.Lookup(object, "a"); ok {
		t.Error("Lookup finds a value that is nested too deep")
	}
}

// TestVisitCapacity checks that nobody can append into what follows.
func TestVisitCapacity(t *testing.T) {
	t.Parallel()
	data := []byte(`{"a":[1],"b":2}`)
	err := jsontok.Object(data, func(key, value []byte) error {
		_, _ = append(key, '!'), append(value, '!')
		return jsontok.Array([]byte(`[7]`), func(_ int, value []byte) error {
			_ = append(value, '!')
			return nil
		})
	})
	if value, ok := jsontok.Lookup(data, "a"); ok {
		_ = append(value, '!')
	}
	if err != nil || string(data) != `{"a":[1],"b":2}` {
		t.Errorf("data became %s, error %v", data, err)
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in, key string
		want    string
		ok      bool
	}{
		{in: `{"a":1,"b":[ 2 ]}`, key: "b", want: `[ 2 ]`, ok: true},
		{in: ` {"a":1}`, key: "a", want: `1`, ok: true},
		{in: `{"a":1,"a":2}`, key: "a", want: `1`, ok: true},
		{in: `{"\u0061":1}`, key: "a", want: `1`, ok: true},
		{in: `{"\u0061\u0062":1}`, key: "a"},
		{in: `{"\u0061\u0062\u0063":1}`, key: "a"},
		{in: `{"a\"":1}`, key: `a"`, want: `1`, ok: true},
		{in: `{"":1}`, key: "", want: `1`, ok: true},
		{in: `{"b":{"a":1}}`, key: "a"},
		{in: `{}`, key: "a"},
		{in: ``, key: "a"},
		{in: `["a"]`, key: "a"},
		{in: `{"b":1`, key: "a"},
		{in: `{"b" 1,"a":2}`, key: "a"},
		{in: `{"b":?,"a":2}`, key: "a"},
		{in: `{b:1}`, key: "b"},
		{in: `{"a":1 nonsense`, key: "a", want: `1`, ok: true},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			got, ok := jsontok.Lookup([]byte(tt.in), tt.key)
			if string(got) != tt.want || ok != tt.ok {
				t.Errorf("Lookup(%q) = %s, %t, want %s, %t", tt.key, got, ok, tt.want, tt.ok)
			}
		})
	}
}

// FuzzVisit puts objects and arrays together again from what was visited, and
// compares them with what encoding/json reads.
func FuzzVisit(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		valid := jsontok.Valid(data, jsontok.Limits{}) == nil
		kind := jsontok.KindOf(trim(data))

		out := []byte{'{'}
		seen := map[string]json.RawMessage{}
		err := jsontok.Object(data, func(key, value []byte) error {
			checkValue(t, value)
			if _, dup := seen[string(key)]; dup {
				t.Fatalf("%q is visited twice", key)
			}
			seen[string(key)] = value
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(jsontok.AppendString(out, string(key)), ':'), value...)
			return nil
		})
		_, dup := errors.AsType[*jsontok.DuplicateKeyError](err)
		switch {
		case err == nil && (!valid || kind != jsontok.KindObject):
			t.Fatal("Object accepts what is no valid object")
		case err != nil && !dup && valid && kind == jsontok.KindObject:
			t.Fatalf("Object refuses a valid object: %v", err)
		case err == nil:
			var want map[string]json.RawMessage
			if err := json.Unmarshal(append(out, '}'), &want); err != nil {
				t.Fatalf("put together %s: %v", out, err)
			}
			checkEqual(t, seen, want)
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			checkEqual(t, seen, want)
			for key, value := range want {
				if got, ok := jsontok.Lookup(data, key); !ok || !bytes.Equal(got, value) {
					t.Fatalf("Lookup(%q) = %s, %t, want %s", key, got, ok, value)
				}
			}
		}

		var elements []json.RawMessage
		err = jsontok.Array(data, func(i int, value []byte) error {
			checkValue(t, value)
			if i != len(elements) {
				t.Fatalf("index %d, want %d", i, len(elements))
			}
			elements = append(elements, value)
			return nil
		})
		if want := valid && kind == jsontok.KindArray; (err == nil) != want {
			t.Fatalf("Array: %v, want success: %t", err, want)
		}
		if err == nil {
			var want []json.RawMessage
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(elements, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
				t.Fatalf("elements %s, want %s", elements, want)
			}
		}
		jsontok.Lookup(data, "a")
	})
}

func checkValue(t *testing.T, value []byte) {
	t.Helper()
	if err := jsontok.Valid(value, jsontok.Limits{}); err != nil || jsontok.KindOf(value) == jsontok.KindInvalid {
		t.Fatalf("visited %q: %v", value, err)
	}
	if len(trim(value)) != len(value) {
		t.Fatalf("visited %q, which is not trimmed", value)
	}
}

func checkEqual(t *testing.T, got, want map[string]json.RawMessage) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d members, want %d", len(got), len(want))
	}
	for key, value := range want {
		if !bytes.Equal(got[key], value) {
			t.Fatalf("member %q is %s, want %s", key, got[key], value)
		}
	}
}
