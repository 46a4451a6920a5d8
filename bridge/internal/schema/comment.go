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
// else its trailing one, without directives to tools. Lines of a paragraph are
// joined, paragraphs and list items stand on lines of their own. It is empty
// where the descriptor carries no source information, and never longer than
// maxText.
func comment(d protoreflect.Descriptor) string {
	file := d.ParentFile()
	if file == nil {
		return ""
	}
	loc := file.SourceLocations().ByDescriptor(d)
	if text := cleanComment(loc.LeadingComments); text != "" {
		return text
	}
	return cleanComment(loc.TrailingComments)
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
	raw = strings.ToValidUTF8(clipBytes(raw, maxComment), "\uFFFD")
	raw = strings.Map(visible, raw)
	raw = internalBlock.ReplaceAllString(raw, "")
	raw = crossReference.ReplaceAllString(raw, "$1")
	if strings.HasPrefix(strings.TrimSpace(raw), "@exclude") {
		return ""
	}

	var lines []string
	joined := false // the last of lines may be continued
	noteIndent := -1
	for line := range strings.SplitSeq(raw, "\n") {
		text := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		switch {
		case text == "":
			joined, noteIndent = false, -1
			continue
		case noteIndent >= 0 && indent > noteIndent:
			continue // continues the note above
		case note.MatchString(text):
			joined, noteIndent = false, indent
			continue
		case isDirective(text):
			noteIndent = -1
			continue
		}
		noteIndent = -1
		text = strings.Join(strings.Fields(text), " ")
		if joined && !listItem.MatchString(text) {
			lines[len(lines)-1] += " " + text
		} else {
			lines = append(lines, text)
		}
		joined = true
	}
	return cut(strings.Join(lines, "\n"), maxText)
}

func isDirective(line string) bool {
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
