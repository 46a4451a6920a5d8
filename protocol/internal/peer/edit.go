package peer

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Object is a JSON object under construction: an empty one is "{" and what
// Add appends. It exists because messages stay raw bytes.
type Object struct{ dst []byte }

// Add appends a member.
func (o *Object) Add(key string, value []byte) {
	if o.dst == nil {
		o.dst = []byte{'{'}
	} else {
		o.dst = append(o.dst, ',')
	}
	o.dst = append(jsontok.AppendString(o.dst, key), ':')
	o.dst = append(o.dst, value...)
}

// Empty reports whether nothing has been added.
func (o *Object) Empty() bool { return o.dst == nil }

// JSON returns the object.
func (o *Object) JSON() json.RawMessage {
	if o.dst == nil {
		return json.RawMessage(`{}`)
	}
	return append(o.dst, '}')
}

// Split returns the object raw without the members that take wants, each of
// which it has handed to take.
func Split(raw json.RawMessage, take func(key string, value []byte) bool) (json.RawMessage, error) {
	if raw == nil {
		return nil, nil
	}
	var (
		rest  Object
		taken bool
	)
	err := jsontok.Object(raw, func(key, value []byte) error {
		if take(string(key), value) {
			taken = true
		} else {
			rest.Add(string(key), value)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case !taken:
		return raw, nil
	}
	return rest.JSON(), nil
}

// Replace returns the valid object raw with one member set to value.
func Replace(raw json.RawMessage, name string, value []byte) json.RawMessage {
	var o Object
	// raw is valid, and the visitor returns no error.
	_ = jsontok.Object(raw, func(key, old []byte) error {
		if string(key) == name {
			old = value
		}
		o.Add(string(key), old)
		return nil
	})
	return o.JSON()
}

// cacheable are the methods whose results say how long they may be cached.
var cacheable = []string{
	protocol.MethodDiscover, protocol.MethodListTools, protocol.MethodListResources, protocol.MethodListTemplates,
	protocol.MethodListPrompts, protocol.MethodReadResource,
}

// ReadResult takes a result apart. Results of legacy servers are complete,
// and where that can be said, stale at once and for one caller.
func ReadResult(method string, raw json.RawMessage, modern bool) (*protocol.Result, error) {
	res := &protocol.Result{}
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
			return modern
		case "cacheScope":
			scope = value
			return modern
		default:
			return false
		}
		return true
	})
	if err != nil {
		return nil, Malformed(err, "the MCP server's result is no JSON object")
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
			return nil, Malformed(err, "the _meta of the MCP server's result cannot be read")
		}
		if !some && string(meta) != "{}" {
			res.Meta = nil
		}
	}
	if slices.Contains(cacheable, method) && (res.Type == "" || res.Type == protocol.ResultComplete) {
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

// RestoreToken returns a progress notification with the token that the caller
// has chosen, and nil where it wants none.
func RestoreToken(params, token json.RawMessage) *protocol.Notification {
	if token == nil {
		return nil
	}
	return &protocol.Notification{
		Method: protocol.NotificationProgress,
		Params: Replace(params, protocol.MetaProgressToken, token),
	}
}

// WantsLog reports whether a log message passes the level that a caller has
// asked for.
func WantsLog(level protocol.LogLevel, params json.RawMessage) bool {
	raw, _ := jsontok.Lookup(params, "level")
	name, _ := jsontok.String(raw)
	l, ok := protocol.ParseLogLevel(name)
	return ok && level.Wants(l)
}
