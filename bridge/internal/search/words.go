package search

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
)

// words yields the words of a text: runs of letters and digits, split at
// capitals, in lower case. Of scripts that put no spaces between words, every
// character is a word.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := -1 // of the word at hand
		var last rune
		for i, r := range text {
			switch {
			case apostrophe(r) && start >= 0 && unicode.IsLetter(last):
				// "doesn't" is one word, and "somebody's" is "somebody".
				if !yield(strings.ToLower(text[start:i])) {
					return
				}
				start = -2
			case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
				if start >= 0 && !yield(strings.ToLower(text[start:i])) {
					return
				}
				start = -1
			case start == -2: // after an apostrophe
			case ideographic(r):
				if start >= 0 && !yield(strings.ToLower(text[start:i])) {
					return
				}
				start = -1
				if !yield(string(r)) {
					return
				}
			case start < 0:
				start = i
			case capital(text, i, last, r):
				if !yield(strings.ToLower(text[start:i])) {
					return
				}
				start = i
			}
			last = r
		}
		if start >= 0 {
			yield(strings.ToLower(text[start:]))
		}
	}
}

func apostrophe(r rune) bool { return r == '\'' || r == '’' }

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

// stem returns a word as the index has it: without its English endings.
func stem(word string) string {
	const longest = 40 // what is longer is no word
	if len(word) < 3 || len(word) > longest {
		return word
	}
	if word[len(word)-1] == 's' && !strings.ContainsAny(word, "aeiouy") {
		return word[:len(word)-1] // of an abbreviation, such as VMs
	}
	env := snowballstem.NewEnv(word)
	english.Stem(env)
	return env.Current()
}
