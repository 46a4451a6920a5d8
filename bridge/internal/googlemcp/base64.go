package googlemcp

import "encoding/base64"

// bytes returns the bytes of a field. Some servers put the text of base64 into
// it, which is then undone: a file is hardly ever nothing but letters and digits,
// as many as make whole bytes.
func (c *toMCP) bytes(data []byte) []byte {
	if !c.base64 || len(data) == 0 {
		return data
	}
	out := make([]byte, base64.StdEncoding.DecodedLen(len(data)))
	n, err := base64.StdEncoding.Strict().Decode(out, data)
	if err != nil {
		return data
	}
	return out[:n]
}
