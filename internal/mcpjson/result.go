package mcpjson

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// cacheable are the methods whose results say how long they may be cached.
var cacheable = []string{
	protocol.MethodDiscover, protocol.MethodListTools, protocol.MethodListResources, protocol.MethodListTemplates,
	protocol.MethodListPrompts, protocol.MethodReadResource,
}

// ReadResult takes a result apart. Results of legacy servers are complete,
// and where that can be said, stale at once and for one caller.
func ReadResult(method string, raw json.RawMessage, modern bool) (*protocol.Result, error) {
	res := &protocol.Result{}
	cached := slices.Contains(cacheable, method)
	var meta []byte
	var ttl, scope []byte
	body, err := Split(raw, func(key string, value []byte) bool {
		switch key {
		case "_meta":
			meta = value
		case "resultType":
			if s, ok := jsontok.String(value); ok && modern {
				res.Type = protocol.ResultType(s)
			}
		case "ttlMs":
			ttl = value
			return cached // elsewhere they mean nothing, and stay
		case "cacheScope":
			scope = value
			return cached
		default:
			return false
		}
		return true
	})
	if err != nil {
		return nil, malformed(err, "the MCP server's result is no JSON object")
	}
	res.Body = body
	if jsontok.KindOf(meta) == jsontok.KindObject {
		some := false
		res.Meta, err = Split(meta, func(key string, value []byte) bool {
			switch key {
			case protocol.MetaServerInfo:
				res.Server = value
			case protocol.MetaSubscriptionID: // this hop's
			default:
				some = true
				return false
			}
			return true
		})
		if err != nil {
			return nil, malformed(err, "the _meta of the MCP server's result cannot be read")
		}
		if !some && string(meta) != "{}" {
			res.Meta = nil
		}
	}
	if cached && (res.Type == "" || res.Type == protocol.ResultComplete) {
		res.Cache = &protocol.Cache{Private: true}
		if modern && ttl != nil {
			if n, err := strconv.ParseInt(string(ttl), 10, 64); err == nil && n >= 0 {
				res.Cache.TTLMillis = n
			}
			res.Cache.Private = string(scope) != `"public"`
		}
	}
	return res, nil
}

// malformed returns the error for a server that says what it must not.
func malformed(err error, message string) *protocol.UpstreamError {
	return &protocol.UpstreamError{Kind: protocol.UpstreamMalformed, Message: message, Err: err}
}
