package typedserve

import (
	"google.golang.org/genproto/googleapis/rpc/code"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectserve"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/status"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// failure returns the status for an error of MCP.
func failure(c *connectserve.Call, err error) error {
	if challenge := status.Challenge(err); challenge != "" {
		c.ResponseHeader().Set("Www-Authenticate", challenge)
	}
	return &rpc.StatusError{Status: status.OfError(err, false)}
}

// noResponse returns the status for a result that a response cannot be, or nil.
func (m *method) noResponse(name string, res *protocol.Result) error {
	st, err := status.OfTool(name, res)
	switch {
	case err != nil:
		return m.noMCP(err)
	case st != nil:
		return &rpc.StatusError{Status: st}
	default:
		return nil
	}
}

// noMCP returns the status where the server has said what it must not.
func (m *method) noMCP(err error) error {
	m.server.cfg.Logger.Warn("what the server said is no MCP", "of", m.typed.Name, "error", err)
	return fault.New(code.Code_INTERNAL, err, "what the MCP server said is no MCP")
}
