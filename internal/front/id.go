package front

import (
	"encoding/json"
	"strconv"
	"sync/atomic"
)

var lastID atomic.Uint64

// NewID returns the id of a request whose transport gives it none, such as an
// RPC. It is unique in this process.
func NewID() json.RawMessage {
	id := append(make(json.RawMessage, 0, 16), `"rpc-`...)
	return append(strconv.AppendUint(id, lastID.Add(1), 10), '"')
}
