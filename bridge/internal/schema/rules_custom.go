package schema

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/customoption"
)

const (
	// maxCustom bounds the custom rules of one place that are told, maxFiles
	// the files in which the rule of an extension is looked up.
	maxCustom = 16
	maxFiles  = 4096
)

// custom adds the rules in the Common Expression Language, as their messages.
func (s fieldRules) custom(c *cache, fd protoreflect.FieldDescriptor, g *collector) {
	s.cel(g)
	s.predefined(c, fd, g)
}

func (s fieldRules) cel(g *collector) {
	for _, text := range celTexts(s.rules.GetCel(), s.rules.GetCelExpression()) {
		g.sayCustom(text, false)
	}
}

// celTexts returns what rules say in words.
func celTexts(rules []*validate.Rule, expressions []string) []string {
	var texts []string
	for _, r := range rules[:min(len(rules), maxCustom)] {
		texts = append(texts, celText(r.GetMessage(), r.GetExpression()))
	}
	for _, e := range expressions[:min(len(expressions), maxCustom)] {
		texts = append(texts, celText("", e))
	}
	return texts
}

func celText(message, expression string) string {
	if message = oneLine(message); message != "" {
		return sentence(message)
	}
	if expression = oneLine(expression); expression != "" {
		return "Must satisfy the CEL expression " + expression + "."
	}
	return ""
}

// oneLine returns the visible text of s, in one line and bounded.
func oneLine(s string) string {
	s = strings.ToValidUTF8(clipBytes(s, 4*maxRule), "\uFFFD")
	return cut(strings.Join(strings.Fields(strings.Map(visible, s)), " "), maxRule)
}

// sentence makes a sentence of a message such as "must be even".
func sentence(s string) string {
	if isLower(s[0]) {
		s = string(s[0]-'a'+'A') + s[1:]
	}
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, ellipsis) {
		return s
	}
	return s + "."
}

// predefined adds the rules that the APIs define as extensions of the standard
// ones.
func (s fieldRules) predefined(c *cache, fd protoreflect.FieldDescriptor, g *collector) {
	if s.rules == nil {
		return
	}
	m := s.rules.ProtoReflect()
	typ := m.WhichOneof(m.Descriptor().Oneofs().ByName("type"))
	if typ == nil {
		return
	}
	of := m.Get(typ).Message()
	told := 0
	last := protowire.Number(0)
	for f := range customoption.Fields(of.GetUnknown()) {
		if f.Number < 1000 || f.Number == last || told >= maxCustom {
			continue // a list, of which one text is enough
		}
		last = f.Number
		told++
		xd := c.predefined.find(fd.ParentFile(), of.Descriptor().FullName(), f.Number)
		if xd == nil {
			continue
		}
		for _, text := range predefinedTexts(xd, f) {
			g.sayCustom(text, false)
		}
	}
}

// predefinedTexts returns the words of a predefined rule with the value given.
func predefinedTexts(xd protoreflect.FieldDescriptor, value customoption.Field) []string {
	if xd.Kind() == protoreflect.BoolKind && value.Value == 0 {
		return nil // as a rule, such a rule is switched off
	}
	rules := new(validate.PredefinedRules)
	if !unmarshalRules(extensionBytes(xd, predefinedNumber), rules) {
		return nil
	}
	shown := ruleValue(xd, value.Type, value.Value, value.Bytes)
	if shown != "" {
		shown = " (" + clip(string(xd.Name()), maxNameText) + ": " + shown + ")"
	}
	var texts []string
	for _, text := range celTexts(rules.GetCel(), nil) {
		if text != "" {
			text = strings.TrimSuffix(text, ".") + shown + "."
		}
		texts = append(texts, text)
	}
	return texts
}

// ruleValue returns a value of a predefined rule as it reads, or "".
func ruleValue(xd protoreflect.FieldDescriptor, wire protowire.Type, v uint64, data []byte) string {
	if xd.IsList() {
		return ""
	}
	switch xd.Kind() {
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return strconv.FormatInt(int64(v), 10) //nolint:gosec // this is how the wire format has it
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return strconv.FormatInt(protowire.DecodeZigZag(v), 10)
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		return strconv.FormatUint(v, 10)
	case protoreflect.StringKind:
		return quote(oneLine(string(data[:min(len(data), maxRule)])))
	case protoreflect.FloatKind:
		if wire == protowire.Fixed32Type {
			return strconv.FormatFloat(float64(math.Float32frombits(uint32(v))), 'g', -1, 32) //nolint:gosec // it has 32 bits
		}
	case protoreflect.DoubleKind:
		if wire == protowire.Fixed64Type {
			return strconv.FormatFloat(math.Float64frombits(v), 'g', -1, 64)
		}
	case protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		return strconv.FormatUint(v, 10)
	case protoreflect.Sfixed32Kind:
		return strconv.FormatInt(int64(int32(v)), 10) //nolint:gosec // this is how the wire format has it
	case protoreflect.Sfixed64Kind:
		return strconv.FormatInt(int64(v), 10) //nolint:gosec // this is how the wire format has it
	default: // what has no short text
	}
	return ""
}

// predefined finds the extensions that define rules. It is safe for concurrent
// use.
type predefined struct {
	mu    sync.Mutex
	files map[protoreflect.FileDescriptor]map[extensionKey]protoreflect.FieldDescriptor
}

type extensionKey struct {
	extendee protoreflect.FullName
	number   protowire.Number
}

// find returns the extension of a message of buf.validate that file or a file
// it imports declares, or nil.
func (p *predefined) find(file protoreflect.FileDescriptor, extendee protoreflect.FullName, num protowire.Number) protoreflect.FieldDescriptor {
	if file == nil {
		return nil
	}
	if !reflect.ValueOf(file).Comparable() {
		return nil // no descriptor of a real file
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	known, ok := p.files[file]
	if !ok {
		known = make(map[extensionKey]protoreflect.FieldDescriptor)
		collectExtensions(file, known)
		if p.files == nil {
			p.files = make(map[protoreflect.FileDescriptor]map[extensionKey]protoreflect.FieldDescriptor)
		}
		p.files[file] = known
	}
	return known[extensionKey{extendee, num}]
}

// extensionHolder is a file or a message: what extensions are declared in.
type extensionHolder interface {
	Extensions() protoreflect.ExtensionDescriptors
	Messages() protoreflect.MessageDescriptors
}

func collectExtensions(file protoreflect.FileDescriptor, into map[extensionKey]protoreflect.FieldDescriptor) {
	var add func(in extensionHolder)
	add = func(in extensionHolder) {
		for i := range in.Extensions().Len() {
			xd := in.Extensions().Get(i)
			if name := xd.ContainingMessage().FullName(); name.Parent() == "buf.validate" {
				into[extensionKey{name, xd.Number()}] = xd
			}
		}
		for i := range in.Messages().Len() {
			add(in.Messages().Get(i))
		}
	}
	seen := map[string]bool{file.Path(): true}
	for queue := []protoreflect.FileDescriptor{file}; len(queue) > 0 && len(seen) <= maxFiles; queue = queue[1:] {
		add(queue[0])
		for i := range queue[0].Imports().Len() {
			next := queue[0].Imports().Get(i).FileDescriptor
			if !seen[next.Path()] {
				seen[next.Path()] = true
				queue = append(queue, next)
			}
		}
	}
}
