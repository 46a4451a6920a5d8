// Package tunnel carries JSON-RPC messages over the RPC Tunnel of
// mcp.v1.McpService, one message in each message of the stream, untouched. It
// gives the streams to package protocol/tunnel, which knows what is in them.
package tunnel

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/wire"
)

// Procedure is the path of the RPC.
const Procedure = "/mcp.v1.McpService/Tunnel"

// frameField is the field of TunnelRequest and TunnelResponse that has the
// JSON-RPC message.
const frameField = 1

// AppendFrame appends the wire form of a TunnelRequest or TunnelResponse,
// which are alike.
func AppendFrame(dst, message []byte) []byte {
	dst = protowire.AppendTag(dst, frameField, protowire.BytesType)
	return protowire.AppendBytes(dst, message)
}

// Message returns the JSON-RPC message of a frame, which it points into.
func Message(frame []byte) ([]byte, error) {
	var message []byte
	err := wire.EachBytes(frame, func(num protowire.Number, value []byte) error {
		if num == frameField {
			message = value
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("tunnel: a frame is %w", err)
	}
	return message, nil
}
