package schema

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// maxParsed bounds the patterns that are read at all: protovalidate's are
// written by hand.
const maxParsed = 4 << 10

// checkPattern reports whether a pattern is valid, and matches the empty
// string.
func checkPattern(pattern string) (valid, fitsEmpty bool) {
	if len(pattern) > maxParsed {
		return true, false
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return false, false
	}
	return true, re.MatchString("")
}

// escape returns a pattern that matches s.
func escape(s string) string {
	var b strings.Builder
	for _, r := range s {
		writeLiteral(&b, r, false)
	}
	return b.String()
}

// writeLiteral writes a character that stands for itself, in a class or out of
// it. What is escaped is so in regular expressions with and without the flag
// u, and no other escapes are valid in the former.
func writeLiteral(b *strings.Builder, r rune, class bool) {
	switch {
	case strings.ContainsRune(`\^$.*+?()[]{}|/`, r), class && r == '-':
		if r == '/' { // needs none in a string
			b.WriteRune(r)
			return
		}
		b.WriteByte('\\')
	}
	b.WriteRune(r)
}

// ecma returns a regular expression of RE2 in the syntax of ECMA-262. ok is
// false unless both are sure to match the same strings: what the two syntaxes
// share, and "." and "\s", which are written as what RE2 takes them for. With
// the flag u, as JSON Schema has it, that is true of all strings; without it,
// of those without characters beyond U+FFFF, which then count twice.
func ecma(pattern string) (translated string, ok bool) {
	if len(pattern) > maxPattern || !utf8.ValidString(pattern) {
		return "", false
	}
	if _, err := syntax.Parse(pattern, syntax.Perl); err != nil {
		return "", false
	}
	t := translator{rest: pattern}
	for t.rest != "" {
		if !t.next() {
			return "", false
		}
	}
	return t.out.String(), true
}

// translator reads a valid pattern from left to right.
type translator struct {
	rest string
	out  strings.Builder
	// asserted is set after an assertion, which only RE2 repeats.
	asserted bool
}

func (t *translator) take(n int) string {
	s := t.rest[:n]
	t.rest = t.rest[n:]
	return s
}

func (t *translator) next() bool {
	asserted := t.asserted
	t.asserted = false
	switch c := t.rest[0]; c {
	case '(':
		if strings.HasPrefix(t.rest, "(?") {
			if !strings.HasPrefix(t.rest, "(?:") {
				return false // flags and names
			}
			t.out.WriteString(t.take(3))
			return true
		}
		t.out.WriteString(t.take(1))
		return true
	case '^', '$':
		t.asserted = true
		t.out.WriteString(t.take(1))
		return true
	case ')', '|':
		t.out.WriteString(t.take(1))
		return true
	case '*', '+', '?':
		t.out.WriteString(t.take(1))
		return !asserted
	case '{':
		n := repetition(t.rest)
		if n == 0 || asserted {
			return false // a literal to RE2, an error elsewhere
		}
		t.out.WriteString(t.take(n))
		return true
	case '.':
		t.take(1)
		t.out.WriteString(`[^\n]`)
		return true
	case '[':
		return t.class()
	case '\\':
		return t.escape(false)
	default:
		return t.literal(false)
	}
}

func (t *translator) literal(class bool) bool {
	r, n := utf8.DecodeRuneInString(t.rest)
	if r > 0xffff {
		return false // two characters without the flag u
	}
	t.take(n)
	writeLiteral(&t.out, r, class)
	return true
}

var repeat = regexp.MustCompile(`^\{[0-9]+(,[0-9]*)?\}`)

func repetition(s string) int { return len(repeat.FindString(s)) }

// escape translates an escape sequence.
func (t *translator) escape(class bool) bool {
	if len(t.rest) < 2 {
		return false
	}
	switch c := t.rest[1]; c {
	case 'd', 'w', 'D', 'W', 'n', 'r', 't', 'f', 'v':
		t.out.WriteString(t.take(2))
		return true
	case 'b', 'B':
		if class {
			return false
		}
		t.asserted = true
		t.out.WriteString(t.take(2))
		return true
	case 's':
		t.take(2)
		t.out.WriteString(pick(class, `\t\n\f\r `, `[\t\n\f\r ]`))
		return true
	case 'S':
		if class {
			return false
		}
		t.take(2)
		t.out.WriteString(`[^\t\n\f\r ]`)
		return true
	case 'A', 'z':
		if class {
			return false
		}
		t.asserted = true
		t.take(2)
		t.out.WriteString(pick(c == 'A', "^", "$"))
		return true
	case 'x':
		if len(t.rest) < 4 || t.rest[2] == '{' {
			return false
		}
		t.out.WriteString(t.take(4))
		return true
	default:
		if c >= utf8.RuneSelf || isAlphanumeric(c) {
			return false
		}
		t.take(1)
		return t.literal(class)
	}
}

// class translates a character class.
func (t *translator) class() bool {
	t.out.WriteString(t.take(1))
	if strings.HasPrefix(t.rest, "^") {
		t.out.WriteString(t.take(1))
	}
	for first := true; t.rest != ""; first = false {
		if t.rest[0] == ']' && !first {
			t.out.WriteString(t.take(1))
			return true
		}
		single, ok := t.atom()
		if !ok {
			return false
		}
		if single && len(t.rest) > 1 && t.rest[0] == '-' && t.rest[1] != ']' {
			t.out.WriteString(t.take(1))
			if single, ok = t.atom(); !ok || !single {
				return false
			}
		}
	}
	return false
}

// atom translates a member of a class. single is true where it is one
// character, which may begin or end a range.
func (t *translator) atom() (single, ok bool) {
	switch {
	case strings.HasPrefix(t.rest, "[:"):
		return false, false
	case t.rest[0] == '\\':
		single = len(t.rest) > 1 && !strings.ContainsRune("dDwWs", rune(t.rest[1]))
		return single, t.escape(true)
	default:
		return true, t.literal(true)
	}
}
