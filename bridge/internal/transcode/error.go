package transcode

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// ArgumentError says everything that is wrong with arguments. It is for the
// model that wrote them, so it quotes them, in part.
type ArgumentError struct {
	// Violations has at least one element and at most as many as
	// [Options.MaxViolations] allows, in the order of the text.
	Violations []Violation
	// Truncated is set where there may be more.
	Truncated bool
}

// Error returns all violations, one per line.
func (e *ArgumentError) Error() string {
	var b strings.Builder
	switch n := len(e.Violations); {
	case n == 1:
		return "invalid arguments: " + e.Violations[0].String()
	case e.Truncated:
		fmt.Fprintf(&b, "invalid arguments, the first %d problems:", n)
	default:
		fmt.Fprintf(&b, "invalid arguments, %d problems:", n)
	}
	for _, v := range e.Violations {
		b.WriteString("\n- ")
		b.WriteString(v.String())
	}
	return b.String()
}

// Violation is one fault in arguments.
type Violation struct {
	// Path leads to the value, such as book.authors[2].name or
	// labels["env"]. It is empty for the arguments as a whole.
	Path string
	// Problem says what is wrong.
	Problem string
	// Expected is what would be right, or empty.
	Expected string
	// Seen is what was there, shortened, or empty.
	Seen string
	// Suggestions are the nearest valid names.
	Suggestions []string
}

// String returns the violation in one line.
func (v Violation) String() string {
	var b strings.Builder
	if v.Path != "" {
		b.WriteString(v.Path)
		b.WriteString(": ")
	}
	b.WriteString(v.Problem)
	if v.Expected != "" {
		b.WriteString("; want ")
		b.WriteString(v.Expected)
	}
	if v.Seen != "" {
		b.WriteString(", got ")
		b.WriteString(v.Seen)
	}
	for i, s := range v.Suggestions {
		switch i {
		case 0:
			b.WriteString("; did you mean ")
		case len(v.Suggestions) - 1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(s))
	}
	if len(v.Suggestions) > 0 {
		b.WriteString("?")
	}
	return b.String()
}

// step is one element of a path: a member by its name, a map entry by its
// key, or an element of a list.
type step struct {
	name  string
	raw   []byte // in place of the name, as JSON in quotes
	index int
	kind  stepKind
}

func (s step) text() string {
	if s.raw != nil {
		name, _ := jsontok.String(s.raw)
		return name
	}
	return s.name
}

type stepKind int

const (
	stepField stepKind = iota
	stepIndex
	stepKey
)

// path leads from the arguments to a value.
type path []step

func (p *path) push(s step) { *p = append(*p, s) }
func (p *path) pop()        { *p = (*p)[:len(*p)-1] }

func (p path) String() string {
	var b strings.Builder
	for i, s := range p {
		switch s.kind {
		case stepIndex:
			fmt.Fprintf(&b, "[%d]", s.index)
		case stepKey:
			fmt.Fprintf(&b, "[%s]", strconv.Quote(clip(s.text(), maxNameText)))
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(printable(clip(s.text(), maxNameText)))
		}
	}
	return b.String()
}

const (
	maxNameText = 80 // how much of a name an error shows
	maxSeenText = 60 // how much of a value an error shows
)

// clip cuts s to at most n bytes, at the beginning of a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// printable returns s, quoted if it is empty or has characters that would
// break the line or cannot be seen.
func printable(s string) string {
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r == ' ' || r == utf8.RuneError || !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// cleanText returns the text of an error of the protobuf module without the
// prefix, whose white space that module varies on purpose.
func cleanText(err error) string {
	text := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, err.Error())
	return strings.TrimSpace(strings.TrimPrefix(text, "proto:"))
}
