package jsontok_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

func TestValid(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   string
		want string // text of the error, or "" for none
	}{
		{in: `{}`},
		{in: `[]`},
		{in: " \t\r\n{ \"a\" : [ 1 , true , false , null , \"\" ] } \n"},
		{in: `0`}, {in: `-0`}, {in: `-0.0e-00`}, {in: `1E+2`}, {in: `12.50`},
		{in: `123456789012345678901234567890.5e999999`},
		{in: `"\"\\\/\b\f\n\r\t\u00e9\uD83D\ude00"`},
		{in: `"\ud800"`}, // grammatical, says RFC 8259 section 8.2
		{in: "\"\u00e9\u20ac\U0001f600\u2028\x7f\""},
		{in: `"12345678901234567890"`},

		{in: ``, want: "at byte 0: want a value, got the end of the text"},
		{in: "  \n", want: "at byte 3: want a value, got the end of the text"},
		{in: `?`, want: "at byte 0: want a value, got '?'"},
		{in: "\ufeff{}", want: `at byte 0: want a value, got '\ufeff'`},
		{in: "\v1", want: `at byte 0: want a value, got '\v'`},
		{in: "\u00a01", want: `at byte 0: want a value, got '\u00a0'`},
		{in: "\xff", want: "at byte 0: want a value, got byte 0xff"},
		{in: `{} {}`, want: "at byte 3: want the end of the text after the value, got '{'"},
		{in: `nul`, want: "at byte 3: want null, got the end of the text"},
		{in: `trUe`, want: "at byte 2: want true, got 'U'"},
		{in: `falsey`, want: "at byte 5: want the end of the text after the value, got 'y'"},
		{in: `NaN`, want: "at byte 0: want a value, got 'N'"},

		{in: `[`, want: "at byte 1: want a value, got the end of the text"},
		{in: `[1,]`, want: "at byte 3: want a value, got ']'"},
		{in: `[,1]`, want: "at byte 1: want a value, got ','"},
		{in: `[1 2]`, want: "at byte 3: want ',' or ']', got '2'"},
		{in: `[1}`, want: "at byte 2: want ',' or ']', got '}'"},
		{in: `{`, want: "at byte 1: want the name of a member in double quotes, got the end of the text"},
		{in: `{a:1}`, want: "at byte 1: want the name of a member in double quotes, got 'a'"},
		{in: `{1:1}`, want: "at byte 1: want the name of a member in double quotes, got '1'"},
		{in: `{"a"}`, want: "at byte 4: want ':' after the name of a member, got '}'"},
		{in: `{"a"`, want: "at byte 4: want ':' after the name of a member, got the end of the text"},
		{in: `{"a":}`, want: "at byte 5: want a value, got '}'"},
		{in: `{"a":1,}`, want: "at byte 7: want the name of a member in double quotes, got '}'"},
		{in: `{"a":1 "b":2}`, want: "at byte 7: want ',' or '}', got '\"'"},
		{in: `{"a":1]`, want: "at byte 6: want ',' or '}', got ']'"},
		{in: `[1] // no`, want: "at byte 4: want the end of the text after the value, got '/'"},

		{in: `-`, want: "at byte 1: want a digit, got the end of the text"},
		{in: `-a`, want: "at byte 1: want a digit, got 'a'"},
		{in: `+1`, want: "at byte 0: want a value, got '+'"},
		{in: `.5`, want: "at byte 0: want a value, got '.'"},
		{in: `01`, want: "at byte 0: a number must not begin with 0 and a further digit"},
		{in: `[-00]`, want: "at byte 2: a number must not begin with 0 and a further digit"},
		{in: `1.`, want: "at byte 2: want a digit after the decimal point, got the end of the text"},
		{in: `1.e1`, want: "at byte 2: want a digit after the decimal point, got 'e'"},
		{in: `1e`, want: "at byte 2: want a digit in the exponent, got the end of the text"},
		{in: `1e+x`, want: "at byte 3: want a digit in the exponent, got 'x'"},
		{in: `0x10`, want: "at byte 1: want the end of the text after the value, got 'x'"},

		{in: `"abc`, want: "at byte 4: the text ends inside of a string"},
		{in: `"abc\`, want: "at byte 5: the text ends inside of a string"},
		{in: `"abc\"`, want: "at byte 6: the text ends inside of a string"},
		{in: `'a'`, want: `at byte 0: want a value, got '\''`},
		{in: `"\x"`, want: `at byte 2: want one of "\/bfnrtu after a backslash, got 'x'`},
		{in: `"\u12g4"`, want: `at byte 5: want four hexadecimal digits after \u, got 'g'`},
		{in: `"\u12`, want: `at byte 5: want four hexadecimal digits after \u, got the end of the text`},
		{in: "\"a\nb\"", want: `at byte 2: control character '\n' in a string must be escaped`},
		{in: "\"0123456789\x00\"", want: `at byte 11: control character '\x00' in a string must be escaped`},
		{in: "\"a\xff\"", want: "at byte 2: byte 0xff in a string is not valid UTF-8"},
		{in: "\"\u00e9\xc3\"", want: "at byte 3: byte 0xc3 in a string is not valid UTF-8"},
		{in: "\"\xed\xa0\x80\"", want: "at byte 1: byte 0xed in a string is not valid UTF-8"}, // a surrogate
		{in: "\"\xc0\xaf\"", want: "at byte 1: byte 0xc0 in a string is not valid UTF-8"},     // overlong
		{in: "{\"\xff\":1}", want: "at byte 2: byte 0xff in a string is not valid UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			checkSyntaxError(t, jsontok.Valid([]byte(tt.in), jsontok.Limits{}), tt.want)
		})
	}
}

