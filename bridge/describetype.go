package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"weak"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/schema"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// DescribeTypeTool is the name of the tool that describes one message or enum.
// It is listed where a schema had to leave out a part of one, and the schema
// names it there.
const DescribeTypeTool = "describe_type"

// typeTool describes types that schemas leave out.
type typeTool struct {
	cfg     *config
	sources []typeSource
}

// typeSource is where the types of an upstream are. Their descriptors with
// comments go with the start, so they are read again when they are asked for.
type typeSource struct {
	from Source
	set  weak.Pointer[descriptor.Set]
}

func newTypeTool(cfg *config, upstreams []Upstream, sets []*descriptor.Set) *typeTool {
	t := &typeTool{cfg: cfg}
	for i, set := range sets {
		t.sources = append(t.sources, typeSource{from: upstreams[i].Descriptors, set: weak.Make(set)})
	}
	return t
}

// typeToolOf returns the tool as tools/list shows it.
func typeToolOf() *tool {
	return &tool{Tool: Tool{
		Name:  DescribeTypeTool,
		Title: "Describe a type",
		Description: "Returns the JSON Schema of one message or enum of the API. Use it where the schema of a tool names a type " +
			"and does not list what is in it.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string",` +
			`"description":"The full name of the type, such as library.v1.Book."}},"required":["name"]}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},` +
			`"schema":{"type":"object","description":"The JSON Schema of the type."}},"required":["name","schema"]}`),
		Annotations: json.RawMessage(`{"title":"Describe a type"` + readOnly),
	}}
}

// call answers a call of the tool.
func (t *typeTool) call(ctx context.Context, arguments json.RawMessage) (*protocol.Result, error) {
	in := readMetaArguments(arguments, "name")
	switch {
	case in.faults != nil:
	case in.name == "":
		in.fault(transcode.Violation{Path: "name", Problem: "is required", Expected: "the full name of a message or an enum"})
	default:
		d, err := t.find(ctx, protoreflect.FullName(in.name))
		if err != nil {
			return nil, err
		}
		if d == nil {
			in.fault(transcode.Violation{
				Path: "name", Problem: "there is no such type", Expected: "the full name of a message or an enum, as the schemas of tools show it",
				Seen: strconv.Quote(clip.Text(in.name, maxSummary)),
			})
			break
		}
		opts := t.cfg.schema
		opts.DescribeTool, opts.Comment = DescribeTypeTool, t.cfg.comment
		described, err := schema.Type(d, opts)
		if err != nil {
			return nil, err
		}
		value := append(jsontok.AppendString([]byte(`{"name":`), in.name), `,"schema":`...)
		return structured(append(append(value, described.JSON...), '}')), nil
	}
	return in.result(), nil
}

// find returns the message or enum of that name, or nil.
func (t *typeTool) find(ctx context.Context, name protoreflect.FullName) (protoreflect.Descriptor, error) {
	for _, s := range t.sources {
		set := s.set.Value()
		if set == nil {
			ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
			var err error
			set, err = s.from.Load(ctx)
			cancel()
			if err == nil {
				set, _, err = t.cfg.visible(set)
			}
			if err != nil {
				return nil, fmt.Errorf("read the descriptors again: %w", err)
			}
		}
		if d := set.Type(name); d != nil {
			return d, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none, and no fault either
}
