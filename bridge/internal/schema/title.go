package schema

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxTitle bounds a title, in bytes.
const maxTitle = 128

// Title returns the words of the method's name as a title for people:
// "GetBook" becomes "Get book", "ListIAMRoles" becomes "List IAM roles".
func Title(method protoreflect.MethodDescriptor) string {
	words := splitWords(clip(string(method.Name()), maxTitle))
	for i, w := range words {
		switch {
		case isAcronym(w):
		case i == 0:
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		default:
			words[i] = strings.ToLower(w)
		}
	}
	if len(words) == 0 { // a name of underscores
		return clip(string(method.Name()), maxTitle)
	}
	return strings.Join(words, " ")
}

// mixedCase are words whose capitals do not tell words apart.
var mixedCase = []string{"OAuth2", "OAuth", "IPv4", "IPv6", "GraphQL", "GitHub", "GitLab", "BigQuery", "PubSub", "YouTube"}

// splitWords splits a name in camel case or snake case into words. A run of
// capitals is one word up to the capital that starts the next; an "s" that
// ends it makes a plural ("VMs"). Digits belong to the word before them.
func splitWords(name string) []string {
	var words []string
	for len(name) > 0 {
		if name[0] == '_' {
			name = name[1:]
			continue
		}
		n := wordLen(name)
		words = append(words, name[:n])
		name = name[n:]
	}
	return words
}

// wordLen returns the length of the word that name starts with.
func wordLen(name string) int {
	for _, w := range mixedCase {
		if rest, ok := strings.CutPrefix(name, w); ok && (rest == "" || !isLower(rest[0])) {
			return len(w)
		}
	}
	i := 0
	for i < len(name) && isUpper(name[i]) {
		i++
	}
	if i > 1 && i < len(name) && isLower(name[i]) {
		if plural := name[i] == 's' && (i+1 == len(name) || !isLower(name[i+1])); plural {
			return i + 1
		}
		return i - 1 // the last capital starts the next word
	}
	for i < len(name) && !isUpper(name[i]) && name[i] != '_' {
		i++
	}
	return i
}

// isAcronym reports whether a word keeps its capitals. A capital with digits
// after it is a version: "V2" becomes "v2".
func isAcronym(w string) bool {
	capitals := 0
	for i := range len(w) {
		if isUpper(w[i]) {
			capitals++
		}
	}
	return capitals > 1
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
