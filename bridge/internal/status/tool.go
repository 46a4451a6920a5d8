package status

import (
	"encoding/json"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	mcpv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

const (
	// maxToolMessage bounds the message of the status of a failed tool, in bytes.
	maxToolMessage = 1 << 10
	// maxToolError bounds the result of a failed tool in the details of a status,
	// in bytes of JSON. Statuses are metadata, of which many clients take 8 KiB.
	maxToolError = 4 << 10
	// minText is from how many bytes on a text is worth cutting.
	minText = 64
)

// OfTool returns the status for a result that the response of an RPC cannot be,
// where that stands for a method of MCP, or nil where it can:
//
//   - A tool that has failed is the status in the _meta of [Result], if that has
//     made the result, or else the code that it says (see [SaidBy]), or UNKNOWN, with a
//     ToolError that has the result, or as much of its content as there is room for,
//     and a RetryInfo where the tool says when to try again.
//   - input_required is FAILED_PRECONDITION with the result.
//   - A result of any other type, such as a task, is UNKNOWN with the response of
//     mcp.v1 that has it.
//
// It is an error if the result is no MCP.
func OfTool(method string, res *protocol.Result) (*statuspb.Status, error) {
	whole := func() []byte { return protocol.AppendResult(nil, res, protocol.Revision20260728) }
	switch res.Type {
	case "", protocol.ResultComplete:
	case protocol.ResultInputRequired:
		return withDetail(code.Code_FAILED_PRECONDITION, "the MCP server needs something first: make the call again with the answers to the requests in the details", (*mcpv1.InputRequiredResult)(nil), whole())
	default:
		var response proto.Message = (*mcpv1.CallToolResponse)(nil)
		switch method {
		case protocol.MethodGetPrompt:
			response = (*mcpv1.GetPromptResponse)(nil)
		case protocol.MethodReadResource:
			response = (*mcpv1.ReadResourceResponse)(nil)
		}
		return withDetail(code.Code_UNKNOWN, "the MCP server has answered with a result of another type, which is in the details", response, whole())
	}
	if failed, ok := jsontok.Lookup(res.Body, "isError"); !ok || string(failed) != "true" || method != protocol.MethodCallTool {
		return nil, nil
	}
	if st := OfResult(res); st != nil {
		return st, nil
	}
	result := whole()
	if len(result) > maxToolError {
		result = shortened(res.Body)
	}
	var detail mcpjson.Object
	detail.Add("result", result)
	said := SaidBy(res)
	st, err := withDetail(said.Code, clip.Text(firstText(res.Body), maxToolMessage), (*mcpv1.ToolError)(nil), detail.JSON())
	if err != nil || said.Delay <= 0 {
		return st, err
	}
	retry, err := anypb.New(&errdetails.RetryInfo{RetryDelay: durationpb.New(said.Delay)})
	if err != nil {
		return nil, err
	}
	st.Details = append(st.Details, retry)
	return st, nil
}

// ToolResult is the reverse of [OfTool] for a call of a tool. It returns nil for a
// status that has no result in its details.
func ToolResult(st *statuspb.Status) *protocol.Result {
	for _, d := range st.GetDetails() {
		for _, known := range []proto.Message{(*mcpv1.ToolError)(nil), (*mcpv1.InputRequiredResult)(nil), (*mcpv1.CallToolResponse)(nil)} {
			md := known.ProtoReflect().Descriptor()
			if d.MessageName() != md.FullName() {
				continue
			}
			if res := readDetail(md, d.GetValue()); res != nil {
				return res
			}
		}
	}
	return nil
}

// readDetail returns the result that a detail has, or nil.
func readDetail(md protoreflect.MessageDescriptor, wire []byte) *protocol.Result {
	codec, err := toolDetails.Codec(md)
	if err != nil {
		return nil
	}
	text, _, err := codec.AppendJSON(nil, wire)
	if err != nil {
		return nil
	}
	if md.FullName() == (*mcpv1.ToolError)(nil).ProtoReflect().Descriptor().FullName() {
		result, ok := jsontok.Lookup(text, "result")
		if !ok {
			return nil
		}
		text = result
	}
	res, err := mcpjson.ReadResult(protocol.MethodCallTool, text, true)
	if err != nil {
		return nil
	}
	if md.FullName() == (*mcpv1.InputRequiredResult)(nil).ProtoReflect().Descriptor().FullName() {
		res.Type = protocol.ResultInputRequired
	}
	return res
}

// toolDetails makes the codecs of what details hold.
var toolDetails = transcode.NewCompiler(nil, transcode.Options{Exact: true})

// withDetail returns a status with a detail, which is given as JSON.
func withDetail(c code.Code, message string, detail proto.Message, text []byte) (*statuspb.Status, error) {
	md := detail.ProtoReflect().Descriptor()
	codec, err := toolDetails.Codec(md)
	if err != nil {
		return nil, err
	}
	wire, err := codec.AppendWire(nil, text)
	if err != nil {
		return nil, err
	}
	return &statuspb.Status{
		Code: int32(c), Message: message,
		Details: []*anypb.Any{{TypeUrl: typeURL + string(md.FullName()), Value: wire}},
	}, nil
}

// firstText returns the first text of a result.
func firstText(body json.RawMessage) string {
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

// shortened returns a result with as much of its content as there is room for in
// a status.
func shortened(body json.RawMessage) []byte {
	var list mcpjson.Array
	left := maxToolError
	content, _ := jsontok.Lookup(body, "content")
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
		list.Add(block)
		left -= len(block)
		return nil
	})
	var out mcpjson.Object
	out.Add("content", list.JSON())
	out.Add("isError", []byte("true"))
	return out.JSON()
}
