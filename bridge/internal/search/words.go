package search

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
)

// words yields the words of a text: runs of letters and digits, split at
// capitals, in lower case and without a plural ending. Of scripts that put no
// spaces between words, every character is a word.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := -1 // of the word at hand
		var last rune
		for i, r := range text {
			switch {
			case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
				if start >= 0 && !yield(normal(text[start:i])) {
					return
				}
				start = -1
			case ideographic(r):
				if start >= 0 && !yield(normal(text[start:i])) {
					return
				}
				start = -1
				if !yield(string(r)) {
					return
				}
			case start < 0:
				start = i
			case capital(text, i, last, r):
				if !yield(normal(text[start:i])) {
					return
				}
				start = i
			}
			last = r
		}
		if start >= 0 {
			yield(normal(text[start:]))
		}
	}
}

// capital reports whether a new word begins at the rune r, which stands at
// text[i:], after last: B in aB, and in ABc.
func capital(text string, i int, last, r rune) bool {
	if !unicode.IsUpper(r) {
		return false
	}
	if !unicode.IsUpper(last) {
		return !unicode.IsDigit(last)
	}
	next, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(r):])
	// The plural of an abbreviation, as in "VMs", is no word of its own.
	return unicode.IsLower(next) && !pluralEnd(text[i+utf8.RuneLen(r):])
}

// pluralEnd reports whether a text begins with an s that ends a word.
func pluralEnd(rest string) bool {
	if !strings.HasPrefix(rest, "s") {
		return false
	}
	next, n := utf8.DecodeRuneInString(rest[1:])
	return n == 0 || !unicode.IsLower(next)
}

func ideographic(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// normal returns a word as the index has it.
func normal(word string) string {
	word = strings.ToLower(word)
	n := len(word)
	switch {
	case n < 3 || !strings.HasSuffix(word, "s") || strings.HasSuffix(word, "ss") || strings.HasSuffix(word, "us") || strings.HasSuffix(word, "is"):
		return word
	case n > 4 && strings.HasSuffix(word, "ies"):
		return word[:n-3] + "y"
	case n > 4 && (strings.HasSuffix(word, "sses") || strings.HasSuffix(word, "xes") || strings.HasSuffix(word, "ches") || strings.HasSuffix(word, "shes")):
		return word[:n-2]
	default:
		return word[:n-1]
	}
}

// stop has the words that say nothing of what a tool does.
var stop = func() map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(`a an the of in on at to for from with without into by and or is are be been it its as
		this that these those which what who how do does can could would should i me my we our you your please want need some any
		all if when where will has have not`) {
		m[normal(w)] = true
	}
	return m
}()

// synonyms has, for the words that methods begin with, those that people use
// for the same, and the other way round.
var synonyms = func() map[string][]string {
	m := make(map[string][]string)
	for _, line := range []string{
		"get fetch read retrieve show view describe lookup load",
		"list show enumerate browse index",
		"create add new insert make register provision open",
		"delete remove destroy drop erase purge",
		"update modify change edit patch set replace rename",
		"search find query lookup filter",
		"start run launch begin boot execute trigger invoke",
		"stop halt end terminate shutdown cancel abort",
		"send publish post emit deliver",
		"watch subscribe stream follow tail listen monitor",
		"copy clone duplicate",
		"upload import ingest",
		"download export",
		"enable activate",
		"disable deactivate",
		"vm instance machine",
		"permission iam policy role access",
	} {
		group := strings.Fields(line)
		for _, a := range group {
			for _, b := range group {
				if a != b {
					m[normal(a)] = append(m[normal(a)], normal(b))
				}
			}
		}
	}
	return m
}()

// queryTerms returns the words of a query that count, each once.
func queryTerms(query string) []string {
	query = clip.Head(query, MaxQuery)
	var terms, stopped []string
	seen := make(map[string]bool)
	for w := range words(query) {
		if seen[w] {
			continue
		}
		seen[w] = true
		if stop[w] {
			stopped = append(stopped, w)
		} else {
			terms = append(terms, w)
		}
		if len(terms) == maxTerms {
			break
		}
	}
	if terms == nil {
		// Perhaps a tool is called so.
		return stopped[:min(len(stopped), maxTerms)]
	}
	return terms
}
