package transcode

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// encoded writes bytes in an encoding.
func (w *writer) encoded(b []byte, e Encoding) {
	switch e {
	case UTF8:
		start := len(w.dst)
		var ok bool
		if w.dst, ok = jsontok.AppendBytes(w.dst, b); ok && !bytes.HasPrefix(b, []byte(RawPrefix)) {
			return
		}
		w.dst = append(append(w.dst[:start], '"'), RawPrefix...)
		w.dst = append(base64.StdEncoding.AppendEncode(w.dst, b), '"')
	case Hex:
		w.dst = append(hex.AppendEncode(append(w.dst, '"'), b), '"')
	default:
		w.base64(b)
	}
}

func (w *writer) base64(b []byte) {
	w.dst = append(w.dst, '"')
	w.dst = base64.StdEncoding.AppendEncode(w.dst, b)
	w.dst = append(w.dst, '"')
}
