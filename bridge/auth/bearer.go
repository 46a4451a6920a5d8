package auth

import (
	"crypto/sha256"
	"net/http"
	"strings"
)

// maxTokenBytes bounds bearer tokens: those of the largest directories have 8 KiB.
const maxTokenBytes = 16 << 10

// bearer returns the token of a request, or "" where it has no credential. Tokens in
// the URL do not count (OAuth 2.1, section 5.1).
func bearer(r *http.Request) (string, *Refusal) {
	values := r.Header["Authorization"]
	switch len(values) {
	case 0:
		return "", nil
	case 1:
	default:
		return "", &Refusal{Status: http.StatusBadRequest, Code: invalidRequest, Reason: "it has several Authorization headers"}
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.Trim(token, " ")
	switch {
	case !strings.EqualFold(scheme, "Bearer"):
		return "", invalid("its Authorization is not of the scheme Bearer")
	case len(token) > maxTokenBytes:
		return "", invalid("its token is too long")
	case !isToken(token):
		return "", invalid("its token has characters that no token has")
	}
	return token, nil
}

const tokenCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/"

// isToken reports whether a text is a b64token (RFC 6750, section 2.1).
func isToken(text string) bool {
	body := strings.TrimRight(text, "=")
	return body != "" && strings.Trim(body, tokenCharacters) == ""
}

// digest is how tokens are remembered: nobody can read them out of memory.
func digest(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }
