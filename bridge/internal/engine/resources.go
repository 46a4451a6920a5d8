package engine

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/yosida95/uritemplate/v3"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/backend"
	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	optionsv1 "github.com/mcp-bridge/mcp-bridge/gen/mcp/options/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/clip"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
	"github.com/mcp-bridge/mcp-bridge/protocol"
)

// resource is what a method returns, by URI: one resource, or all that a
// template stands for.
type resource struct {
	tool     *tool
	uri      string // or the template
	template *uritemplate.Template
	// variables are the request fields that variables of the template go to,
	// as paths of JSON names.
	variables map[string][]string
	// pattern, where it is not empty, is what the variables are filled into to
	// get the field "name" (google.api.resource).
	pattern string
	mime    string
	content fieldPath
	// encoding is that of content that is bytes.
	encoding transcode.Encoding
	// poll and watch say how changes are noticed, see resourceWatch.
	poll           time.Duration
	watch          *tool
	watchVariables map[string][]string

	entry []byte // in its list
}

// fieldPath leads to a field of a message.
type fieldPath struct {
	names []string // in JSON
	kind  protoreflect.Kind
	list  bool // a field on the way is one
}

// findField returns the path to a field that is named by proto or JSON names
// with dots between them.
func findField(md protoreflect.MessageDescriptor, name string) (fieldPath, error) {
	var p fieldPath
	for part := range strings.SplitSeq(name, ".") {
		if md == nil {
			return p, fmt.Errorf("%q: only messages have fields", name)
		}
		fd := md.Fields().ByName(protoreflect.Name(part))
		if fd == nil {
			fd = md.Fields().ByJSONName(part)
		}
		if fd == nil {
			return p, fmt.Errorf("%s has no field %q", md.FullName(), part)
		}
		if fd.IsMap() {
			return p, fmt.Errorf("%q is a map", fd.FullName())
		}
		p.names = append(p.names, fd.JSONName())
		p.kind = fd.Kind()
		p.list = p.list || fd.IsList()
		md = fd.Message()
	}
	return p, nil
}

// last returns the field of a message of md to which the path leads.
func (p fieldPath) last(md protoreflect.MessageDescriptor) (fd protoreflect.FieldDescriptor) {
	for _, name := range p.names {
		fd = md.Fields().ByJSONName(name)
		md = fd.Message()
	}
	return fd
}

// newResource returns the resource that options make of a method.
func newResource(cfg *config, t *tool, method protoreflect.MethodDescriptor, o *optionsv1.Resource) (*resource, error) {
	if method.IsStreamingClient() || method.IsStreamingServer() {
		return nil, errors.New("a method that streams cannot be a resource")
	}
	r := &resource{tool: t, uri: o.GetUriTemplate(), mime: o.GetMimeType()}
	if err := r.parse(method.Input()); err != nil {
		return nil, err
	}
	if name := o.GetContentField(); name != "" {
		var err error
		if r.content, err = findField(method.Output(), name); err != nil {
			return nil, fmt.Errorf("content_field: %w", err)
		}
		if r.content.list {
			return nil, fmt.Errorf("content_field: %q is a list", name)
		}
		if r.content.kind == protoreflect.BytesKind {
			r.encoding = cfg.encoding(r.content.last(method.Output()))
		}
	}
	if r.mime == "" && r.content.kind != protoreflect.StringKind && r.content.kind != protoreflect.BytesKind && !t.plan.HTTPBody() {
		r.mime = "application/json"
	}
	if poll := o.GetPoll(); poll != nil {
		if r.poll = poll.AsDuration(); poll.CheckValid() != nil || r.poll < minPoll {
			return nil, fmt.Errorf("poll must be a time of %v or more", minPoll)
		}
	}
	r.render(o.GetName(), o.GetTitle(), o.GetDescription())
	return r, nil
}

