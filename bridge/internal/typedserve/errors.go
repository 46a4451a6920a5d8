package typedserve

import (
	"encoding/json"

	"google.golang.org/genproto/googleapis/rpc/code"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/connectserve"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/rpc/fault"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/status"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	// maxMessage bounds the message of the status of a failed tool, in bytes.
	maxMessage = 1 << 10
	// maxToolError bounds the result of a failed tool in the details of a status,
	// in bytes. Statuses are metadata, of which many clients take 8 KiB.
	maxToolError = 4 << 10
)

// failure returns the status for an error of MCP.
func (m *method) failure(c *connectserve.Call, err error) error {
	if challenge := status.Challenge(err); challenge != "" {
		c.ResponseHeader().Set("Www-Authenticate", challenge)
	}
	return &rpc.StatusError{Status: status.OfError(err, false)}
}

// toolError returns the status for a tool that has failed: that of the RPC that
// the tool stands for, if the server is a bridge, or else UNKNOWN with what the
// tool has said.
func toolError(res *protocol.Result) error {
	if st := status.OfResult(res); st != nil {
		return &rpc.StatusError{Status: st}
	}
	var result mcpjson.Object
	result.Add("result", shortened(res))
	return withDetail(code.Code_UNKNOWN, clip.Text(message(res.Body), maxMessage), (*mcpv1.ToolError)(nil), result.JSON())
}

// incomplete returns the status for a result that is not there yet, or that
// nobody knows.
func incomplete(method string, res *protocol.Result) error {
	whole := protocol.AppendResult(nil, res, protocol.Revision20260728)
	if res.Type == protocol.ResultInputRequired {
		return withDetail(code.Code_FAILED_PRECONDITION, "the MCP server needs something first: make the call again with the answers to the requests in the details", (*mcpv1.InputRequiredResult)(nil), whole)
	}
	var response proto.Message = (*mcpv1.CallToolResponse)(nil)
	switch method {
	case protocol.MethodGetPrompt:
		response = (*mcpv1.GetPromptResponse)(nil)
	case protocol.MethodReadResource:
		response = (*mcpv1.ReadResourceResponse)(nil)
	}
	return withDetail(code.Code_UNKNOWN, "the MCP server has answered with a result of another type, which is in the details", response, whole)
}

// details makes the codecs of what details hold.
var details = transcode.NewCompiler(nil, transcode.Options{Exact: true})

// withDetail returns a status with a detail, which is given as JSON.
func withDetail(c code.Code, message string, detail proto.Message, text []byte) error {
	md := detail.ProtoReflect().Descriptor()
	codec, err := details.Codec(md)
	if err != nil {
		return err
	}
	wire, err := codec.AppendWire(nil, text)
	if err != nil {
		return fault.New(code.Code_INTERNAL, err, "what the MCP server said is no MCP")
	}
	return &rpc.StatusError{Status: &statuspb.Status{
		Code: int32(c), Message: message,
		Details: []*anypb.Any{{TypeUrl: "type.googleapis.com/" + string(md.FullName()), Value: wire}},
	}}
}

// message returns the first text of a result.
func message(body json.RawMessage) string {
	text := ""
	content, _ := jsontok.Lookup(body, "content")
	// What is no list has no text.
	_ = jsontok.Array(content, func(_ int, block []byte) error {
		if raw, ok := jsontok.Lookup(block, "text"); ok && text == "" {
			text, _ = jsontok.String(raw)
		}
		return nil
	})
	if text == "" {
		return "the tool has failed"
	}
	return text
}

// shortened returns the JSON of a result, or as much of its content as there is
// room for in a status.
func shortened(res *protocol.Result) []byte {
	if whole := protocol.AppendResult(nil, res, protocol.Revision20260728); len(whole) <= maxToolError {
		return whole
	}
	list, left := []byte{'['}, maxToolError
	content, _ := jsontok.Lookup(res.Body, "content")
	// What is no list is left out.
	_ = jsontok.Array(content, func(_ int, block []byte) error {
		if len(block) > left {
			raw, _ := jsontok.Lookup(block, "text")
			text, ok := jsontok.String(raw)
			if !ok || left < minText {
				return nil
			}
			block = mcpjson.Replace(block, "text", jsontok.AppendString(nil, clip.Text(text, left/2)))
			if len(block) > left {
				return nil
			}
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, block...)
		left -= len(block)
		return nil
	})
	var out mcpjson.Object
	out.Add("content", append(list, ']'))
	out.Add("isError", []byte("true"))
	return out.JSON()
}

// minText is from how many bytes on a text is worth cutting.
const minText = 64
