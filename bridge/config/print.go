package config

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcp-bridge/mcp-bridge/bridge/internal/transcode"
	configv1 "github.com/mcp-bridge/mcp-bridge/gen/mcpbridge/config/v1"
	"github.com/mcp-bridge/mcp-bridge/internal/jsontok"
)

// YAML returns the effective configuration: with defaults, in the order of the
// reference page, names sorted. References and relative paths stand as the file
// has them, so values of variables and files are not shown, and the text means
// the same in the same directory.
func (f *File) YAML() ([]byte, error) {
	c := WithDefaults(f.Config, f.others...)
	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("print the configuration: %w", err)
	}
	codec, err := transcode.New(c.ProtoReflect().Descriptor(), nil, transcode.Options{})
	if err != nil {
		return nil, fmt.Errorf("print the configuration: %w", err)
	}
	text, _, err := codec.AppendJSON(nil, wire)
	if err != nil {
		return nil, fmt.Errorf("print the configuration: %w", err)
	}
	p := &printer{written: f.written}
	root, err := p.message(text, c.ProtoReflect().Descriptor(), "")
	if err != nil {
		return nil, fmt.Errorf("print the configuration: %w", err)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return nil, fmt.Errorf("print the configuration: %w", err)
	}
	return out.Bytes(), encoder.Close()
}

// Marshal is [File.YAML] for a configuration that does not come from a file.
func Marshal(c *configv1.Config, others ...string) ([]byte, error) {
	return (&File{Config: c, others: others}).YAML()
}

// printer makes YAML of the JSON of a configuration.
type printer struct {
	written map[string]string
}

func (p *printer) message(text []byte, md protoreflect.MessageDescriptor, path string) (*yaml.Node, error) {
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	err := jsontok.Object(text, func(name, value []byte) error {
		key := string(name)
		fd := md.Fields().ByJSONName(key)
		if fd == nil {
			return fmt.Errorf("the message %s has no field %q", md.FullName(), key)
		}
		child := key
		if path != "" {
			child = path + "." + key
		}
		n, err := p.field(value, fd, child)
		if err == nil {
			out.Content = append(out.Content, scalarNode(key), n)
		}
		return err
	})
	return out, err
}

func (p *printer) field(text []byte, fd protoreflect.FieldDescriptor, path string) (*yaml.Node, error) {
	switch {
	case fd.IsMap():
		out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		err := jsontok.Object(text, func(name, value []byte) error {
			key := string(name)
			n, err := p.value(value, fd.MapValue(), at(path, key))
			if err == nil {
				out.Content = append(out.Content, scalarNode(key), n)
			}
			return err
		})
		return out, err
	case fd.IsList():
		out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		scalars := true
		err := jsontok.Array(text, func(i int, value []byte) error {
			n, err := p.value(value, fd, nth(path, i))
			if err == nil {
				out.Content = append(out.Content, n)
				scalars = scalars && n.Kind == yaml.ScalarNode
			}
			return err
		})
		if scalars {
			out.Style = yaml.FlowStyle
		}
		return out, err
	default:
		return p.value(text, fd, path)
	}
}

func (p *printer) value(text []byte, fd protoreflect.FieldDescriptor, path string) (*yaml.Node, error) {
	md := fd.Message()
	switch {
	case md == nil || jsontok.KindOf(text) == jsontok.KindString:
		return p.scalar(text, path)
	case !isAny(md):
		if shape := transcode.ShapeOf(md); shape != nil && len(shape.Value) == 1 {
			return p.field(text, shape.Value[0], path)
		}
		return p.message(text, md, path)
	default:
		return p.any(text, path)
	}
}

// any prints JSON of any kind.
func (p *printer) any(text []byte, path string) (*yaml.Node, error) {
	switch jsontok.KindOf(text) {
	case jsontok.KindObject:
		out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		err := jsontok.Object(text, func(name, value []byte) error {
			key := string(name)
			n, err := p.any(value, path+"."+key)
			if err == nil {
				out.Content = append(out.Content, scalarNode(key), n)
			}
			return err
		})
		return out, err
	case jsontok.KindArray:
		out := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
		err := jsontok.Array(text, func(i int, value []byte) error {
			n, err := p.any(value, nth(path, i))
			if err == nil {
				out.Content = append(out.Content, n)
			}
			return err
		})
		return out, err
	default:
		return p.scalar(text, path)
	}
}

// scalar prints a scalar as the file has it.
func (p *printer) scalar(text []byte, path string) (*yaml.Node, error) {
	if written, ok := p.written[path]; ok {
		return scalarNode(written), nil
	}
	switch jsontok.KindOf(text) {
	case jsontok.KindString:
		s, _ := jsontok.String(text) // it is our own
		return scalarNode(escape(s)), nil
	case jsontok.KindNumber:
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: string(text)}
		if _, err := strconv.ParseInt(n.Value, 10, 64); err != nil {
			n.Tag = "!!float"
		}
		return n, nil
	case jsontok.KindNull:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: string(text)}, nil
	}
}

// scalarNode returns the node of a string. One that is not plain text is quoted.
func scalarNode(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if s == "" || s == "<<" || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) || strings.Contains(s, "${") {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// isAny reports whether a message is any JSON.
func isAny(md protoreflect.MessageDescriptor) bool {
	switch md.FullName() {
	case "google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue":
		return true
	default:
		return false
	}
}
