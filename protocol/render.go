package protocol

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// AppendResult appends the result object that a client of revision rev reads.
// Older revisions leave out what they do not define: resultType, the caching
// hints and io.modelcontextprotocol/serverInfo.
func AppendResult(dst []byte, r *Result, rev Revision) []byte {
	o := objectWriter{dst: append(dst, '{')}
	if rev.Modern() {
		t := r.Type
		if t == "" {
			t = ResultComplete
		}
		o.member(`"resultType":`)
		o.dst = jsontok.AppendString(o.dst, string(t))
		if r.Cache != nil && t == ResultComplete {
			o.member(`"ttlMs":`)
			o.dst = strconv.AppendInt(o.dst, r.Cache.TTLMillis, 10)
			o.member(`"cacheScope":`)
			if r.Cache.Private {
				o.dst = append(o.dst, `"private"`...)
			} else {
				o.dst = append(o.dst, `"public"`...)
			}
		}
	}
	server := r.Server
	if !rev.Modern() {
		server = nil
	}
	if r.Meta != nil || server != nil {
		o.member(`"_meta":`)
		m := objectWriter{dst: append(o.dst, '{')}
		if server != nil {
			m.members(WithoutMember(r.Meta, MetaServerInfo))
			m.member(`"` + MetaServerInfo + `":`)
			m.dst = append(m.dst, server...)
		} else {
			m.members(r.Meta)
		}
		o.dst = append(m.dst, '}')
	}
	o.members(r.Body)
	return append(o.dst, '}')
}

// WithMeta returns params, which has no _meta itself, with meta and one more
// member as its _meta object. The key is written as it is and must need no
// escaping; where meta has it already, the new value replaces the old.
func WithMeta(params json.RawMessage, meta json.RawMessage, key string, value json.RawMessage) json.RawMessage {
	o := objectWriter{dst: make([]byte, 0, len(params)+len(meta)+len(key)+len(value)+16)}
	o.dst = append(o.dst, '{')
	o.member(`"_meta":`)
	m := objectWriter{dst: append(o.dst, '{')}
	m.members(WithoutMember(meta, key))
	m.member(`"` + key + `":`)
	m.dst = append(append(m.dst, value...), '}')
	o.dst = m.dst
	o.members(params)
	return append(o.dst, '}')
}

// WithoutMember returns the object raw, which must be valid, without the
// member name.
func WithoutMember(raw json.RawMessage, name string) json.RawMessage {
	if _, ok := jsontok.Lookup(raw, name); !ok {
		return raw
	}
	o := objectWriter{dst: []byte{'{'}}
	// raw is valid, and the visitor returns no error.
	_ = jsontok.Object(raw, func(key, value []byte) error {
		if string(key) != name {
			o.member("")
			o.dst = append(jsontok.AppendString(o.dst, string(key)), ':')
			o.dst = append(o.dst, value...)
		}
		return nil
	})
	return append(o.dst, '}')
}

// objectWriter appends the members of a JSON object, with commas between.
type objectWriter struct {
	dst  []byte
	some bool
}

func (o *objectWriter) member(key string) {
	if o.some {
		o.dst = append(o.dst, ',')
	}
	o.some = true
	o.dst = append(o.dst, key...)
}

// members appends all members of the object raw, which may be nil.
func (o *objectWriter) members(raw json.RawMessage) {
	raw = bytes.TrimSpace(raw)
	if len(raw) < 2 {
		return
	}
	inner := bytes.TrimSpace(raw[1 : len(raw)-1])
	if len(inner) == 0 {
		return
	}
	o.member("")
	o.dst = append(o.dst, inner...)
}
