package engine

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/backend"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/descriptor"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/schema"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/validate"
	"github.com/mcp-bridge/mcp-bridge/bridge/rpc"
	optionsv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/options/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/parallel"
)

// catalog is an immutable snapshot of everything that is served. Pages of
// tools/list are rendered when it is made, and then only written.
type catalog struct {
	version string // a digest of all pages
	sources []string
	tools   []*tool // sorted by name
	listed  []*tool // and those that are no methods, at the end
	byName  map[string]*tool
	names   map[protoreflect.FullName]string
	others  []Tool
	pages   []json.RawMessage
	// taskPages are the pages for clients that know tasks of 2025-11-25.
	taskPages  []json.RawMessage
	operations bool      // some tool starts long-running operations
	types      *typeTool // nil where no schema leaves anything out
	// instructions are what server/discover tells a model.
	instructions string
	warnings     []string

	resources     []*resource // static ones first
	prompts       []*prompt   // sorted by name
	completions   map[protoreflect.FullName]*completion
	resourcePages []json.RawMessage
	templatePages []json.RawMessage
	promptPages   []json.RawMessage
}

type tool struct {
	Tool
	plan       *backend.Plan
	operations *backend.Operations // nil where calls start none
	pruned     bool                // a schema leaves something out
	timeout    time.Duration       // of its calls; zero is none
	confirm    *confirmation       // what to ask before a call, or nil
	// inputs are the fields of the request by their paths, where they may be
	// completed.
	inputs map[string]protoreflect.FullName
}

