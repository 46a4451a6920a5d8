package secret

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// mask stands for what a URL does not show.
const mask = "xxxxx"

// URL returns the text of a URL as it may be shown: without user information,
// and with the values of query parameters masked whose names say that they are
// secret. What comes before the URL's scheme, such as the name in NAME=URL,
// stays. It reads URLs that url.Parse does not.
func URL(text string) string {
	at := strings.Index(text, "://")
	if at < 0 {
		return text
	}
	at += len("://")
	head, rest := text[:at], text[at:]
	rest, fragment, hasFragment := strings.Cut(rest, "#")
	rest, query, hasQuery := strings.Cut(rest, "?")
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	// A password with an unescaped slash is no part of a path.
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = authority[i+1:]
	} else if i := strings.LastIndexByte(path, '@'); i >= 0 && strings.Contains(authority, ":") && !isPort(authority) {
		authority, path = path[i+1:], ""
	}
	text = head + authority + path
	if hasQuery {
		text += "?" + maskQuery(query)
	}
	if hasFragment {
		text += "#" + maskQuery(fragment)
	}
	return text
}

// isPort reports whether what follows the last colon of an authority can be a
// port.
func isPort(authority string) bool {
	port := authority[strings.LastIndexByte(authority, ':')+1:]
	return !strings.ContainsFunc(port, func(r rune) bool { return r < '0' || r > '9' })
}

// maskQuery masks the secret values of a query.
func maskQuery(query string) string {
	parts := strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' })
	changed := false
	for i, part := range parts {
		name, value, ok := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); ok && value != "" && (err != nil || Name(plain)) {
			parts[i], changed = name+"="+mask, true
		}
	}
	if !changed {
		return query
	}
	return strings.Join(parts, "&")
}

// urls matches URLs in text.
var urls = regexp.MustCompile("[A-Za-z][A-Za-z0-9+.-]*://[^\\s\"'`<>]+")

// Text returns text with each URL in it as [URL] shows it.
func Text(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return urls.ReplaceAllStringFunc(text, URL)
}

// words are the words by which names tell that their values are secret.
var words = []string{
	"auth", "authorization", "bearer", "cookie", "credential", "credentials", "jwt", "key", "passphrase", "passwd", "password", "pat",
	"pwd", "secret", "secrets", "session", "sid", "sig", "signature", "token", "tokens",
}

// endings are how such names end where their words are not told apart.
var endings = []string{
	"accesskey", "apikey", "authorization", "credential", "credentials", "passphrase", "passwd", "password", "privatekey", "secret",
	"secretkey", "sessionid", "signature", "token",
}

// Name reports whether the name of a header, a variable or a parameter says that
// its value is secret. It looks at whole words: an author is none.
func Name(name string) bool {
	var b strings.Builder
	lower := false
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case unicode.IsUpper(r) && lower: // camelCase
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		b.WriteRune(unicode.ToLower(r))
	}
	fields := strings.Fields(b.String())
	if slices.ContainsFunc(fields, func(w string) bool { return slices.Contains(words, w) }) {
		return true
	}
	joined := strings.Join(fields, "")
	return slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(joined, e) })
}
