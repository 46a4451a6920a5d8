package protocol

import (
	"encoding/json"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// ReadMeta reads the _meta of a request's params. Members that are absent
// stay zero: a Revision of "" means that the request does not name one, as is
// the rule in legacy revisions. Params or members of the wrong type are
// invalid params.
func ReadMeta(params json.RawMessage) (Meta, *Error) {
	var m Meta
	if params == nil {
		return m, nil
	}
	if jsontok.KindOf(params) != jsontok.KindObject {
		return m, Errorf(CodeInvalidParams, "params must be an object")
	}
	// All of params is read, not only up to _meta: a member that is there
	// twice could be one thing to us and another to whoever checks the same
	// request in front of or behind us.
	var raw []byte
	err := jsontok.Object(params, func(key, value []byte) error {
		if string(key) == "_meta" {
			raw = value
		}
		return nil
	})
	switch {
	case err != nil:
		return m, Errorf(CodeInvalidParams, "params: %v", err)
	case raw == nil:
		return m, nil
	}
	if jsontok.KindOf(raw) != jsontok.KindObject {
		return m, Errorf(CodeInvalidParams, "params._meta must be an object")
	}
	var fault *Error
	err = jsontok.Object(raw, func(key, value []byte) error {
		if fault == nil {
			fault = m.set(string(key), value)
		}
		return nil
	})
	if err != nil {
		return m, Errorf(CodeInvalidParams, "params._meta: %v", err)
	}
	return m, fault
}

func (m *Meta) set(key string, value []byte) *Error {
	var ok = true
	switch key {
	case MetaProtocolVersion:
		var s string
		s, ok = jsontok.String(value)
		m.Revision = Revision(s)
	case MetaClientInfo:
		ok = jsontok.KindOf(value) == jsontok.KindObject
		m.ClientInfo = value
	case MetaClientCapabilities:
		ok = jsontok.KindOf(value) == jsontok.KindObject
		m.Capabilities = value
	case MetaLogLevel:
		var s string
		if s, ok = jsontok.String(value); ok {
			m.LogLevel, ok = ParseLogLevel(s)
		}
		if !ok {
			return Errorf(CodeInvalidParams, "params._meta[%q] must be one of debug, info, notice, warning, error, critical, alert, emergency", key)
		}
	case MetaProgressToken:
		k := jsontok.KindOf(value)
		ok = k == jsontok.KindString || k == jsontok.KindNumber
		m.ProgressToken = value
	case "traceparent":
		m.TraceParent, ok = jsontok.String(value)
	case "tracestate":
		m.TraceState, ok = jsontok.String(value)
	case "baggage":
		m.Baggage, ok = jsontok.String(value)
	}
	if !ok {
		return Errorf(CodeInvalidParams, "params._meta[%q] has the wrong type", key)
	}
	return nil
}

// CheckModern reports what is wrong with the metadata of a modern request
// (basic/index, Per-request protocol fields; basic/versioning), or nil.
func (m *Meta) CheckModern() *Error {
	switch {
	case m.Revision == "":
		return Errorf(CodeInvalidParams, "params._meta[%q] is missing", MetaProtocolVersion)
	case !m.Revision.Known() || !m.Revision.Modern():
		return UnsupportedVersion(string(m.Revision))
	case m.Capabilities == nil:
		return Errorf(CodeInvalidParams, "params._meta[%q] is missing; send {} for none", MetaClientCapabilities)
	}
	return nil
}
