package schema

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxText is the length of the longest description. Hosts cut at about
	// 2 KB.
	maxText = 2000
	// maxSentence is the length of what firstSentence returns.
	maxSentence = 240
	// maxNameText is the length of a name of a type or field in a text.
	maxNameText = 128
	ellipsis    = "…"
)

// cut returns s in at most n bytes. It cuts after a sentence where that keeps
// at least half of the room, else after a word, and marks the cut.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = " " + ellipsis
	if n < len(mark) {
		return ""
	}
	head := clipBytes(s, n-len(mark))
	last := 0
	for i := 0; i < len(head); {
		end := sentenceEnd(head[i:])
		if end < 0 {
			break
		}
		i += end
		last = i
	}
	if last >= n/2 {
		return strings.TrimSpace(head[:last]) + mark
	}
	if i := strings.LastIndexAny(head, " \n"); i >= n/2 {
		head = head[:i]
	}
	return strings.TrimSpace(head) + mark
}

// clip returns a name in at most n bytes.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return clipBytes(s, n-len(ellipsis)) + ellipsis
}

// clipBytes returns the longest prefix of whole runes within n bytes.
func clipBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// firstSentence returns the first sentence of s, shortened to maxSentence.
func firstSentence(s string) string {
	if end := sentenceEnd(s); end >= 0 {
		s = s[:end]
	}
	return cut(strings.TrimSpace(s), maxSentence)
}

// abbreviations end in a full stop that ends no sentence.
var abbreviations = []string{"e.g.", "i.e.", "etc.", "vs.", "cf.", "a.k.a.", "approx.", "incl.", "no."}

// sentenceEnd returns the offset just after the first sentence of s, or -1
// where s has no end of a sentence that more text follows. A line break always
// ends a sentence and belongs to it, so the offset is never 0.
func sentenceEnd(s string) int {
	for i := range len(s) {
		switch s[i] {
		case '\n':
			return i + 1
		case '.', '!', '?':
			if i+1 >= len(s) || (s[i+1] != ' ' && s[i+1] != '\n') {
				continue
			}
			word := s[strings.LastIndexAny(s[:i], " \n(")+1 : i+1]
			if isAbbreviation(word) {
				continue
			}
			if s[i+1] == ' ' {
				if next, _ := utf8.DecodeRuneInString(s[i+2:]); unicode.IsLower(next) {
					continue
				}
			}
			return i + 1
		}
	}
	return -1
}

func isAbbreviation(word string) bool {
	for _, a := range abbreviations {
		if strings.EqualFold(word, a) {
			return true
		}
	}
	return false
}

// join puts texts one after the other. A text that does not end in
// punctuation gets a full stop when another one follows.
func join(texts ...string) string {
	var b strings.Builder
	for _, t := range texts {
		if t == "" {
			continue
		}
		if b.Len() > 0 {
			if r, _ := utf8.DecodeLastRuneInString(b.String()); !unicode.IsPunct(r) || strings.ContainsRune("\"'`)]", r) {
				b.WriteByte('.')
			}
			b.WriteByte(' ')
		}
		b.WriteString(t)
	}
	return b.String()
}

// sample lists at most most names, and at most room bytes of them.
func sample(names []string, most, room int) string {
	var b strings.Builder
	for i, name := range names {
		name = clip(name, maxNameText)
		if i >= most || (i > 0 && b.Len()+len(name) > room) {
			b.WriteString(", ")
			b.WriteString(ellipsis)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name)
	}
	return b.String()
}
