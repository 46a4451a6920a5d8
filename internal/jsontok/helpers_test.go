package jsontok_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// seeds are texts, valid and not, that fuzzing starts from.
var seeds = []string{
	``, ` `, `{}`, `[]`, `null`, `true`, `false`, `0`, `-1.5e+3`, `01`, `1.`, `"`, `""`, `"a\"`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":[1,2]}}}`,
	`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, ` { "a" : [ { } , [ ] ] } `, `{"a":1,}`, `[1,2`, `[[[[]]]]`,
	`"\ud83d\ude00 \ud800 \ud800\ud83d\ude00 \udc00 \uD800A"`, `"\n\t\"\\\/"`, `"\\\\\""`,
	"\"\u00e9\U0001f600\"", "\"\xff\"", "\"\x00\"", "\ufeff1", "[1,\n\t2]\r\n",
}

func trim(data []byte) []byte { return bytes.Trim(data, " \t\r\n") }

// checkError checks that err has the text want, or is nil if that is empty.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("error %q, want none", err)
	case want != "" && err == nil:
		t.Errorf("no error, want %q", want)
	case want != "" && err.Error() != want:
		t.Errorf("error %q, want %q", err, want)
	}
}

// checkSyntaxError is checkError for a SyntaxError.
func checkSyntaxError(t *testing.T, err error, want string) {
	t.Helper()
	checkError(t, err, want)
	if _, ok := errors.AsType[*jsontok.SyntaxError](err); err != nil && !ok {
		t.Errorf("error of type %T, want *SyntaxError", err)
	}
}
