// Package find is middleware for catalogs that are too long to be listed: three tools
// stand for all others. One searches them by words, one describes a tool, and one calls
// it. A list of hundreds of tools fills what a model can read, or worse, is cut by its host.
//
// It works on what the Handler behind it lists, so it covers every upstream, and it
// finds only what the caller is shown. A call through [CallTool] becomes a call of the
// tool itself and goes on to that Handler, where a guard decides it like any other. So a
// tool that is missing, and one that is hidden or refused, cannot be told apart.
package find

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/search"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/internal/parallel"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// Names of the tools that stand for a catalog.
const (
	SearchTool   = "search_tools"
	DescribeTool = "describe_tool"
	CallTool     = "call_tool"
)

// DefaultBytes is how many bytes of tools are listed nevertheless. It is about 25,000
// tokens, an eighth of what common models read in all: what a host can still show its
// model with every request.
const DefaultBytes = 100_000

const (
	// defaultFound and maxFound are how many tools a search shows.
	defaultFound = 10
	maxFound     = 50
	// maxSummary bounds the description of a tool that was found, in bytes.
	maxSummary = 200
	// maxServices bounds the services that a search names that found nothing.
	maxServices = 50
	// maxCatalogs bounds how many catalogs are kept: callers may see different ones.
	maxCatalogs = 16
)

// Config configures the middleware. The zero value replaces every list.
type Config struct {
	// Bytes is up to how many bytes of tools, in JSON, are listed nevertheless.
	Bytes int
	// Shown returns what the sender of a request is shown. The default reads all pages
	// of the Handler's list for each call of one of the three tools.
	Shown func(ctx context.Context, r *protocol.Request) (Shown, error)
	// Logger gets what goes wrong. The default discards.
	Logger *slog.Logger
}

// Middleware returns the middleware. Tools can still be called by their own names. A
// tool that has the name of one of the three is found and called through them.
func Middleware(cfg Config) protocol.Middleware {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	return func(next protocol.Handler) protocol.Handler {
		f := &finder{cfg: cfg, next: next}
		if f.cfg.Shown == nil {
			f.cfg.Shown = (&pager{next: next}).shown
		}
		return f
	}
}

// finder is a Handler whose tools are found.
type finder struct {
	cfg  Config
	next protocol.Handler

	mu       sync.Mutex
	catalogs []*catalog // the last used one is last
}

// Handle answers one MCP request.
func (f *finder) Handle(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	if r.Caller != nil && r.Caller.Principal.Internal() {
		return f.next.Handle(ctx, r, n) // this program reads the lists themselves
	}
	switch r.Method {
	case protocol.MethodListTools:
		return f.list(ctx, r, n)
	case protocol.MethodCallTool:
		raw, _ := jsontok.Lookup(r.Params, "name")
		switch name, _ := jsontok.String(raw); name {
		case SearchTool, DescribeTool, CallTool:
			return f.call(ctx, name, r, n)
		}
	}
	return f.next.Handle(ctx, r, n)
}

// list lists the three tools, or all where they fit.
func (f *finder) list(ctx context.Context, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	res, err := f.next.Handle(ctx, r, n)
	if err != nil {
		return nil, err
	}
	if _, ok := jsontok.Lookup(r.Params, "cursor"); ok {
		return res, nil // of a list that has been shown in part
	}
	c, _, err := f.catalog(ctx, r)
	if err != nil || c == nil {
		return res, err
	}
	own := *res
	own.Body = listPage(c.of.Len())
	return &own, nil
}

// call answers a call of one of the three tools.
func (f *finder) call(ctx context.Context, name string, r *protocol.Request, n protocol.Notifier) (*protocol.Result, error) {
	c, unknown, err := f.catalog(ctx, r)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return f.next.Handle(ctx, r, n) // it is no name of ours
	}
	arguments, ok := jsontok.Lookup(r.Params, "arguments")
	if !ok {
		arguments = []byte(`{}`)
	}
	switch name {
	case SearchTool:
		return c.search(arguments), nil
	case DescribeTool:
		in := readArguments(arguments, "name").named()
		if in.faults != nil {
			return in.result(), nil
		}
		i, ok := c.byName()[in.name]
		if !ok {
			return nil, unknown(in.name)
		}
		return structured(c.tools()[i].raw), nil
	}
	in := readArguments(arguments, "name", "arguments").named()
	if in.faults != nil {
		return in.result(), nil
	}
	// What the caller is not shown goes on as well: the Handler refuses it, as it does
	// when it is called directly.
	own := *r
	own.Params = mcpjson.Replace(r.Params, "name", jsontok.AppendString(nil, in.name))
	own.Params = mcpjson.Set(own.Params, "arguments", in.arguments)
	return f.next.Handle(ctx, &own, n)
}

// catalog is what one or more callers are shown.
type catalog struct {
	of    Tools
	bytes int // of all tools
	// These are made when they are first needed.
	tools  func() []tool
	byName func() map[string]int
	index  func() *search.Index
}

type tool struct {
	name, description string
	raw               json.RawMessage
}

// catalog returns what the sender of a request is shown, or nil where its tools are
// listed as they are, and the error for a tool that is not among them.
func (f *finder) catalog(ctx context.Context, r *protocol.Request) (*catalog, func(name string) error, error) {
	shown, err := f.cfg.Shown(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, c := range slices.Backward(f.catalogs) {
		if c.of == shown.Tools {
			f.catalogs = append(slices.Delete(f.catalogs, i, i+1), c)
			return c.orNil(f.cfg.Bytes), shown.Unknown, nil
		}
	}
	c := &catalog{of: shown.Tools}
	for i := range c.of.Len() {
		c.bytes += len(c.of.Tool(i))
	}
	c.index = sync.OnceValue(c.makeIndex)
	c.tools = sync.OnceValue(c.readTools)
	c.byName = sync.OnceValue(c.nameTools)
	if len(f.catalogs) >= maxCatalogs {
		f.catalogs = slices.Delete(f.catalogs, 0, 1)
	}
	f.catalogs = append(f.catalogs, c)
	return c.orNil(f.cfg.Bytes), shown.Unknown, nil
}

// orNil returns c, or nil where its tools take no more than so many bytes.
func (c *catalog) orNil(most int) *catalog {
	if c.bytes <= most {
		return nil
	}
	return c
}

// readTools reads the tools.
func (c *catalog) readTools() []tool {
	tools := make([]tool, c.of.Len())
	for i := range tools {
		raw := c.of.Tool(i)
		tools[i] = tool{name: stringIn(raw, "name"), description: stringIn(raw, "description"), raw: raw}
	}
	return tools
}

// nameTools returns the tools by their names.
func (c *catalog) nameTools() map[string]int {
	byName := make(map[string]int)
	for i, t := range c.tools() {
		byName[t.name] = i
	}
	return byName
}

// makeIndex makes the index of the tools.
func (c *catalog) makeIndex() *search.Index {
	tools := c.tools()
	docs := make([]search.Document, len(tools))
	parallel.Each(len(docs), func(i int) { docs[i] = document(tools[i]) })
	return search.New(docs)
}

func stringIn(object []byte, member string) string {
	raw, _ := jsontok.Lookup(object, member)
	s, _ := jsontok.String(raw)
	return s
}

// search answers a search.
func (c *catalog) search(raw json.RawMessage) *protocol.Result {
	in := readArguments(raw, "query", "limit")
	if in.faults != nil {
		return in.result()
	}
	hits, total := c.index().Search(in.query, in.limit)
	var tools mcpjson.Array
	for _, h := range hits {
		var t mcpjson.Object
		t.Add("name", jsontok.AppendString(nil, h.Name))
		t.Add("description", jsontok.AppendString(nil, firstLine(c.tools()[h.Document].description)))
		tools.Add(t.JSON())
	}
	var found mcpjson.Object
	found.Add("tools", tools.JSON())
	found.Add("total", strconv.AppendInt(nil, int64(total), 10))
	if total == 0 {
		c.whatThereIs(&found)
	}
	return structured(found.JSON())
}

// whatThereIs adds, to the result of a search that found nothing, what could be found.
func (c *catalog) whatThereIs(found *mcpjson.Object) {
	services := c.index().Services()
	hint := fmt.Sprintf("None of the %d tools fits these words. Say in other words what the tool is to do, and with what.", c.of.Len())
	if len(services) > 0 {
		hint += " These are the services there are, and some of their tools."
	}
	found.Add("hint", jsontok.AppendString(nil, hint))
	if len(services) > 0 {
		var list mcpjson.Array
		for _, s := range services[:min(len(services), maxServices)] {
			list.Add(jsontok.AppendString(nil, fmt.Sprintf("%s (%d)", s.Name, s.Documents)))
		}
		found.Add("services", list.JSON())
	}
	some, _ := c.index().Search("", defaultFound)
	var list mcpjson.Array
	for _, h := range some {
		list.Add(jsontok.AppendString(nil, h.Name))
	}
	found.Add("some", list.JSON())
}

// firstLine returns the first line of a description, shortened.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return clip.Text(line, maxSummary)
}

// structured makes a CallToolResult of a JSON object.
func structured(value []byte) *protocol.Result {
	body := jsontok.AppendString([]byte(`{"content":[{"type":"text","text":`), value)
	body = append(append(body, `}],"structuredContent":`...), value...)
	return &protocol.Result{Body: append(body, '}')}
}
