package schema

import (
	"regexp"
	"strings"
	"unicode"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxComment is how much of a raw comment is read.
const maxComment = 16 << 10

// comment returns the documentation of d as plain text: its leading comment,
// else its trailing one, without directives to tools, else what its options for
// OpenAPI say. Lines of a paragraph are joined, paragraphs and list items stand on
// lines of their own. It is empty where the descriptor has none of these, and never
// longer than maxText.
func comment(d protoreflect.Descriptor) string {
	file := d.ParentFile()
	if file == nil {
		return ""
	}
	loc := file.SourceLocations().ByDescriptor(d)
	if text := cleanComment(loc.LeadingComments); text != "" {
		return text
	}
	if text := cleanComment(loc.TrailingComments); text != "" {
		return text
	}
	return openapi(d)
}

// directives start lines that speak to tools or to the authors.
var directives = []string{
	"buf:lint:", "buf:breaking:", "protolint:", "api-linter:", "@exclude", "@gotags:", "@inject_tag:",
	"nolint", "clang-format ", "+kubebuilder:", "+k8s:", "+optional", "+required", "+genclient",
}

var (
	// internalBlock is a comment that API tooling strips before publication
	// (AIP-192). One that is not closed reaches to the end.
	internalBlock = regexp.MustCompile(`(?s)\(--.*?(?:--\)|$)`)
	// crossReference is "[text][full.name.of.a.type]" (AIP-192).
	crossReference = regexp.MustCompile(`\[([^\[\]\n]+)\]\[[^\[\]\n]*\]`)
	note           = regexp.MustCompile(`^(?:TODO|FIXME|XXX|HACK)\b`)
	listItem       = regexp.MustCompile(`^(?:[-*+•] |[0-9]{1,3}[.)] )`)
)

func cleanComment(raw string) string {
	if raw == "" {
		return ""
	}
	raw = plain(clipBytes(raw, maxComment))
	if strings.Contains(raw, "(--") {
		raw = internalBlock.ReplaceAllString(raw, "")
	}
	if strings.Contains(raw, "][") {
		raw = crossReference.ReplaceAllString(raw, "$1")
	}
	if strings.HasPrefix(strings.TrimSpace(raw), "@exclude") {
		return ""
	}

	var text strings.Builder
	text.Grow(len(raw))
	joined := false // the last line may be continued
	noteIndent := -1
	for line := range strings.SplitSeq(raw, "\n") {
		trimmed := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		switch {
		case trimmed == "":
			joined, noteIndent = false, -1
			continue
		case noteIndent >= 0 && indent > noteIndent:
			continue // continues the note above
		case isNote(trimmed):
			joined, noteIndent = false, indent
			continue
		case isDirective(trimmed):
			noteIndent = -1
			continue
		}
		noteIndent = -1
		if text.Len() > 0 {
			text.WriteByte(pick[byte](joined && !isListItem(trimmed), ' ', '\n'))
		}
		writeWords(&text, trimmed)
		joined = true
		if text.Len() > 2*maxText {
			break // more than is read below
		}
	}
	return cut(text.String(), maxText)
}

// plain returns the visible text of s.
func plain(s string) string {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return strings.Map(visible, strings.ToValidUTF8(s, "\uFFFD"))
		}
	}
	return s
}

// writeWords writes a line with single spaces between its words.
func writeWords(to *strings.Builder, line string) {
	if !strings.Contains(line, "  ") && !strings.Contains(line, "\t") {
		to.WriteString(line)
		return
	}
	for i, word := range strings.Fields(line) {
		if i > 0 {
			to.WriteByte(' ')
		}
		to.WriteString(word)
	}
}

// isNote reports whether a line is a note of the authors to themselves.
func isNote(line string) bool {
	switch line[0] {
	case 'T', 'F', 'X', 'H':
		return note.MatchString(line)
	}
	return false
}

// isListItem reports whether a line begins with a bullet or a number.
func isListItem(line string) bool {
	if c := line[0]; isLower(c) || isUpper(c) {
		return false
	}
	return listItem.MatchString(line)
}

func isDirective(line string) bool {
	switch line[0] {
	case 'b', 'p', 'a', '@', 'n', 'c', '+': // the first letters of directives
	default:
		return false
	}
	for _, d := range directives {
		if strings.HasPrefix(line, d) {
			return true
		}
	}
	return false
}

// visible drops what a reader of the text would not see: control characters,
// and the format characters that reorder or hide text. A person who approves
// a tool and the model that calls it must read the same description.
func visible(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case unicode.IsControl(r),
		r == '\u200b', r == '\u2060', r == '\ufeff', r == '\u00ad', // zero width, soft hyphen
		r == '\u200e', r == '\u200f', r == '\u061c', // direction marks
		r >= '\u202a' && r <= '\u202e', // bidirectional embedding and override
		r >= '\u2066' && r <= '\u2069', // bidirectional isolates
		r >= 0xE0000 && r <= 0xE007F:   // tags
		return -1
	}
	return r
}