// parse reads the template, whose variables are fields of the request.
func (r *resource) parse(request protoreflect.MessageDescriptor) error {
	template, err := uritemplate.New(r.uri)
	if err != nil {
		return fmt.Errorf("uri_template %q: %w", r.uri, err)
	}
	if !strings.Contains(r.uri, ":") {
		return fmt.Errorf("uri_template %q has no scheme", r.uri)
	}
	r.template, r.variables = template, make(map[string][]string)
	for _, name := range template.Varnames() {
		p, err := findField(request, name)
		if err != nil {
			return fmt.Errorf("uri_template %q: %w", r.uri, err)
		}
		if p.list || p.kind == protoreflect.MessageKind || p.kind == protoreflect.GroupKind {
			return fmt.Errorf("uri_template %q: %q is no single value", r.uri, name)
		}
		r.variables[name] = p.names
	}
	return nil
}

// static reports whether it is one resource and no template.
func (r *resource) static() bool { return len(r.template.Varnames()) == 0 }

// render makes the entry in resources/list or resources/templates/list.
func (r *resource) render(name, title, description string) {
	e := []byte(`{"uriTemplate":`)
	if r.static() {
		e = []byte(`{"uri":`)
	}
	e = jsontok.AppendString(e, r.uri)
	for _, m := range []struct{ key, value string }{
		{`,"name":`, or(name, r.tool.Name)}, {`,"title":`, or(title, r.tool.Title)},
		{`,"description":`, or(description, r.tool.Description)}, {`,"mimeType":`, r.mime},
	} {
		if m.value != "" {
			e = jsontok.AppendString(append(e, m.key...), m.value)
		}
	}
	r.entry = append(e, '}')
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// arguments returns the arguments of the call that reads a URI, and false if
// the URI is none of the resource.
func (r *resource) arguments(uri string) (json.RawMessage, bool) {
	if r.static() {
		return json.RawMessage(`{}`), uri == r.uri
	}
	values := r.template.Match(uri)
	if values == nil {
		return nil, false
	}
	if r.pattern != "" {
		name := r.pattern
		for _, v := range r.template.Varnames() {
			name = strings.ReplaceAll(name, "{"+v+"}", values.Get(v).String())
		}
		return assign(map[string]string{"name": name}, map[string][]string{"name": {"name"}}), true
	}
	return assign(r.values(values), r.variables), true
}

func (r *resource) values(match uritemplate.Values) map[string]string {
	values := make(map[string]string)
	for _, name := range r.template.Varnames() {
		if v := match.Get(name); v.Valid() {
			values[name] = v.String()
		}
	}
	return values
}

// assign returns a JSON object with the values at the paths of their names, the
// same for the same values. Those without a path are left out.
func assign(values map[string]string, paths map[string][]string) json.RawMessage {
	root := make(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		path := paths[name]
		if path == nil {
			continue
		}
		at := root
		for _, part := range path[:len(path)-1] {
			next, ok := at[part].(map[string]any)
			if !ok {
				next = make(map[string]any)
				at[part] = next
			}
			at = next
		}
		at[path[len(path)-1]] = values[name]
	}
	out, err := json.Marshal(root)
	if err != nil { // strings always marshal
		return json.RawMessage(`{}`)
	}
	return out
}

// maxURI bounds the URIs that are looked for, in bytes: to match one with a template
// takes a microsecond a byte.
const maxURI = 8 << 10

// findResource returns the resource of a URI and the arguments to read it by,
// or nil.
func (c *catalog) findResource(uri string) (*resource, json.RawMessage) {
	if len(uri) > maxURI {
		return nil, nil
	}
	for _, r := range c.resources {
		if arguments, ok := r.arguments(uri); ok {
			return r, arguments
		}
	}
	return nil, nil
}

// templated returns the resources that a URI template stands for, or nil.
func (c *catalog) templated(template string) *resource {
	for _, r := range c.resources {
		if r.uri == template {
			return r
		}
	}
	return nil
}

// readURI returns what a resources/read names.
func readURI(r *protocol.Request) (string, error) {
	raw, ok := jsontok.Lookup(r.Params, "uri")
	uri, isString := jsontok.String(raw)
	if !ok || !isString {
		return "", protocol.Errorf(protocol.CodeInvalidParams, "params.uri must be the URI of a resource")
	}
	return uri, nil
}

// readResource answers resources/read.
func (e *Engine) readResource(ctx context.Context, r *protocol.Request) (*protocol.Result, error) {
	uri, err := readURI(r)
	if err != nil {
		return nil, err
	}
	res, arguments := e.catalogOf(r).findResource(uri)
	if res == nil {
		return nil, noResource(r, uri, "there is no such resource")
	}
	ctx, cancel, err := withDeadline(ctx, r, res.tool.timeout)
	if err != nil {
		return nil, err
	}
	defer cancel()
	reading, err := res.tool.plan.Read(ctx, arguments, r)
	if err != nil {
		return nil, e.cannotRead(ctx, r, res, uri, err)
	}
	body := append(jsontok.AppendString([]byte(`{"contents":[{"uri":`), uri), res.contents(reading)...)
	return &protocol.Result{Body: append(body, `}]}`...), Cache: &protocol.Cache{Private: true}}, nil
}

// cannotRead returns the error for a resource that could not be read.
func (e *Engine) cannotRead(ctx context.Context, r *protocol.Request, res *resource, uri string, err error) error {
	if e, ok := errors.AsType[*transcode.ArgumentError](err); ok {
		return noResource(r, uri, e.Error())
	}
	failure, ok := errors.AsType[*backend.CallError](err)
	if !ok {
		return err
	}
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	switch failure.Status.Code() {
	case code.Code_NOT_FOUND, code.Code_INVALID_ARGUMENT:
		return noResource(r, uri, failure.Status.Status.GetMessage())
	case code.Code_UNIMPLEMENTED:
		e.markStale()
	}
	// The result that the tool would have has the words for it.
	result, err := res.tool.plan.Failure(failure, r, passed(ctx, r, res.tool.timeout))
	if err != nil {
		return err
	}
	return &protocol.Error{Code: protocol.CodeInternalError, Message: firstText(result)}
}

func noResource(r *protocol.Request, uri, why string) error {
	e := &protocol.Error{Code: protocol.CodeInvalidParams, Message: fmt.Sprintf("%s: %s", clip.Text(uri, maxSummary), why)}
	if !r.Meta.Revision.Modern() {
		e.Code = protocol.CodeResourceNotFound
	}
	e.Data = json.RawMessage(`{"uri":` + string(jsontok.AppendString(nil, clip.URI(uri))) + `}`)
	return e
}

// firstText returns the text of a result's first block.
func firstText(r *protocol.Result) string {
	var body struct{ Content []struct{ Text string } }
	if json.Unmarshal(r.Body, &body) != nil || len(body.Content) == 0 {
		return "the resource could not be read"
	}
	return body.Content[0].Text
}

// contents returns the members of ResourceContents besides the URI.
func (r *resource) contents(reading *backend.Reading) []byte {
	var out []byte
	mime := r.mime
	if mime == "" {
		mime = reading.ContentType
	}
	if mime != "" {
		out = jsontok.AppendString(append(out, `,"mimeType":`...), mime)
	}
	if reading.JSON == nil {
		if backend.IsText(mime, reading.Content) {
			return jsontok.AppendString(append(out, `,"text":`...), reading.Content)
		}
		return blob(out, base64.StdEncoding.EncodeToString(reading.Content))
	}
	value, found := []byte(reading.JSON), true
	for _, name := range r.content.names {
		if value, found = jsontok.Lookup(value, name); !found {
			break
		}
	}
	text, isString := jsontok.String(value)
	switch {
	case r.content.kind == protoreflect.BytesKind:
		return r.bytes(out, text)
	case !found && r.content.kind == protoreflect.StringKind:
		text = ""
	case !found:
		text = "null"
	case !isString || r.content.kind != protoreflect.StringKind:
		text = string(value)
	}
	return jsontok.AppendString(append(out, `,"text":`...), text)
}

// bytes appends the content where that is bytes, which are text in JSON.
func (r *resource) bytes(out []byte, text string) []byte {
	switch r.encoding {
	case transcode.UTF8:
		if raw, ok := strings.CutPrefix(text, transcode.RawPrefix); ok {
			return blob(out, raw)
		}
		return jsontok.AppendString(append(out, `,"text":`...), text)
	case transcode.Hex:
		raw, err := hex.DecodeString(text)
		if err != nil { // the codec has written it
			return blob(out, "")
		}
		return blob(out, base64.StdEncoding.EncodeToString(raw))
	default:
		return blob(out, text)
	}
}

func blob(out []byte, encoded string) []byte {
	return append(append(append(out, `,"blob":"`...), encoded...), '"')
}
