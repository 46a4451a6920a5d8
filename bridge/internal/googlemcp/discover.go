package googlemcp

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"google.golang.org/protobuf/proto"

	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// probe is an RPC by which to find out what a server can do.
type probe struct {
	capability string
	name       string
	request    proto.Message
	response   interface {
		proto.Message
		GetCommon() *googlepb.ResponseFields
	}
	err error
}

// discover says what a server can do, which the service has no method for: a
// server has what it answers in any way but that it does not have it. The
// completion that is asked for is one of nothing.
func (a *asking) discover(ctx context.Context, params json.RawMessage) (*protocol.Result, error) {
	common, err := a.fields(params, nil, nil)
	if err != nil {
		return nil, err
	}
	probes := []*probe{
		{capability: "tools", name: "ListTools", request: &googlepb.ListToolsRequest{Common: common}, response: &googlepb.ListToolsResponse{}},
		{capability: "resources", name: "ListResources", request: &googlepb.ListResourcesRequest{Common: common}, response: &googlepb.ListResourcesResponse{}},
		{capability: "prompts", name: "ListPrompts", request: &googlepb.ListPromptsRequest{Common: common}, response: &googlepb.ListPromptsResponse{}},
		{capability: "completions", name: "Complete", request: &googlepb.CompletionRequest{Common: common}, response: &googlepb.CompletionResponse{}},
	}
	var wg sync.WaitGroup
	for _, p := range probes {
		wg.Go(func() { p.err = a.call(ctx, p.name, p.request, p.response, "", "") })
	}
	wg.Wait()
	var (
		can          mcpjson.Object
		server       json.RawMessage
		instructions string
	)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for _, p := range probes {
		if unreachable(p.err) {
			return nil, p.err
		}
		if p.err != nil && protocol.AsError(p.err).Code == protocol.CodeMethodNotFound {
			continue
		}
		can.Add(p.capability, []byte(`{}`))
		if s := p.response.GetCommon().GetInstructions(); s != "" {
			instructions = s
		}
		if info := p.response.GetCommon().GetMetadata().GetFields()[protocol.MetaServerInfo].GetStructValue(); info != nil && server == nil {
			if server, err = a.client.codecs.json(info); err != nil {
				return nil, malformed(err)
			}
		}
	}
	if can.Empty() {
		return nil, &protocol.UpstreamError{Kind: protocol.UpstreamMalformed, Message: "the server has no " + ServiceName}
	}
	var body mcpjson.Object
	body.Add("supportedVersions", protocol.AppendRevisions(nil))
	body.Add("capabilities", can.JSON())
	if instructions != "" {
		body.Add("instructions", jsontok.AppendString(nil, instructions))
	}
	return &protocol.Result{Body: body.JSON(), Server: server, Cache: &protocol.Cache{Private: true}}, nil
}

// unreachable reports whether an error says nothing of what the server can do.
func unreachable(err error) bool {
	upstream, ok := errors.AsType[*protocol.UpstreamError](err)
	if !ok {
		return false
	}
	switch upstream.Kind {
	case protocol.UpstreamUnavailable, protocol.UpstreamUnauthenticated, protocol.UpstreamThrottled, protocol.UpstreamTimeout:
		return true
	default:
		return false
	}
}
