package transcode

import (
	"strconv"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxTexts is how many texts a codec notes of one message.
	MaxTexts = 20
	// maxTextBytes is how much of a text is noted, and maxTextChecked up to which
	// length bytes are taken for a text.
	maxTextBytes   = 200
	maxTextChecked = 4 << 10
)

// AppendReadable is [Codec.AppendJSON] for a reader who does not see through base64:
// the texts say, for up to [MaxTexts] bytes that are text, what they are, such as
// kvs[0].key: "foo".
func (c *Codec) AppendReadable(dst, wire []byte) (json []byte, texts, warnings []string, err error) {
	return c.appendJSON(dst, wire, true)
}

// noteText notes bytes that are text, in the member of the name unless that is empty.
func (w *writer) noteText(b []byte, name string) {
	if len(w.texts) == MaxTexts || !isReadable(b) {
		return
	}
	top := len(w.trail)
	if name != "" {
		w.trail = append(w.trail, mark{name: name})
	}
	w.texts = append(w.texts, w.path().String()+": "+strconv.Quote(clip(string(b), maxTextBytes)))
	w.trail = w.trail[:top]
}

// isReadable reports whether bytes are text that a person could have written.
func isReadable(b []byte) bool {
	if len(b) == 0 || len(b) > maxTextChecked {
		return false
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 || !unicode.IsPrint(r) && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
		i += n
	}
	return true
}
