package schema

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
)

func TestCleanComment(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, raw, want string }{
		{"empty", " \n\n", ""},
		{"one line", " The name.\n", "The name."},
		{"wrapped lines", " The name\n of the   book.\n", "The name of the book."},
		{"paragraphs", " One.\n\n Two.\n", "One.\nTwo."},
		{"list", " Either:\n - a\n   more of a\n - b\n 1. c\n", "Either:\n- a more of a\n- b\n1. c"},
		{"directive", " The name.\n buf:lint:ignore ENUM_ZERO\n protolint:disable X\n", "The name."},
		{"only a directive", " buf:lint:ignore ENUM_ZERO", ""},
		{"exclude", " @exclude The name.\n More.", ""},
		{"exclude below", " The name.\n @exclude\n", "The name."},
		{"internal block", " Seen. (-- not\n seen --) Seen too.", "Seen. Seen too."},
		{"open internal block", " Seen. (-- not\n seen", "Seen."},
		{"note", " TODO(b/1): rename.\n   It must be short.\n The name.\n", "The name."},
		{"note below", " The name.\n TODO: rename\n", "The name."},
		{"no note", " TODOs of a person.", "TODOs of a person."},
		{"reference", " A [Book][google.example.Book] and [x](y) [z].", "A Book and [x](y) [z]."},
		{"bad UTF-8", " a\xffb", "a\uFFFDb"},
		{"hidden text", " a\u202eb\U000E0041c\x00d\u200be", "abcde"},
		{"windows", " One\r\n two.\r\n", "One two."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := cleanComment(test.raw); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzCleanComment(f *testing.F) {
	f.Add(" The name (-- of --)\n - the [a][b]\n TODO x")
	f.Add(strings.Repeat("wörd. ", 900))
	f.Add(strings.Repeat("(--", 900))
	f.Add(strings.Repeat("A line.\n\n", 900))
	f.Add(strings.Repeat("- item\n", 900))
	f.Fuzz(func(t *testing.T, raw string) {
		got := cleanComment(raw)
		if len(got) > maxText || !utf8.ValidString(got) {
			t.Errorf("%d bytes, valid %t", len(got), utf8.ValidString(got))
		}
		// The raw text too: cut must end on any input, not only on clean ones.
		for _, n := range []int{0, 5, 100, len(raw) / 2} {
			if c := cut(raw, n); len(c) > n {
				t.Errorf("cut to %d: %d bytes", n, len(c))
			}
		}
		if s := firstSentence(got); len(s) > maxSentence || strings.Contains(s, "\n") {
			t.Errorf("first sentence %q", s)
		}
		var back string
		if err := json.Unmarshal(appendString(nil, raw), &back); err != nil {
			t.Errorf("string: %v", err)
		} else if back != strings.ToValidUTF8(raw, "\uFFFD") && utf8.ValidString(raw) {
			t.Errorf("string: %q became %q", raw, back)
		}
	})
}

func TestFirstSentence(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                 "",
		"No end":                           "No end",
		"One. Two.":                        "One.",
		"One, e.g. This. Two.":             "One, e.g. This.",
		"Version 1.5 is it. Two.":          "Version 1.5 is it.",
		"Approx. five, vs. Six. Two":       "Approx. five, vs. Six.",
		"Ends at the line\nTwo. Three":     "Ends at the line",
		"Really? Yes.":                     "Really?",
		strings.Repeat("long words ", 100): strings.Repeat("long words ", 21) + "long …",
	} {
		if got := firstSentence(text); got != want {
			t.Errorf("firstSentence(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		n          int
		want       string
	}{
		{"fits", "One.", 4, "One."},
		{"after a sentence", "One two. Three four five", 17, "One two. …"},
		{"after a word", "One two three four five", 18, "One two three …"},
		{"after a line", "One two three\n\nfour five six", 20, "One two three …"},
		{"full stops before lines", "One two.\n\n\nThree. four", 20, "One two. …"},
		{"inside a word", strings.Repeat("ü", 20), 15, "üüüüü …"},
		{"no room", "One two", 3, ""},
		{"negative room", "One two", -5, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := cut(test.text, test.n); got != test.want || len(got) > max(0, test.n) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

type namedMethod struct {
	protoreflect.MethodDescriptor
	name protoreflect.Name
}

func (m namedMethod) Name() protoreflect.Name { return m.name }

func TestTitle(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"GetBook":              "Get book",
		"Get":                  "Get",
		"get_book":             "Get book",
		"listIAMRoles":         "List IAM roles",
		"GetHTTPBody":          "Get HTTP body",
		"ListVMs":              "List VMs",
		"ListVMsByZone":        "List VMs by zone",
		"GetIAM":               "Get IAM",
		"GetBookV2":            "Get book v2",
		"Http2Push":            "Http2 push",
		"GetOAuthToken":        "Get OAuth token",
		"GetOAuth2Token":       "Get OAuth2 token",
		"GetIPv4Address":       "Get IPv4 address",
		"MakeACar":             "Make a car",
		"Get_HTTP_Body":        "Get HTTP body",
		"StreamingRecognize":   "Streaming recognize",
		"___":                  "___",
		"_private":             "Private",
		"ServerReflectionInfo": "Server reflection info",
	} {
		if got := Title(namedMethod{name: protoreflect.Name(name)}); got != want {
			t.Errorf("Title(%s) = %q, want %q", name, got, want)
		}
	}
	if got := Title(namedMethod{name: protoreflect.Name(strings.Repeat("Long", 1000))}); len(got) > 2*maxTitle {
		t.Errorf("title of %d bytes", len(got))
	}
}
