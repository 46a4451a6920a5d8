package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"weak"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/backend"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/schema"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/status"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
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
	from descriptor.Source
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
		Annotations: json.RawMessage(`{"title":"Describe a type","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`),
	}}
}

// call answers a call of the tool.
func (t *typeTool) call(ctx context.Context, arguments json.RawMessage) (*protocol.Result, error) {
	name, faults := readTypeName(arguments)
	if len(faults) > 0 {
		return status.Arguments(&transcode.ArgumentError{Violations: faults}), nil
	}
	d, err := t.find(ctx, protoreflect.FullName(name))
	if err != nil {
		return nil, err
	}
	if d == nil {
		return status.Arguments(&transcode.ArgumentError{Violations: []transcode.Violation{{
			Path: "name", Problem: "there is no such type", Expected: "the full name of a message or an enum, as the schemas of tools show it",
			Seen: strconv.Quote(clip.Text(name, maxSummary)),
		}}}), nil
	}
	opts := t.cfg.Schema
	opts.DescribeTool, opts.Comment, opts.Encoding = t.cfg.public(DescribeTypeTool), t.cfg.comment, t.cfg.encoding
	described, err := schema.Type(d, opts)
	if err != nil {
		return nil, err
	}
	value := append(jsontok.AppendString([]byte(`{"name":`), name), `,"schema":`...)
	return &protocol.Result{Body: backend.Structured(append(append(value, described.JSON...), '}'))}, nil
}

// maxSummary bounds how much of a name a message repeats, in bytes.
const maxSummary = 200

// readTypeName reads the arguments of the tool, and returns everything that is wrong
// with them.
func readTypeName(arguments json.RawMessage) (name string, faults []transcode.Violation) {
	fault := func(v transcode.Violation) {
		if len(faults) < transcode.MaxViolations {
			faults = append(faults, v)
		}
	}
	err := jsontok.Object(arguments, func(key, value []byte) error {
		kind := jsontok.KindOf(value)
		switch {
		case string(key) != "name":
			fault(transcode.Violation{Path: clip.Text(string(key), maxSummary), Problem: "unknown member", Suggestions: []string{"name"}})
		case kind == jsontok.KindString:
			name, _ = jsontok.String(value)
		case kind != jsontok.KindNull:
			const maxSeen = 60
			fault(transcode.Violation{Path: "name", Problem: "wrong type", Expected: "a string", Seen: clip.Text(string(value), maxSeen)})
		}
		return nil
	})
	switch {
	case err != nil:
		fault(transcode.Violation{Problem: err.Error()})
	case name == "" && len(faults) == 0:
		fault(transcode.Violation{Path: "name", Problem: "is required", Expected: "the full name of a message or an enum"})
	}
	return name, faults
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
