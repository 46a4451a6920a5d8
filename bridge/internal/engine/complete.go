package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/backend"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	optionsv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/options/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/internal/mcpjson"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// maxCompletions is how many values one completion may have
// (server/utilities/completion).
const maxCompletions = 100

// completion suggests the values of a field.
type completion struct {
	// values are those of an enum or a boolean.
	values []string
	// tool is the method that knows them otherwise, query the field that gets
	// what was typed, from the path to the values in its response.
	tool   *tool
	query  []string
	from   fieldPath
	fields map[string][]string // of its request, by JSON name
}

// newCompletion returns the completion that options make of a field, nil where
// there is none.
func newCompletion(fd protoreflect.FieldDescriptor, o *optionsv1.Completion, method func(name string) (*tool, protoreflect.MethodDescriptor)) (*completion, error) {
	switch {
	case o != nil:
	case fd.Kind() == protoreflect.BoolKind:
		return &completion{values: []string{"false", "true"}}, nil
	case fd.Kind() == protoreflect.EnumKind:
		c := &completion{}
		for i := range fd.Enum().Values().Len() {
			if name := string(fd.Enum().Values().Get(i).Name()); i > 0 || !strings.HasSuffix(name, "_UNSPECIFIED") {
				c.values = append(c.values, name)
			}
		}
		return c, nil
	default:
		return nil, nil //nolint:nilnil // there is nothing to say of most fields
	}
	t, md := method(o.GetMethod())
	if t == nil {
		return nil, fmt.Errorf("completion: there is no method %q among the tools", o.GetMethod())
	}
	if md.IsStreamingClient() || md.IsStreamingServer() || t.plan.HTTPBody() {
		return nil, fmt.Errorf("completion: %s streams, or returns no message", md.FullName())
	}
	c := &completion{tool: t, fields: make(map[string][]string)}
	if name := o.GetQueryField(); name != "" {
		p, err := findField(md.Input(), name)
		if err != nil {
			return nil, fmt.Errorf("completion: query_field: %w", err)
		}
		c.query = p.names
	}
	var err error
	if c.from, err = findField(md.Output(), o.GetValuesField()); err != nil {
		return nil, fmt.Errorf("completion: values_field: %w", err)
	}
	if c.from.kind == protoreflect.MessageKind || c.from.kind == protoreflect.GroupKind {
		return nil, fmt.Errorf("completion: values_field: %q is a message", o.GetValuesField())
	}
	for i := range md.Input().Fields().Len() {
		name := md.Input().Fields().Get(i).JSONName()
		c.fields[name] = []string{name}
	}
	return c, nil
}

// completionRequest is what a completion/complete asks for.
type completionRequest struct {
	tool   *tool       // of the prompt or the resource
	by     *completion // nil where nothing is suggested
	typed  string
	others map[string]string // arguments that are known already
}

// readCompletion returns what a completion/complete asks for.
func (c *catalog) readCompletion(r *protocol.Request) (*completionRequest, error) {
	var params struct {
		Ref      struct{ Type, Name, URI string }
		Argument struct{ Name, Value string }
		Context  struct{ Arguments map[string]string }
	}
	if err := json.Unmarshal(r.Params, &params); err != nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params: %v", err)
	}
	out := &completionRequest{typed: params.Argument.Value, others: params.Context.Arguments}
	var field protoreflect.FullName
	switch params.Ref.Type {
	case "ref/prompt":
		if p := c.prompt(params.Ref.Name); p != nil {
			out.tool = p.tool
			field = p.tool.inputs[params.Argument.Name]
		}
	case "ref/resource":
		for _, res := range c.resources {
			if res.uri == params.Ref.URI {
				out.tool = res.tool
				field = res.tool.inputs[strings.Join(res.variables[params.Argument.Name], ".")]
			}
		}
	default:
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.ref.type must be ref/prompt or ref/resource")
	}
	if out.tool == nil {
		return nil, protocol.Errorf(protocol.CodeInvalidParams, "params.ref names no prompt and no resource template that there is")
	}
	out.by = c.completions[field]
	return out, nil
}

