package typed

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/mcp-bridge/mcp-bridge/internal/clip"
)

// maxName is how long names of ours may be, and hashLen how much of that is
// there to tell apart what had to be cut.
const (
	maxName = 60
	hashLen = 6
)

// words takes a name of any kind apart: at what is neither a letter nor a
// digit, and where upper case begins. What is left is ASCII in lower case.
// Letters lose their accents; those of other scripts become their code points.
func words(name string) []string {
	var all []string
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			all = append(all, strings.ToLower(word.String()))
			word.Reset()
		}
	}
	runes := []rune(norm.NFKD.String(clip.Head(name, 512)))
	for i, r := range runes {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			flush()
			word.WriteString("u" + strconv.FormatInt(int64(r), 16))
			flush()
		case !isAlphanumeric(r):
			flush()
		case unicode.IsUpper(r):
			lowerBefore := i > 0 && !unicode.IsUpper(runes[i-1])
			lowerBehind := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if lowerBefore || lowerBehind {
				flush()
			}
			word.WriteRune(r)
		default:
			word.WriteRune(r)
		}
	}
	flush()
	return all
}

func isAlphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// snake returns the name of a field.
func snake(name string) string {
	s := strings.Join(words(name), "_")
	if s == "" {
		s = "field"
	}
	if s[0] <= '9' {
		s = "n" + s
	}
	return shorten(s, name, "_")
}

// pascal returns the name of a type or a method.
func pascal(name string) string {
	var b strings.Builder
	for _, w := range words(name) {
		b.WriteString(strings.ToUpper(w[:1]) + w[1:])
	}
	s := b.String()
	if s == "" {
		s = "Type"
	}
	if s[0] <= '9' {
		s = "N" + s
	}
	return shorten(s, name, "H")
}

// upper returns the rest of the name of an enum's value.
func upper(text string) string {
	if s := strings.ToUpper(strings.Join(words(text), "_")); s != "" {
		return shorten(s, text, "_")
	}
	// Values such as ">=" have no words.
	var b strings.Builder
	for i, r := range clip.Head(text, 16) {
		if i > 0 {
			b.WriteByte('_')
		}
		fmt.Fprintf(&b, "U%04X", r)
	}
	return b.String()
}

// enumPrefix returns what the values of an enum begin with: its name in upper
// case, taken apart as linters do.
func enumPrefix(name string) string {
	var b strings.Builder
	for i := range len(name) {
		isUpper := 'A' <= name[i] && name[i] <= 'Z'
		if i > 0 && isUpper {
			before := name[i-1]
			lowerBefore := 'a' <= before && before <= 'z'
			behind := byte('A')
			if i+1 < len(name) {
				behind = name[i+1]
			}
			if lowerBefore || 'a' <= behind && behind <= 'z' {
				b.WriteByte('_')
			}
		}
		b.WriteByte(name[i])
	}
	return strings.ToUpper(b.String()) + "_"
}

// shorten cuts a name that is too long, and adds a hash of what it was.
func shorten(s, from, sep string) string {
	if len(s) <= maxName {
		return s
	}
	return strings.TrimRight(s[:maxName-hashLen-len(sep)], "_") + sep + hash(from)
}

// hash returns a text of letters and digits, which begins with a letter.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "x" + hex.EncodeToString(sum[:])[:hashLen-1]
}

// singular returns the word for one of what a name in the plural means.
func singular(name string) string {
	lower := strings.ToLower(name)
	switch {
	case strings.HasSuffix(lower, "ies") && len(name) > 4:
		return name[:len(name)-3] + "y"
	case strings.HasSuffix(lower, "sses"), strings.HasSuffix(lower, "xes"), strings.HasSuffix(lower, "ches"), strings.HasSuffix(lower, "shes"):
		return name[:len(name)-2]
	case strings.HasSuffix(lower, "ss"), strings.HasSuffix(lower, "us"), strings.HasSuffix(lower, "is"), !strings.HasSuffix(lower, "s"), len(name) < 3:
		return name
	default:
		return name[:len(name)-1]
	}
}

// names are those of one scope. No two are the same in lower case and without
// underscores, which compilers and the languages of generated code demand.
type names struct {
	taken map[string]bool
	// next are the numbers to try next, by the name that they make unique.
	next map[string]int
	// hashed makes the names of the second and further claimants depend on
	// nothing but what they name.
	hashed bool
}

func newNames(hashed bool, taken ...string) *names {
	n := &names{taken: make(map[string]bool), next: make(map[string]int), hashed: hashed}
	for _, name := range taken {
		n.take(name)
	}
	return n
}

func key(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

func (n *names) take(name string)     { n.taken[key(name)] = true }
func (n *names) has(name string) bool { return n.taken[key(name)] }

func (n *names) takeAll(all []string) {
	for _, name := range all {
		n.take(name)
	}
}

// claim returns the wanted name, or one like it if that is taken: sep and a
// number, or sep and a hash of what it names. The names derived from it by the
// suffixes, of which the empty one is the first, are taken as well.
func (n *names) claim(want, what, sep string, suffixes ...func(string) string) string {
	name := want
	for i := max(2, n.next[want]); ; i++ {
		free := !n.has(name)
		for _, derive := range suffixes {
			free = free && !n.has(derive(name))
		}
		if free {
			break
		}
		n.next[want] = i + 1
		tail := strconv.Itoa(i)
		if n.hashed {
			tail = hash(strconv.Itoa(i) + what)
			if sep == "" {
				tail = strings.ToUpper(tail[:1]) + tail[1:]
			}
		}
		name = want + sep + tail
	}
	n.take(name)
	for _, derive := range suffixes {
		n.take(derive(name))
	}
	return name
}
