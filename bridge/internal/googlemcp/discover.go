package googlemcp

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	googlepb "github.com/mcp-bridge/mcp-bridge/gen/modelcontextprotocol"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// probes are the methods by which to find out what a server can do, and the
// capability that a server has which answers them.
var probes = []struct{ method, capability string }{
	{protocol.MethodListTools, "tools"},
	{protocol.MethodListResources, "resources"},
	{protocol.MethodListPrompts, "prompts"},
	{protocol.MethodComplete, "completions"},
}

// discover says what a server can do, which the service has no method for: a
// server has what it answers in any way but that it does not have it. The
// completion that is asked for is one of nothing.
func (a *asking) discover(ctx context.Context, params json.RawMessage) (*protocol.Result, error) {
	common, err := a.client.converter.retryToGoogle(params, nil, nil)
	if err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "%v", err)
	}
	said, errs := make([]*googlepb.ResponseFields, len(probes)), make([]error, len(probes))
	var wg sync.WaitGroup
	for i, p := range probes {
		m := a.client.methods[p.method]
		request := m.request.New()
		request.Set(request.Descriptor().Fields().ByName(commonField), protoreflect.ValueOfMessage(common.ProtoReflect()))
		wg.Go(func() {
			var response proto.Message
			response, errs[i] = a.call(ctx, m, request.Interface(), "")
			if errs[i] == nil {
				said[i] = responseFields(response)
			}
		})
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
	for i, p := range probes {
		if unreachable(errs[i]) {
			return nil, errs[i]
		}
		if errs[i] != nil && protocol.AsError(errs[i]).Code == protocol.CodeMethodNotFound {
			continue
		}
		can.Add(p.capability, []byte(`{}`))
		if s := said[i].GetInstructions(); s != "" {
			instructions = s
		}
		if info := said[i].GetMetadata().GetFields()[protocol.MetaServerInfo].GetStructValue(); info != nil && server == nil {
			if server, err = a.client.converter.json(info); err != nil {
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