// complete answers completion/complete.
func (e *Engine) complete(ctx context.Context, r *protocol.Request) (*protocol.Result, error) {
	asked, err := e.catalogOf(r).readCompletion(r)
	if err != nil {
		return nil, err
	}
	values := []string{}
	if asked.by != nil {
		ctx, cancel, err := withDeadline(ctx, r, asked.tool.timeout)
		if err != nil {
			return nil, err
		}
		defer cancel()
		if values, err = asked.by.suggest(ctx, r, asked.typed, asked.others); err != nil {
			return nil, e.cannotComplete(ctx, asked.by, r, err)
		}
	}
	total := len(values)
	var list mcpjson.Array
	for _, v := range values[:min(total, maxCompletions)] {
		list.AddString(v)
	}
	body := append([]byte(`{"completion":{"values":`), list.JSON()...)
	body = strconv.AppendInt(append(body, `,"total":`...), int64(total), 10)
	body = strconv.AppendBool(append(body, `,"hasMore":`...), total > maxCompletions)
	return &protocol.Result{Body: append(body, `}}`...)}, nil
}

// suggest returns the values that go on from what was typed.
func (c *completion) suggest(ctx context.Context, r *protocol.Request, typed string, others map[string]string) ([]string, error) {
	values := c.values
	if c.tool != nil {
		reading, err := c.tool.plan.Read(ctx, c.arguments(typed, others), r)
		if err != nil {
			return nil, err
		}
		values = collect(nil, reading.JSON, c.from.names)
		if c.query != nil {
			return unique(values), nil // the method has chosen
		}
	}
	prefix := strings.ToLower(typed)
	return unique(slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !strings.HasPrefix(strings.ToLower(v), prefix) })), nil
}

// arguments are those of the call that knows the values.
func (c *completion) arguments(typed string, others map[string]string) json.RawMessage {
	given := make(map[string]string)
	paths := make(map[string][]string)
	asks := c.query != nil && typed != ""
	for name, value := range others {
		if path := c.fields[name]; path != nil && (!asks || path[0] != c.query[0]) {
			given[name], paths[name] = value, path
		}
	}
	if asks {
		given["\x00query"], paths["\x00query"] = typed, c.query
	}
	return assign(given, paths)
}

// unique leaves out values that are there twice, and keeps the order.
func unique(values []string) []string {
	seen := make(map[string]bool)
	return slices.DeleteFunc(values, func(v string) bool {
		was := seen[v]
		seen[v] = true
		return was
	})
}

// collect appends the values at a path, through lists on the way.
func collect(dst []string, value []byte, path []string) []string {
	switch jsontok.KindOf(value) {
	case jsontok.KindArray:
		// The value is JSON of our own making, and the visitor returns no error.
		_ = jsontok.Array(value, func(_ int, element []byte) error {
			dst = collect(dst, element, path)
			return nil
		})
		return dst
	case jsontok.KindObject:
		if len(path) == 0 {
			return dst
		}
		if inner, ok := jsontok.Lookup(value, path[0]); ok {
			return collect(dst, inner, path[1:])
		}
		return dst
	}
	if len(path) > 0 {
		return dst
	}
	if text, ok := jsontok.String(value); ok {
		return append(dst, text)
	}
	return append(dst, string(value))
}

func (e *Engine) cannotComplete(ctx context.Context, c *completion, r *protocol.Request, err error) error {
	if e, ok := errors.AsType[*transcode.ArgumentError](err); ok {
		return protocol.Errorf(protocol.CodeInvalidParams, "%s", e.Error())
	}
	failure, ok := errors.AsType[*backend.CallError](err)
	if !ok {
		return err
	}
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	result, err := c.tool.plan.Failure(failure, r, passed(ctx, r, c.tool.timeout))
	if err != nil {
		return err
	}
	return &protocol.Error{Code: protocol.CodeInternalError, Message: firstText(result)}
}