// newCatalog makes the catalog of the given descriptor sets, one for every
// upstream. Tools that old had keep their names.
func newCatalog(cfg *config, upstreams []Upstream, sets []*descriptor.Set, old *catalog) (*catalog, error) {
	c := &catalog{byName: make(map[string]*tool)}
	var (
		methods []protoreflect.MethodDescriptor
		plans   = make(map[protoreflect.FullName]*backend.Plan)
		origin  = make(map[protoreflect.FullName]*descriptor.Set)
		says    = &said{methods: make(map[protoreflect.FullName]*optionsv1.MethodOptions)}
		errs    []error
	)
	says.checkNames(cfg, sets)
	sets = slices.Clone(sets)
	for i, set := range sets {
		c.sources = append(c.sources, set.Version())
		c.warnings = append(c.warnings, set.Warnings()...)
		set, notes, err := cfg.visible(set)
		says.notes = append(says.notes, notes...)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		sets[i] = set
		services, err := set.Select(upstreams[i].Services)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		types := descriptor.NewResolver(set, func(set *descriptor.Set) (*descriptor.Set, error) {
			set, _, err := cfg.visible(set)
			return set, err
		})
		env := &backend.Env{
			Caller: upstreams[i].Caller, Types: types, Codecs: transcode.NewCompiler(types, transcode.Options{Encoding: cfg.encoding}),
			Metadata: &cfg.Metadata, Log: cfg.Log,
		}
		if cfg.Rules {
			env.Rules = validate.New(validate.Options{
				Resolver: set.Types(),
				Warn:     func(text string) { cfg.Log.Warn(text) },
			})
		}
		for _, service := range services {
			for j := range service.Methods().Len() {
				method := service.Methods().Get(j)
				if _, twice := plans[method.FullName()]; twice {
					c.warnings = append(c.warnings, fmt.Sprintf("%s is served by two upstreams; the first one is called", method.FullName()))
					continue
				}
				if says.read(cfg, method) {
					continue
				}
				plan := backend.NewPlan(env, method, says.settings(cfg, method.FullName()))
				plans[method.FullName()] = plan
				origin[method.FullName()] = set
				methods = append(methods, method)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	taken := make(map[protoreflect.FullName]string)
	if old != nil {
		maps.Copy(taken, old.names)
	}
	says.rename(cfg, methods, taken)
	c.names = schema.Names(methods, taken)
	shape := cfg.Schema
	if !slices.Contains(slices.Collect(maps.Values(c.names)), DescribeTypeTool) {
		shape.DescribeTool = cfg.public(DescribeTypeTool)
	}
	shape.Methods = methods
	shape.Comment, shape.Encoding, shape.Output = cfg.comment, cfg.encoding, cfg.Output
	schemas := schema.New(shape)
	tools := make([]*tool, len(methods))
	parallel.Each(len(methods), func(i int) {
		method := methods[i]
		said := says.methods[method.FullName()]
		t := &tool{Tool: describe(method, said), plan: plans[method.FullName()]}
		t.Name = c.names[method.FullName()]
		var err error
		if err = t.render(schemas, cfg.Schema.MaxBytes, method, said.GetTool(), origin[method.FullName()]); err == nil {
			if cfg.NoOutputSchema {
				t.OutputSchema = nil
			}
			err = t.apply(cfg, said)
		}
		if err != nil {
			t.Name, t.InputSchema, t.NotCallable = "", nil, err.Error()
		}
		tools[i] = t
	})
	for _, t := range tools {
		if t.NotCallable != "" {
			c.others = append(c.others, t.Tool)
			continue
		}
		c.tools = append(c.tools, t)
		c.byName[t.Name] = t
		c.operations = c.operations || t.operations != nil
		if t.pruned && shape.DescribeTool != "" && c.types == nil {
			c.types = newTypeTool(cfg, upstreams, sets)
		}
	}
	// A name stays with its method while the method is away, too.
	for method, name := range taken {
		if _, ok := c.names[method]; !ok {
			c.names[method] = name
		}
	}
	slices.SortFunc(c.tools, func(a, b *tool) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(c.others, func(a, b Tool) int { return cmp.Compare(a.Method, b.Method) })
	says.present(cfg, c, methods)
	if err := says.settle(old == nil); err != nil {
		return nil, err
	}
	c.warnings = append(c.warnings, says.notes...)
	c.instructions = instructions(cfg, methods, func(method protoreflect.FullName) bool { return c.byName[c.names[method]] != nil })
	c.listed = c.tools
	if c.types != nil {
		c.listed = append(slices.Clip(c.tools), typeToolOf())
	}
	c.paginate(cfg.PageSize)
	c.paginateForTasks(cfg.PageSize)
	c.paginateOthers(cfg.PageSize)
	return c, nil
}

func describe(method protoreflect.MethodDescriptor, said *optionsv1.MethodOptions) Tool {
	description := said.GetDescription()
	switch {
	case description != "":
	case said.GetTool() != nil:
		description = schema.ToolDescription(method)
	default:
		description = schema.Description(method)
	}
	return Tool{
		Method:      string(method.FullName()),
		Title:       cmp.Or(said.GetTitle(), schema.Title(method)),
		Description: description,
	}
}

// render makes the schemas, within the budget in bytes, and the annotations of
// the tool. Those that the tool brings along stay as they are.
func (t *tool) render(schemas *schema.Renderer, budget int, method protoreflect.MethodDescriptor, given *optionsv1.Tool, source *descriptor.Set) error {
	if given != nil {
		return t.renderGiven(schemas.Within(budget), method, given)
	}
	inputMax := budget
	if t.plan.Kind() != rpc.Unary {
		inputMax -= schema.StreamOverhead
	}
	in, err := schemas.Within(inputMax).Input(method.Input())
	if err != nil {
		return err
	}
	t.InputSchema, t.pruned = t.plan.InputSchema(in.JSON), in.Pruned
	t.Annotations = schema.Annotations(method)
	if t.plan.HTTPBody() {
		return nil // content has no schema
	}
	// What the input leaves of a tool's budget is the output's.
	schemas = schemas.Within(max(schema.MinMaxBytes, inputMax-len(in.JSON)))
	if response, ok := backend.OperationResponse(method); ok {
		t.operations = backend.NewOperations(t.plan, response)
		out, err := t.operations.OutputSchema(schemas, source.Message(response))
		t.OutputSchema, t.pruned = out.JSON, t.pruned || out.Pruned
		return err
	}
	out, err := schemas.Output(method.Output())
	if err != nil {
		return err
	}
	t.OutputSchema = t.plan.OutputSchema(out.JSON)
	t.pruned = t.pruned || out.Pruned
	return nil
}

// renderGiven is render for a method that is a tool of MCP in itself.
func (t *tool) renderGiven(schemas *schema.Renderer, method protoreflect.MethodDescriptor, given *optionsv1.Tool) error {
	t.Annotations = schema.Annotations(method)
	if given.GetInputSchema() != "" {
		t.InputSchema = jsontok.AppendCompact(nil, []byte(given.GetInputSchema()))
	} else {
		in, err := schemas.Input(method.Input())
		if err != nil {
			return err
		}
		t.InputSchema, t.pruned = t.plan.InputSchema(in.JSON), in.Pruned
	}
	if given.GetOutputSchema() != "" {
		t.OutputSchema = jsontok.AppendCompact(nil, []byte(given.GetOutputSchema()))
	}
	return nil
}

// sameAs reports whether the catalog was made of these very descriptors.
func (c *catalog) sameAs(sets []*descriptor.Set) bool {
	return slices.EqualFunc(c.sources, sets, func(v string, s *descriptor.Set) bool { return v == s.Version() })
}

func (c *catalog) tool(name string) *tool { return c.byName[name] }

// paginate renders the pages of tools/list and the version that cursors name.
func (c *catalog) paginate(size int) {
	var pages [][]byte
	digest := sha256.New()
	for chunk := range slices.Chunk(c.listed, size) {
		page := appendTools(chunk)
		digest.Write(page) // never fails
		pages = append(pages, page)
	}
	if pages == nil {
		pages = [][]byte{appendTools(nil)}
	}
	for _, r := range c.resources {
		digest.Write(r.entry)
	}
	for _, p := range c.prompts {
		digest.Write(p.entry)
	}
	c.version = hex.EncodeToString(digest.Sum(nil)[:8])
	for i, page := range pages {
		if i < len(pages)-1 {
			page = append(page, `,"nextCursor":`...)
			page = jsontok.AppendString(page, c.cursor(i+1))
		}
		c.pages = append(c.pages, append(page, '}'))
	}
}

// paginateOthers renders the pages of the other lists.
func (c *catalog) paginateOthers(size int) {
	var static, templates, prompts [][]byte
	for _, r := range c.resources {
		if r.static() {
			static = append(static, r.entry)
		} else {
			templates = append(templates, r.entry)
		}
	}
	for _, p := range c.prompts {
		prompts = append(prompts, p.entry)
	}
	c.resourcePages = c.pagesOf("resources", static, size)
	c.templatePages = c.pagesOf("resourceTemplates", templates, size)
	c.promptPages = c.pagesOf("prompts", prompts, size)
}

// pagesOf renders the pages of a list, at least one.
func (c *catalog) pagesOf(member string, entries [][]byte, size int) []json.RawMessage {
	var pages []json.RawMessage
	for i := 0; i == 0 || i < len(entries); i += size {
		page := append([]byte(`{"`+member+`":[`), bytes.Join(entries[i:min(i+size, len(entries))], []byte(","))...)
		page = append(page, ']')
		if i+size < len(entries) {
			page = jsontok.AppendString(append(page, `,"nextCursor":`...), c.cursor(len(pages)+1))
		}
		pages = append(pages, append(page, '}'))
	}
	return pages
}

// pageSlack is room for the end of a page: the cursor of the next one.
const pageSlack = 128

// appendTools returns a page without its end. From then on, the schemas of its
// tools are parts of it, because those of a large API are too large to be kept
// twice.
func appendTools(tools []*tool) []byte {
	size := pageSlack
	for _, t := range tools {
		const members = 120 // names of members, quotes and commas
		size += members + len(t.Name) + len(t.Title) + len(t.Description) + len(t.InputSchema) + len(t.OutputSchema) + len(t.Annotations)
	}
	page := append(make([]byte, 0, size), `{"tools":[`...)
	for i, t := range tools {
		if i > 0 {
			page = append(page, ',')
		}
		page = t.append(page, &t.Tool)
	}
	return append(page, ']')
}

// append appends the tool, and sets the schemas of keep, where that is not nil,
// to parts of what it appended.
func (t *tool) append(dst []byte, keep *Tool) []byte {
	if keep == nil {
		keep = &Tool{}
	}
	part := func(name string, raw json.RawMessage, kept *json.RawMessage) {
		if raw == nil {
			return
		}
		dst = append(dst, name...)
		start := len(dst)
		dst = append(dst, raw...)
		*kept = json.RawMessage(dst[start:len(dst):len(dst)])
	}
	dst = append(dst, `{"name":`...)
	dst = jsontok.AppendString(dst, t.Name)
	dst = append(dst, `,"title":`...)
	dst = jsontok.AppendString(dst, t.Title)
	dst = append(dst, `,"description":`...)
	dst = jsontok.AppendString(dst, t.Description)
	part(`,"inputSchema":`, t.InputSchema, &keep.InputSchema)
	part(`,"outputSchema":`, t.OutputSchema, &keep.OutputSchema)
	part(`,"annotations":`, t.Annotations, &keep.Annotations)
	return append(dst, '}')
}

// cursor names a page of this version of the catalog. Clients must take it
// for opaque (server/utilities/pagination).
func (c *catalog) cursor(page int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(c.version + ":" + strconv.Itoa(page)))
}

func (c *catalog) parseCursor(cursor string, pages int) (page int, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return 0, false
	}
	version, number, ok := strings.Cut(string(raw), ":")
	if !ok || version != c.version {
		return 0, false
	}
	page, err = strconv.Atoi(number)
	return page, err == nil && page > 0 && page < pages
}
