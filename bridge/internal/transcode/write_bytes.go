package transcode

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// AppendJSON appends the JSON string that stands for bytes.
func (e Encoding) AppendJSON(dst, b []byte) []byte {
	switch e {
	case UTF8:
		start := len(dst)
		dst, ok := jsontok.AppendBytes(dst, b)
		if ok && !bytes.HasPrefix(b, []byte(RawPrefix)) {
			return dst
		}
		dst = append(append(dst[:start], '"'), RawPrefix...)
		return append(base64.StdEncoding.AppendEncode(dst, b), '"')
	case Hex:
		return append(hex.AppendEncode(append(dst, '"'), b), '"')
	default:
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), b), '"')
	}
}
