package config

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/upstreamurl"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
)

// kind is what an upstream is, as a set of one.
type kind uint

const (
	command  kind = 1 << iota
	api           // of gRPC, gRPC-Web or Connect
	service       // an MCP server behind an RPC service
	tunnel        // an MCP server behind the RPC Tunnel
	webMCP        // an MCP server over HTTP
	rpcKinds = api | service | tunnel
	urlKinds = rpcKinds | webMCP
)

// takers are the kinds of upstreams that take a key, and what people call them.
// Keys that are not here are for all.
var takers = map[protoreflect.Name]struct {
	kinds kind
	text  string
}{
	"env":             {command, "a command"},
	"dir":             {command, "a command"},
	"process":         {command, "a command"},
	"revision":        {command | webMCP | tunnel, "a command, or the URL of MCP over HTTP or of a tunnel"},
	"tls":             {urlKinds, "a URL"},
	"headers":         {urlKinds, "a URL"},
	"forward_headers": {urlKinds &^ tunnel, "a URL that is no tunnel"},
	"shares_audience": {urlKinds &^ tunnel, "a URL that is no tunnel"},
	"authority":       {rpcKinds, "the URL of an RPC server"},
	"gzip":            {rpcKinds, "the URL of an RPC server"},
	"return_headers":  {api, "an API"},
	"services":        {api, "an API"},
	"descriptors":     {api, "an API"},
	"proto":           {api, "an API"},
	"proto_path":      {api, "an API"},
	"comments":        {api, "an API"},
	"options":         {api, "an API"},
	"options_file":    {api, "an API"},
	"refresh":         {api, "an API"},
	"stream":          {api, "an API"},
	"schema":          {api, "an API"},
	"operation_wait":  {api, "an API"},
	"task_ttl":        {api, "an API"},
	"validate":        {api, "an API"},
	"confirm":         {api, "an API"},
}

// kindOf returns what an upstream is, or 0 where it does not say.
func kindOf(u *configv1.Upstream) kind {
	if u.GetUrl() == "" {
		if len(u.GetCommand()) > 0 {
			return command
		}
		return 0
	}
	target, err := upstreamurl.ParseTarget(u.GetUrl())
	if err != nil {
		return 0
	}
	return kindOfTarget(target)
}

func kindOfTarget(t upstreamurl.Target) kind {
	switch t.Kind {
	case upstreamurl.MCPService, upstreamurl.GoogleService:
		return service
	case upstreamurl.Tunnel:
		return tunnel
	case upstreamurl.StreamableHTTP, upstreamurl.SSE:
		return webMCP
	case upstreamurl.API:
	}
	return api
}

// takes reports whether an upstream of a kind takes a key.
func (k kind) takes(name protoreflect.Name) bool {
	t, ok := takers[name]
	return !ok || k == 0 || t.kinds&k != 0
}
