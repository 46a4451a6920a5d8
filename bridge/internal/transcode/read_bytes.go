package transcode

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

const (
	wantBase64 = `bytes in base64, such as "aGVsbG8=" for the text hello`

	// maxShownBytes is up to how many bytes a value that does not fit is shown
	// in the encoding of its field: an encoding that is cut says something else.
	maxShownBytes = 256
	// maxChance is up to how many characters text is told that may be in an
	// encoding only by chance.
	maxChance = 64
)

// base64 without padding in both alphabets, refusing bits that stand for nothing.
var (
	strictStd = base64.RawStdEncoding.Strict()
	strictURL = base64.RawURLEncoding.Strict()
)

// bytes reads bytes in base64. Of the two alphabets either may be used; padding
// is needed, because plain text is mostly base64 without it.
func (r *reader) bytes(c *cursor) (zero, ok bool) {
	if c.kind() != jsontok.KindString {
		r.wrong(c, "wrong type", wantBase64)
		return false, false
	}
	raw := c.skip()
	s, plain := plainText(raw)
	if !plain {
		text, ok := unquote(raw)
		if !ok {
			r.report(Violation{Problem: loneSurrogate, Seen: describe(raw)})
			return false, false
		}
		s = []byte(text)
	}
	mark := len(r.out)
	if r.out, ok = appendBase64(r.out, s, !r.opts.Exact); !ok {
		r.out = r.out[:mark]
		if !r.misfit() {
			r.misread = true
			r.report(Violation{Problem: "not base64", Expected: "bytes in base64" + meant(s), Seen: describe(raw)})
		}
		return false, false
	}
	if r.doubtful && r.attempts == 0 && byChance(s) {
		r.report(Violation{
			Problem:  "this is base64, but perhaps only by chance",
			Expected: strconv.Quote(base64.StdEncoding.EncodeToString(s)) + " if it is meant as text, or the same again if it is meant as bytes",
			Seen:     describe(raw),
		})
		return false, false
	}
	return len(s) == 0, true
}

// appendBase64 appends what s says in base64, with its length before it. It
// reports whether s is base64 of exactly some bytes, with all of its padding or,
// unless that is needed, with none. Otherwise what it appended does not count.
func appendBase64(dst, s []byte, padded bool) ([]byte, bool) {
	text := bytes.TrimRight(s, "=")
	if padding := len(s) - len(text); (padded || padding > 0) && (padding > 2 || len(s)%4 != 0) {
		return dst, false
	}
	enc := strictStd
	if bytes.ContainsAny(text, "-_") {
		enc = strictURL
	}
	size := enc.DecodedLen(len(text))
	dst = protowire.AppendVarint(dst, uint64(size)) //nolint:gosec // a length
	start := len(dst)
	dst, err := enc.AppendDecode(dst, text)
	// The decoder passes over line breaks.
	return dst, err == nil && len(dst)-start == size
}

// decodeBase64 returns what s says in base64 with its padding.
func decodeBase64(s string) ([]byte, bool) {
	field, ok := appendBase64(nil, []byte(s), true)
	if !ok {
		return nil, false
	}
	out, _ := protowire.ConsumeBytes(field)
	return out, true
}

// meant says what to send in place of text that is not base64.
func meant(s []byte) string {
	if len(s) > maxShownBytes {
		return ", in one alphabet and with its padding"
	}
	says := `: for this text, send ` + strconv.Quote(base64.StdEncoding.EncodeToString(s))
	decoded, ok := looseBase64(s)
	if !ok {
		return says
	}
	return says + ", or " + strconv.Quote(base64.StdEncoding.EncodeToString(decoded)) + " if it is base64 already"
}

// looseBase64 returns what s says in base64, with line breaks, without padding
// or with bits that stand for nothing.
func looseBase64(s []byte) ([]byte, bool) {
	text := strings.TrimRight(strings.NewReplacer("\r", "", "\n", "").Replace(string(s)), "=")
	enc := base64.RawStdEncoding
	if strings.ContainsAny(text, "-_") {
		enc = base64.RawURLEncoding
	}
	decoded, err := enc.DecodeString(text)
	return decoded, err == nil && len(decoded) > 0
}

// byChance reports whether s, which is base64, may just as well be text: it is
// short, without padding, and what it stands for is no text.
func byChance(s []byte) bool {
	if len(s) == 0 || len(s) > maxChance || s[len(s)-1] == '=' {
		return false
	}
	decoded, ok := looseBase64(s)
	return ok && !isText(decoded)
}

// isText reports whether b is text that a person could have written.
func isText(b []byte) bool {
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size <= 1 || !unicode.IsPrint(r) && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
		b = b[size:]
	}
	return true
}
