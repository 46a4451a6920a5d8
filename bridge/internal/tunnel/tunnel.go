// Package tunnel carries JSON-RPC messages over the RPC Tunnel of
// mcp.v1.McpService, one message in each message of the stream, untouched. It
// gives the streams to package protocol/tunnel, which knows what is in them.
package tunnel

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
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
	for rest := frame; len(rest) > 0; {
		num, typ, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return nil, fmt.Errorf("tunnel: a frame is no protobuf message: %w", protowire.ParseError(n))
		}
		rest = rest[n:]
		size := protowire.ConsumeFieldValue(num, typ, rest)
		if size < 0 {
			return nil, fmt.Errorf("tunnel: a frame is no protobuf message: %w", protowire.ParseError(size))
		}
		if num == frameField && typ == protowire.BytesType {
			message, _ = protowire.ConsumeBytes(rest)
		}
		rest = rest[size:]
	}
	return message, nil
}
