package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlLine matches what the YAML parser puts before its errors. The line is
// that of what is around the fault.
var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line \d+: )?`)

// yaml reads YAML. It returns nil where it is none.
func (p *parser) yaml(data []byte) *Node {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	err := decoder.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return &Node{Line: 1, Column: 1}
	}
	if err != nil {
		p.yamlFault(data, err)
		return nil
	}
	switch err := decoder.Decode(&more); {
	case err == nil:
		p.fault(more.Line, max(more.Column, 1), "the file has more than one YAML document")
	case !errors.Is(err, io.EOF):
		p.yamlFault(data, err)
		return nil
	}
	y := &yamlReader{parser: p, open: make(map[*yaml.Node]bool)}
	root, ok := y.value(doc.Content[0], 1)
	if !ok {
		return &Node{Line: 1, Column: 1, skip: true}
	}
	return root
}

// yamlFault reports that a text is no YAML. The place is the line with which it
// stops being that.
func (p *parser) yamlFault(data []byte, err error) {
	text := yamlProblem(err)
	places := newPlaces(data)
	ends := append(places.lines[1:], len(data))
	line := sort.Search(len(ends)-1, func(i int) bool { return yamlProblem(readYAML(data[:ends[i]])) == text })
	begin := places.lines[line]
	for begin < ends[line] && (data[begin] == ' ' || data[begin] == '\t') {
		begin++
	}
	line, column := places.of(begin)
	p.fault(line, column, "not valid YAML: %s", text)
}

// yamlProblem returns what is wrong with YAML.
func yamlProblem(err error) string {
	if err == nil {
		return ""
	}
	return yamlLine.ReplaceAllString(err.Error(), "")
}

// readYAML returns the error of reading a text.
func readYAML(data []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		if err := decoder.Decode(&n); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

type yamlReader struct {
	*parser

	// open are the nodes around the one that is being read.
	open map[*yaml.Node]bool
}

// value reads a value. It reports false after a fault that leaves none.
func (y *yamlReader) value(n *yaml.Node, depth int) (*Node, bool) {
	if n.Kind == yaml.AliasNode {
		return y.alias(n, depth)
	}
	if !y.node(n.Line, n.Column, depth) {
		return nil, false
	}
	if y.inAlias > 0 {
		y.aliasBytes += len(n.Value)
		if y.aliasBytes > maxAliasBytes {
			if !y.tooMany {
				y.tooMany = true
				y.fault(n.Line, n.Column, "aliases expand to more than %d bytes", maxAliasBytes)
			}
			return nil, false
		}
	}
	out := &Node{Line: n.Line, Column: n.Column}
	y.open[n] = true
	defer delete(y.open, n)
	switch n.Kind {
	case yaml.SequenceNode:
		out.Kind = List
		if n.ShortTag() != "!!seq" {
			y.fault(n.Line, n.Column, "the tag %s is not supported", clip(n.ShortTag()))
		}
		for _, c := range n.Content {
			item, ok := y.value(c, depth+1)
			if !ok {
				item = &Node{Line: c.Line, Column: c.Column, skip: true}
			}
			out.Items = append(out.Items, item)
			if y.tooMany {
				return out, true
			}
		}
	case yaml.MappingNode:
		out.Kind = Map
		if n.ShortTag() != "!!map" {
			y.fault(n.Line, n.Column, "the tag %s is not supported", clip(n.ShortTag()))
		}
		y.mapping(n, out, depth)
	case yaml.ScalarNode:
		y.scalar(n, out)
	case yaml.AliasNode, yaml.DocumentNode:
	}
	return out, true
}

// alias reads what an alias stands for, as a copy.
func (y *yamlReader) alias(n *yaml.Node, depth int) (*Node, bool) {
	y.aliases++
	switch {
	case y.tooMany:
		return nil, false
	case y.aliases > maxAliases:
		y.tooMany = true
		y.fault(n.Line, n.Column, "the file has more than %d aliases", maxAliases)
		return nil, false
	case y.open[n.Alias]:
		y.fault(n.Line, n.Column, "the alias *%s stands inside of its own anchor", clip(n.Value))
		return nil, false
	}
	y.inAlias++
	defer func() { y.inAlias-- }()
	return y.value(n.Alias, depth)
}

// mapping reads the members of a mapping. Those of merge keys come after them,
// unless a member of the mapping itself has their key.
func (y *yamlReader) mapping(n *yaml.Node, out *Node, depth int) {
	seen := make(map[string]*Member)
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content) && !y.tooMany; i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if key.Kind == yaml.AliasNode && key.Alias.Kind == yaml.ScalarNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			y.fault(key.Line, key.Column, "a key must be a string")
			continue
		}
		v, ok := y.value(value, depth+1)
		if !ok {
			v = &Node{Line: value.Line, Column: value.Column, skip: true}
		}
		y.add(out, seen, &Member{Key: key.Value, Line: key.Line, Column: key.Column, Value: v, skip: v.skip})
	}
	for _, m := range merged {
		y.merge(m, out, seen, depth)
	}
}

// merge adds the members of a mapping, or of a list of them, whose keys are not
// there yet.
func (y *yamlReader) merge(n *yaml.Node, out *Node, seen map[string]*Member, depth int) {
	v, ok := y.value(n, depth)
	if !ok {
		return
	}
	sources := []*Node{v}
	if v.Kind == List {
		sources = v.Items
	}
	for _, source := range sources {
		if source.Kind != Map {
			y.fault(n.Line, n.Column, "<< needs a mapping, or a list of mappings")
			return
		}
		for _, m := range source.Members {
			if seen[m.Key] == nil {
				seen[m.Key] = m
				out.Members = append(out.Members, m)
			}
		}
	}
}

// scalar reads a scalar. A date is a string, for no key is one.
func (y *yamlReader) scalar(n *yaml.Node, out *Node) {
	out.Text = n.Value
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp", "!!merge":
		out.Kind = String
	case "!!null":
		out.Kind, out.Text = Null, ""
	case "!!bool":
		out.Kind, out.Source = Bool, n.Value
		out.Text = strings.ToLower(n.Value)
	case "!!int", "!!float":
		out.Kind, out.Source = Number, n.Value
		text, ok := yamlNumber(n)
		if !ok {
			y.fault(n.Line, n.Column, "%s is not a finite number", clip(n.Value))
			out.skip = true
		}
		out.Text = text
	default:
		out.Kind = String
		out.skip = true
		y.fault(n.Line, n.Column, "the tag %s is not supported", clip(tag))
	}
}

// yamlNumber returns a number as JSON has it.
func yamlNumber(n *yaml.Node) (string, bool) {
	if json.Valid([]byte(n.Value)) {
		return n.Value, true
	}
	var value any
	if err := n.Decode(&value); err != nil {
		return "0", false
	}
	switch v := value.(type) {
	case int:
		return strconv.Itoa(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case uint64:
		return strconv.FormatUint(v, 10), true
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return "0", false
		}
		return strconv.FormatFloat(v, 'g', -1, 64), true
	default:
		return "0", false
	}
}
