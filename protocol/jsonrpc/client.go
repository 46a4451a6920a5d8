package jsonrpc

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// AppendRequest appends a request. Nil params are left out.
func AppendRequest(dst []byte, id json.RawMessage, method string, params json.RawMessage) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	dst = append(dst, `,"method":`...)
	dst = jsontok.AppendString(dst, method)
	if params != nil {
		dst = append(append(dst, `,"params":`...), params...)
	}
	return append(dst, '}')
}

// AppendRawResult appends the response to the request id, whose result is
// there already.
func AppendRawResult(dst []byte, id, result json.RawMessage) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	dst = append(dst, `,"result":`...)
	return append(append(dst, result...), '}')
}

// ReadError reads the error member of a response. Whatever a peer sends there
// becomes an error: code 0 and an own message stand for members that are
// missing or have the wrong type.
func ReadError(raw json.RawMessage) *protocol.Error {
	e := &protocol.Error{Message: "the peer answered with an error that says nothing"}
	if jsontok.KindOf(raw) != jsontok.KindObject {
		return e
	}
	// A member that occurs twice ends the scan early: what comes before counts.
	_ = jsontok.Object(raw, func(key, value []byte) error {
		switch string(key) {
		case "code":
			if f, err := strconv.ParseFloat(string(value), 64); err == nil && f == math.Trunc(f) && math.Abs(f) <= math.MaxInt32 {
				e.Code = int(f)
			}
		case "message":
			if s, ok := jsontok.String(value); ok && s != "" {
				e.Message = s
			}
		case "data":
			e.Data = value
		}
		return nil
	})
	return e
}
