package printable_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-bridge/mcp-bridge/internal/printable"
)

func TestText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "a\tb\nc é 日本 😀", "a\tb\nc é 日本 😀"},
		{"colour", "\x1b[1;31mred\x1b[0m", "red"},
		{"private parameters", "\x1b[?1049hx\x1b[>4;2my", "xy"},
		{"intermediates", "\x1b[4 qx", "x"},
		{"8-bit CSI", "\u009b2Jx", "x"},
		{"title by BEL", "\x1b]0;owned\x07x", "x"},
		{"title by ST", "\x1b]0;owned\x1b\\x", "x"},
		{"title by C1 ST", "\u009d0;owned\u009cx", "x"},
		{"clipboard", "a\x1b]52;c;ZXZpbA==\x07b", "ab"},
		{"hyperlink", "\x1b]8;;http://evil/\x1b\\text\x1b]8;;\x1b\\", "text"},
		{"string without end", "\x1b]0;shown\nx", "0;shown\nx"},
		{"string at the end", "\x1bPshown", "shown"},
		{"reset", "a\x1bcb", "ab"},
		{"character set", "\x1b(0x", "x"},
		{"escape at the end", "a\x1b", "a"},
		{"escape before a line break", "a\x1b\nb", "a\nb"},
		{"CSI at the end", "a\x1b[31", "a"},
		{"controls", "a\x00\x08\x7f\u0085b", "ab"},
		{"line ends", "a\r\nb\rc\u2028d\u2029e", "a\nb\nc\nd\ne"},
		{"bidi", "a\u202eb\u2066c\u2069\u200f\u061cd", "abcd"},
		{"zero width", "a\u200b\u200c\u200d\u2060\ufeff\u00adb", "ab"},
		{"tags", "a\U000e0041\U000e0100b", "ab"},
		{"filler", "a\u3164b", "ab"},
		{"invalid", "a\xffb\xc3", "a\ufffdb\ufffd"},
		{"a replacement that was there", "\ufffd", "\ufffd"},
		{"Arabic number sign", "\u0600", "\u0600"},
	} {
		if got := printable.Text(tt.in); got != tt.want {
			t.Errorf("%s: %q becomes %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
	if got := printable.Line("a\x1b[1m\nb\tc"); got != "a b c" {
		t.Errorf("Line: %q", got)
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"get_book":                     "get_book",
		"büch er":                      "büch er",
		"a\u202eb":                     `"a\u202eb"`,
		"a\nb":                         `"a\nb"`,
		"\x1b[2Jx":                     `"\x1b[2Jx"`,
		strings.Repeat("n", 300):       strings.Repeat("n", 197) + "...",
		strings.Repeat("é", 300):       strings.Repeat("é", 98) + "...",
		"x" + strings.Repeat("é", 300): "x" + strings.Repeat("é", 98) + "...",
	} {
		if got := printable.Name(in); got != want {
			t.Errorf("%q becomes %s, want %s", in, got, want)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"{\n\t\"a\": \"é\"\r\n}":                   "{\n\t\"a\": \"é\"\r\n}",
		"{\"a\u202e\":\"\u009b2J\x7f\"}":           `{"a\u202e":"\u009b2J\u007f"}`,
		"[\"\U000e0041\u2028\ufeff\", \"\ufffd\"]": "[\"\\udb40\\udc41\\u2028\\ufeff\", \"\ufffd\"]",
	} {
		if got := string(printable.JSON([]byte(in))); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a\x1b[31mb", "\x1b]0;t\x07", "\u009b\x9b\x1b", "\x1b\x1b[\x1b]", "\u202e\r\n\r", "\x1b[\x1b]0\x1b\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := printable.Text(s)
		switch {
		case !utf8.ValidString(got):
			t.Errorf("%q becomes %q, which is no UTF-8", s, got)
		case strings.ContainsFunc(got, func(r rune) bool {
			return r != '\n' && r != '\t' && (r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069)
		}):
			t.Errorf("%q becomes %q", s, got)
		case printable.Text(got) != got:
			t.Errorf("%q becomes %q, and that %q", s, got, printable.Text(got))
		}
		if strings.ContainsAny(printable.Name(s), "\n\x1b") {
			t.Errorf("the name %q becomes %q", s, printable.Name(s))
		}
		if !utf8.ValidString(s) {
			return
		}
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var before, after any
		if err := json.Unmarshal(raw, &before); err != nil {
			t.Fatal(err)
		}
		shown := printable.JSON(raw)
		if err := json.Unmarshal(shown, &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("%s becomes %s: %v", raw, shown, err)
		}
		if text := string(shown); printable.Text(text) != text {
			t.Errorf("%q can steer a terminal", text)
		}
	})
}
