package search

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestVocabulary reads through the two lists: a line that cannot be read would be
// ignored.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	for line := range entries(vocabularyText) {
		if strings.HasPrefix(line, "~") {
			continue
		}
		group := strings.Fields(strings.TrimPrefix(line, "!"))
		if n, err := strconv.Atoi(group[0]); err != nil || n < 1 || n > 99 {
			t.Errorf("%q: want a weight from 1 to 99 first", line)
		}
		seen := make(map[string]string)
		for _, word := range group[1:] {
			if word != strings.ToLower(word) {
				t.Errorf("%q: %s has capitals", line, word)
			}
			if other, twice := seen[stem(word)]; twice {
				t.Errorf("%q: %s and %s are one word", line, other, word)
			}
			seen[stem(word)] = word
		}
	}
	seen := make(map[string]bool)
	for line := range entries(phrasesText) {
		said, _, ok := strings.Cut(line, "=>")
		words := strings.Fields(strings.TrimLeft(said, "^?"))
		if !ok || len(words) == 0 {
			t.Errorf("%q: want words => what they are read as", line)
		}
		key := strings.HasPrefix(said, "^")
		if name := strconv.FormatBool(key) + strings.Join(words, " "); seen[name] {
			t.Errorf("%q comes twice", line)
		} else {
			seen[name] = true
		}
	}
	if v := known(); len(v.synonyms) < 200 || len(v.verbs) < 100 || len(v.phrases) < 30 || len(v.light) < 5 {
		t.Errorf("%d words have synonyms, %d are verbs, %d begin phrases, %d are light", len(v.synonyms), len(v.verbs), len(v.phrases), len(v.light))
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"GetHTTPRoutes_v2":     "get http routes v2",
		"listVMs of IDs":       "list vms of ids",
		"somebody's e-mail":    "somebody e mail",
		"doesn’t it":           "doesn it",
		"本を作成":                 "本 を 作 成",
		"read_file2 \t page-3": "read file2 page 3",
	} {
		if got := strings.Join(slices.Collect(words(text)), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for word, want := range map[string]string{"shelves": "shelv", "creating": "creat", "permissions": "permiss", "vms": "vm", "policies": "polici", "dns": "dn", "is": "is", "größe": "größe"} {
		if got := stem(word); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"Library_GetBook":                  {"Library", "GetBook"},
		"etcd_Auth_RoleAdd":                {"etcd_Auth", "RoleAdd"},
		"read_text_file":                   {"", "read_text_file"},
		"Service_RegisterRelatio_1666a072": {"Service", "RegisterRelatio"},
		"GetBook":                          {"", "GetBook"},
		"_":                                {"", "_"},
		"a_":                               {"", "a_"},
	} {
		if service, own := split(name); service != want[0] || own != want[1] {
			t.Errorf("%s: %q and %q, want %q", name, service, own, want)
		}
	}
}
