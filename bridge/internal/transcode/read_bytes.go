package transcode

import (
	"strconv"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// bytes reads bytes. In base64, padding is needed, because plain text is mostly
// base64 without it.
func (r *reader) bytes(c *cursor, e Encoding) (zero, ok bool) {
	if c.kind() != jsontok.KindString {
		r.wrong(c, "wrong type", e.want())
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
	if r.out, ok = e.appendTo(r.out, s, !r.opts.Exact); !ok {
		r.out = r.out[:mark]
		if !r.misfit() {
			r.misread = true
			r.report(e.misread(s, raw))
		}
		return false, false
	}
	if r.doubtful && r.attempts == 0 && e.byChance(s) {
		r.report(Violation{
			Problem:  "this is " + e.name() + ", but perhaps only by chance",
			Expected: strconv.Quote(e.encode(s)) + " if it is meant as text, or the same again if it is meant as bytes",
			Seen:     describe(raw),
		})
		return false, false
	}
	return len(r.out) == mark+1, true // its length is zero
}
