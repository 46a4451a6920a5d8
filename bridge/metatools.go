package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/backend"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/search"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/status"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Names of the tools that stand for a catalog too long to be listed, see
// [WithToolSearch].
const (
	SearchTool   = "search_tools"
	DescribeTool = "describe_tool"
	CallTool     = "call_tool"
)

// DefaultToolSearchThreshold is how many tools are still listed where tool
// search is asked for: some models and hosts cope with no more.
const DefaultToolSearchThreshold = 64

const (
	// defaultFound and maxFound are how many tools a search shows.
	defaultFound = 10
	maxFound     = 50
	// maxSummary bounds the description of a tool that was found, in bytes.
	maxSummary = 200
)

// WithToolSearch makes a Bridge of more than threshold tools list three tools
// in place of all: [SearchTool], [DescribeTool] and [CallTool]. Tools can still
// be called by their own names. The default is to list all.
func WithToolSearch(threshold int) Option {
	return func(c *config) { c.toolSearch, c.searchThreshold = true, threshold }
}

// metaTools are the tools by which others are found and called. A tool of the
// catalog that has the name of one of them is found and called through them.
type metaTools struct {
	catalog *catalog
	page    json.RawMessage
	index   func() *search.Index // made by the first search
}

// newMetaTools returns the meta-tools of a catalog, or nil where all tools are
// listed.
func newMetaTools(cfg *config, c *catalog) *metaTools {
	if !cfg.toolSearch || len(c.tools) <= cfg.searchThreshold {
		return nil
	}
	m := &metaTools{catalog: c}
	m.index = sync.OnceValue(func() *search.Index {
		docs := make([]search.Document, len(c.tools))
		for i, t := range c.tools {
			docs[i] = search.Document{Name: t.Name, Title: t.Title, Description: t.Description, Words: t.words}
		}
		return search.New(docs)
	})
	page := []byte(`{"tools":[`)
	for i, t := range m.tools() {
		if i > 0 {
			page = append(page, ',')
		}
		page = t.append(page, nil)
	}
	m.page = append(page, `]}`...)
	return m
}

func fieldNames(md protoreflect.MessageDescriptor) []string {
	names := make([]string, md.Fields().Len())
	for i := range names {
		names[i] = string(md.Fields().Get(i).Name())
	}
	return names
}

// Input and output schemas of the meta-tools, in the profile that package
// schema keeps to.
const (
	searchInput = `{"type":"object","properties":{` +
		`"query":{"type":"string","description":"What the tool is to do, in a few English words, such as \"create a book\". Leave it out to see some tools of every service."},` +
		`"limit":{"type":"integer","minimum":1,"maximum":50,"description":"How many tools to show at most. The default is 10."}}}`
	searchOutput = `{"type":"object","properties":{` +
		`"tools":{"type":"array","description":"The best ones first.","items":{"type":"object","properties":{` +
		`"name":{"type":"string"},"description":{"type":"string"}},"required":["name","description"]}},` +
		`"total":{"type":"integer","description":"How many tools fit the query, with those that are not shown."}},"required":["tools","total"]}`
	describeInput = `{"type":"object","properties":{` +
		`"name":{"type":"string","description":"The name of a tool, as ` + SearchTool + ` shows it."}},"required":["name"]}`
	describeOutput = `{"type":"object","properties":{` +
		`"name":{"type":"string"},"title":{"type":"string"},"description":{"type":"string"},` +
		`"inputSchema":{"type":"object","description":"The JSON Schema of the arguments."},` +
		`"outputSchema":{"type":"object","description":"The JSON Schema of the structured result."},` +
		`"annotations":{"type":"object"}},"required":["name","inputSchema"]}`
	callInput = `{"type":"object","properties":{` +
		`"name":{"type":"string","description":"The name of a tool, as ` + SearchTool + ` shows it."},` +
		`"arguments":{"type":"object","description":"The tool's own arguments, as the inputSchema that ` + DescribeTool + ` shows asks for them."}},"required":["name"]}`

	readOnly = `,"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}`
)

