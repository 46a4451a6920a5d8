package mcpjson

import (
	"encoding/json"

	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// CompleteMeta fills in what the metadata of a request leaves out that has come
// by an RPC, where nobody needs to say any: it is one of 2026-07-28, of a client
// without capabilities. Other revisions than modern ones are not spoken there,
// and the fault names those that are.
func CompleteMeta(m *protocol.Meta) *protocol.Error {
	switch {
	case m.Revision == "":
		m.Revision = protocol.Revision20260728
	case !m.Revision.Known() || !m.Revision.Modern():
		fault := protocol.UnsupportedVersion(string(m.Revision))
		var supported Array
		for _, r := range protocol.Revisions() {
			if r.Modern() {
				supported.AddString(string(r))
			}
		}
		var data Object
		data.Add("supported", supported.JSON())
		data.Add("requested", jsontok.AppendString(nil, string(m.Revision)))
		fault.Data = data.JSON()
		return fault
	}
	if m.Capabilities == nil {
		m.Capabilities = json.RawMessage(`{}`)
	}
	return nil
}

// CheckName reports a request that does not name what it is for, as those by an
// RPC do whose field is empty, or nil.
func CheckName(method string, params json.RawMessage) *protocol.Error {
	info, _ := protocol.LookupMethod(method)
	if info.NameParam == "" {
		return nil
	}
	if _, ok := jsontok.Lookup(params, info.NameParam); ok {
		return nil // the Handler says what is wrong with it
	}
	return protocol.Errorf(protocol.CodeInvalidParams, "%s is missing, or empty", info.NameParam)
}
