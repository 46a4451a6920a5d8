// Command configdoc writes docs/configuration.md to its output: an introduction
// with the example that it reads from its input, and a reference of every key. The
// reference is made of the JSON Schema of the configuration, and so of the comments
// in its .proto files.
package main

import (
	"bytes"
	_ "embed" // for the introduction
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mcp-bridge/mcp-bridge/bridge/config"
)

//go:embed intro.md
var intro string

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "configdoc:", err)
		os.Exit(1)
	}
}

// run writes the page. It reads the example that the introduction shows.
func run(example io.Reader, page io.Writer) error {
	text, err := io.ReadAll(example)
	if err != nil {
		return err
	}
	schema, err := config.JSONSchema()
	if err != nil {
		return err
	}
	var root value
	if err := json.Unmarshal(schema, &root); err != nil {
		return err
	}
	r := &reference{defs: root.get("$defs"), seen: make(map[string]string)}
	r.out.WriteString(strings.Replace(intro, "{{example}}", string(text), 1))
	r.out.WriteString("## Keys\n")
	r.keys(root, "")
	_, err = page.Write(r.out.Bytes())
	return err
}

// value is a JSON value whose members are in order.
type value struct {
	text    json.RawMessage
	members []member
	items   []value
}

type member struct {
	key   string
	value value
}

// UnmarshalJSON keeps the order of members.
func (v *value) UnmarshalJSON(data []byte) error {
	v.text = bytes.Clone(data)
	switch {
	case bytes.HasPrefix(data, []byte("[")):
		return json.Unmarshal(data, &v.items)
	case !bytes.HasPrefix(data, []byte("{")):
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		m := member{key: fmt.Sprint(key)}
		if err := d.Decode(&m.value); err != nil {
			return err
		}
		v.members = append(v.members, m)
	}
	return nil
}

func (v value) get(key string) value {
	for _, m := range v.members {
		if m.key == key {
			return m.value
		}
	}
	return value{}
}

func (v value) string() string {
	var s string
	if json.Unmarshal(v.text, &s) != nil {
		return string(v.text)
	}
	return s
}

// reference writes the reference.
type reference struct {
	out  bytes.Buffer
	defs value
	// seen are the paths at which messages are described.
	seen map[string]string
}

// below is what stands below a key: the keys of a message, at a path.
type below struct {
	path string
	def  string
}

// keys describes the keys of a message, and then those of the messages in it.
func (r *reference) keys(schema value, path string) {
	var next []below
	for _, m := range schema.get("properties").members {
		if strings.HasPrefix(m.key, "$") {
			continue
		}
		at := m.key
		if path != "" {
			at = path + "." + m.key
		}
		def, suffix := r.def(m.value)
		fmt.Fprintf(&r.out, "\n### `%s`\n\n", at)
		fmt.Fprintf(&r.out, "*%s*\n\n%s\n", r.facts(m.value, contains(schema.get("required"), m.key)), m.value.get("description").string())
		if def == "" {
			continue
		}
		if seen, ok := r.seen[def]; ok {
			fmt.Fprintf(&r.out, "\nIts keys are those of `%s`.\n", seen)
			continue
		}
		r.seen[def] = at + suffix
		next = append(next, below{at + suffix, def})
	}
	for _, b := range next {
		fmt.Fprintf(&r.out, "\n## Keys of `%s`\n", b.path)
		if text := r.defs.get(b.def).get("description").string(); text != "" {
			_, text, _ = strings.Cut(text, " ") // the name of the type
			fmt.Fprintf(&r.out, "\n%s\n", sentence(text))
		}
		r.keys(r.defs.get(b.def), b.path)
	}
}

// sentence makes a sentence of what follows the name in a comment.
func sentence(text string) string {
	text = strings.TrimPrefix(text, "is ")
	text = strings.TrimPrefix(text, "are ")
	return strings.ToUpper(text[:1]) + text[1:]
}

// def returns the message that a value is, or has, and what stands between.
func (r *reference) def(schema value) (name, suffix string) {
	if ref := schema.get("$ref").text; ref != nil {
		return strings.TrimPrefix(schema.get("$ref").string(), "#/$defs/"), ""
	}
	if items := schema.get("items"); items.members != nil {
		name, _ = r.def(items)
		return name, "[]"
	}
	if entries := schema.get("additionalProperties"); entries.members != nil {
		name, _ = r.def(entries)
		return name, ".NAME"
	}
	return "", ""
}

// facts says what kind of value a key has.
func (r *reference) facts(schema value, required bool) string {
	facts := []string{kind(schema)}
	if required {
		facts = append(facts, "required")
	}
	if d := schema.get("default"); d.text != nil {
		facts = append(facts, "default `"+d.string()+"`")
	}
	return strings.Join(facts, ", ")
}

// kind names the kind of a value.
func kind(schema value) string {
	switch {
	case schema.get("enum").items != nil:
		var all []string
		for _, item := range schema.get("enum").items {
			all = append(all, "`"+item.string()+"`")
		}
		return strings.Join(all, " or ")
	case schema.get("anyOf").items != nil:
		forms := schema.get("anyOf").items
		if len(forms) == 2 && forms[1].get("type").string() == "array" {
			return kind(forms[0]) + " or a list"
		}
		return kind(forms[0])
	case schema.get("$ref").text != nil:
		return "mapping"
	case schema.get("type").items != nil:
		return "string"
	}
	switch t := schema.get("type").string(); {
	case t == "array":
		return "list"
	case t == "object" && schema.get("additionalProperties").members != nil:
		return "mapping of names to values"
	case t == "object":
		return "mapping of any content"
	case t == "string" && strings.Contains(schema.get("pattern").string(), "ms|us"):
		return "duration"
	default:
		return t
	}
}

func contains(list value, name string) bool {
	for _, item := range list.items {
		if item.string() == name {
			return true
		}
	}
	return false
}