func (m *metaTools) tools() []*tool {
	n := len(m.catalog.tools)
	tools := []*tool{
		{Tool: Tool{
			Name:  SearchTool,
			Title: "Search tools",
			Description: fmt.Sprintf("Finds tools by words. There are %d tools, too many to list: first find one with %s, "+
				"then read how it is called with %s, then call it with %s.", n, SearchTool, DescribeTool, CallTool),
			InputSchema:  json.RawMessage(searchInput),
			OutputSchema: json.RawMessage(searchOutput),
			Annotations:  json.RawMessage(`{"title":"Search tools"` + readOnly),
		}},
		{Tool: Tool{
			Name:  DescribeTool,
			Title: "Describe a tool",
			Description: fmt.Sprintf("Returns the full description of one tool that %s found, and the JSON Schemas of its arguments "+
				"and of its result. Use it before calling a tool for the first time.", SearchTool),
			InputSchema:  json.RawMessage(describeInput),
			OutputSchema: json.RawMessage(describeOutput),
			Annotations:  json.RawMessage(`{"title":"Describe a tool"` + readOnly),
		}},
		{Tool: Tool{
			Name:  CallTool,
			Title: "Call a tool",
			Description: fmt.Sprintf("Calls a tool that %s found and returns the tool's own result. The arguments are those that the "+
				"inputSchema asks for which %s shows.", SearchTool, DescribeTool),
			InputSchema: json.RawMessage(callInput),
			Annotations: json.RawMessage(`{"title":"Call a tool"}`),
		}},
	}
	if m.catalog.types != nil {
		tools = append(tools, typeToolOf())
	}
	return tools
}

// resolve returns what a tools/call is about: the result of one of the first
// two, or else the name and the arguments of the tool to call, which for
// call_tool are those that it was given.
func (m *metaTools) resolve(name string, arguments json.RawMessage) (string, json.RawMessage, *protocol.Result) {
	if m == nil {
		return name, arguments, nil
	}
	switch name {
	case SearchTool:
		return "", nil, m.search(arguments)
	case DescribeTool:
		in := readMetaArguments(arguments, "name")
		if t := m.named(in); t != nil {
			return "", nil, structured(t.append(nil, nil))
		}
		return "", nil, in.result()
	case CallTool:
		in := readMetaArguments(arguments, "name", "arguments")
		if t := m.named(in); t == nil || in.faults != nil {
			return "", nil, in.result()
		}
		return in.name, in.arguments, nil
	}
	return name, arguments, nil
}

// named returns the tool that the arguments name, or nil and notes why not.
func (m *metaTools) named(in *metaArguments) *tool {
	if in.name == "" {
		in.fault(transcode.Violation{Path: "name", Problem: "is required", Expected: "the name of a tool, as " + SearchTool + " shows it"})
		return nil
	}
	t := m.catalog.tool(in.name)
	if t != nil {
		return t
	}
	v := transcode.Violation{Path: "name", Problem: "there is no such tool; find one with " + SearchTool, Seen: strconv.Quote(clip.Text(in.name, maxSummary))}
	hits, _ := m.index().Search(in.name, 3)
	for _, h := range hits {
		v.Suggestions = append(v.Suggestions, h.Name)
	}
	in.fault(v)
	return nil
}

func (m *metaTools) search(arguments json.RawMessage) *protocol.Result {
	in := readMetaArguments(arguments, "query", "limit")
	if in.faults != nil {
		return in.result()
	}
	hits, total := m.index().Search(in.query, in.limit)
	out := []byte(`{"tools":[`)
	for i, h := range hits {
		if i > 0 {
			out = append(out, ',')
		}
		out = jsontok.AppendString(append(out, `{"name":`...), h.Name)
		out = jsontok.AppendString(append(out, `,"description":`...), firstLine(m.catalog.tools[h.Document].Description))
		out = append(out, '}')
	}
	out = append(out, `],"total":`...)
	return structured(append(strconv.AppendInt(out, int64(total), 10), '}'))
}

// firstLine returns the first line of a description, shortened.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return clip.Text(line, maxSummary)
}

// structured makes a CallToolResult of a JSON object.
func structured(value []byte) *protocol.Result {
	return &protocol.Result{Body: backend.Structured(value)}
}

// callMeta answers tools/call for what needs no upstream, or returns what to
// call.
func (b *Bridge) callMeta(ctx context.Context, c *catalog, name string, arguments json.RawMessage) (target string, own json.RawMessage, res *protocol.Result, err error) {
	if name == DescribeTypeTool && c.types != nil {
		res, err = c.types.call(ctx, arguments)
	} else {
		target, own, res = c.meta.resolve(name, arguments)
	}
	if res != nil || err != nil {
		b.cfg.log.DebugContext(ctx, "called", "tool", name, "error", err)
	}
	return target, own, res, err
}

// result returns the result for arguments with faults.
func (a *metaArguments) result() *protocol.Result {
	return status.Arguments(&transcode.ArgumentError{Violations: a.faults})
}