func TestValidDepth(t *testing.T) {
	t.Parallel()
	nested := func(n int) []byte {
		return []byte(strings.Repeat(`{"a":[`, n/2) + strings.Repeat(`]}`, n/2))
	}
	tests := []struct {
		name  string
		limit int
		depth int
		want  string
	}{
		{name: "default", depth: jsontok.DefaultMaxDepth},
		{name: "over default", depth: jsontok.DefaultMaxDepth + 2,
			want: "at byte 384: arrays and objects are nested more than 128 deep"},
		{name: "negative is default", limit: -1, depth: jsontok.DefaultMaxDepth},
		{name: "at limit", limit: 2, depth: 2},
		{name: "over limit", limit: 3, depth: 4, want: "at byte 11: arrays and objects are nested more than 3 deep"},
		{name: "deep", limit: 4000, depth: 4000},
		{name: "limit is bounded", limit: 1 << 40, depth: 200_000,
			want: "at byte 30000: arrays and objects are nested more than 10000 deep"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkSyntaxError(t, jsontok.Valid(nested(tt.depth), jsontok.Limits{MaxDepth: tt.limit}), tt.want)
		})
	}
}

// TestValidPositions moves what ends a plain run over every alignment.
func TestValidPositions(t *testing.T) {
	t.Parallel()
	for n := range 40 {
		pad := strings.Repeat("x", n)
		for _, tail := range []string{``, `\n`, "\u00e9", "\U0001f600", "\x7f", "~ !#[]", `\u0041`} {
			in := `"` + pad + tail + pad + `"`
			if err := jsontok.Valid([]byte(in), jsontok.Limits{}); err != nil {
				t.Errorf("Valid(%s) = %v, want nil", in, err)
			}
		}
		for _, tail := range []string{"\x00", "\x1f", "\n", "\xff", "\x80", `"`} {
			in := `"` + pad + tail + pad + `"`
			err := jsontok.Valid([]byte(in), jsontok.Limits{})
			if syntax, ok := errors.AsType[*jsontok.SyntaxError](err); !ok {
				t.Errorf("Valid(%q) = %v, want a SyntaxError", in, err)
			} else if want := int64(n + 1); tail != `"` && syntax.Offset != want {
				t.Errorf("Valid(%q) points at byte %d, want %d", in, syntax.Offset, want)
			}
		}
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	tests := map[string]jsontok.Kind{
		`{"a":1}`: jsontok.KindObject,
		`[1]`:     jsontok.KindArray,
		`"x"`:     jsontok.KindString,
		`-1`:      jsontok.KindNumber,
		`0`:       jsontok.KindNumber,
		`9`:       jsontok.KindNumber,
		`true`:    jsontok.KindBool,
		`false`:   jsontok.KindBool,
		`null`:    jsontok.KindNull,
		``:        jsontok.KindInvalid,
		` 1`:      jsontok.KindInvalid,
		`}`:       jsontok.KindInvalid,
	}
	for in, want := range tests {
		if got := jsontok.KindOf([]byte(in)); got != want {
			t.Errorf("KindOf(%q) = %v, want %v", in, got, want)
		}
	}
	names := []string{"invalid", "object", "array", "string", "number", "boolean", "null", "invalid"}
	for i, want := range names {
		if got := jsontok.Kind(i).String(); got != want {
			t.Errorf("Kind(%d).String() = %q, want %q", i, got, want)
		}
	}
}

// FuzzValid holds Valid equal to encoding/json, but for UTF-8, which that
// package does not check, and depth.
func FuzzValid(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := jsontok.Valid(data, jsontok.Limits{MaxDepth: 10_000})
		if syntax, ok := errors.AsType[*jsontok.SyntaxError](err); err != nil && !ok {
			t.Fatalf("Valid returns %T", err)
		} else if ok && (syntax.Offset < 0 || syntax.Offset > int64(len(data))) {
			t.Fatalf("offset %d of %d", syntax.Offset, len(data))
		}
		if want := json.Valid(data) && utf8.Valid(data); (err == nil) != want {
			t.Fatalf("Valid = %v, want valid: %t", err, want)
		}
		if err == nil && jsontok.KindOf(trim(data)) == jsontok.KindInvalid {
			t.Fatal("a valid value has no kind")
		}
	})
}
